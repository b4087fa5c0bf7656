"""What a record reveals, against brute force over every record."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from conformance import prefix_size, prefixes, suffixes

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, create

CASES = [(2, "1"), (3, "0.000001"), (4, "2.5"), (5, "0.7"), (7, "64")]


def _brute_force(oracle: FrequencyOracle) -> tuple[Fraction, Fraction]:
    """Return the best guess's chance (for the worst public prefix) and the largest posterior."""
    best = largest = Fraction(0)
    for prefix in prefixes(oracle, 60):
        right = Fraction(0)
        for suffix in suffixes(oracle):
            law = [oracle.probability(prefix + suffix, value) for value in range(oracle.k)]
            right += max(law) / oracle.k
            largest = max(largest, max(law) / sum(law))
        best = max(best, right)
    return best, largest


def _is_rounded_up(shown: Decimal, exact: Fraction) -> bool:
    # 40 decimal places are computed, of which 12 are kept.
    return -Fraction(1, 10**39) <= Fraction(shown) - exact < Fraction(1, 10**12)


@pytest.mark.parametrize(("k", "epsilon"), CASES)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_disclosure_is_bayes_over_the_law(name: str, k: int, epsilon: str) -> None:
    oracle = create(name, k=k, epsilon=epsilon)
    if prefix_size(oracle) and len(suffixes(oracle)) > 1000:
        oracle = create(name, k=k, epsilon=epsilon, g=5)
    best, largest = _brute_force(oracle)
    shown = oracle.disclosure()
    assert _is_rounded_up(shown.best_guess, best)
    assert _is_rounded_up(shown.largest_posterior, largest)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_disclosure_is_bounded_by_epsilon_and_by_one(name: str) -> None:
    for k in (2, 74, 65536):
        for epsilon in ("0.000001", "1", "64"):
            oracle = create(name, k=k, epsilon=epsilon)
            shown = oracle.disclosure()
            assert Decimal(1) / k < shown.best_guess <= shown.largest_posterior <= 1
            # From a uniform prior no posterior exceeds ratio/(ratio + k - 1).
            bound = oracle.likelihood_ratio / (oracle.likelihood_ratio + k - 1)
            assert Fraction(shown.largest_posterior) <= bound + Fraction(1, 10**12)


def test_optimized_unary_encoding_hides_more_than_its_p_says() -> None:
    # p is 1/2 at any epsilon, so p says nothing about what a record reveals.
    small, large = (create("OUE", k=10, epsilon=e) for e in ("0.1", "8"))
    assert small.p == large.p == Fraction(1, 2)
    assert small.disclosure().best_guess < Decimal("0.11")
    assert large.disclosure().best_guess > Decimal("0.5")
