"""OLH's g has the least variance of all g at frequency 1/k, by the law that devices run."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from hushpoll_protocols import create


def _variance(k: int, epsilon: str, g: int) -> Fraction:
    return create("OLH", k=k, epsilon=epsilon, g=g).variance(Fraction(1, k))


def _chosen(k: int, epsilon: str) -> int:
    g = create("OLH", k=k, epsilon=epsilon).parameters["g"]
    assert isinstance(g, int)
    return g


@pytest.mark.parametrize("epsilon", ["0.000001", "0.1", "0.5", "1", "1.5", "2.3", "3", "4.1"])
@pytest.mark.parametrize("k", [2, 3, 5, 74, 65536])
def test_no_number_of_buckets_has_less_variance(k: int, epsilon: str) -> None:
    everything = range(2, 3 + 3 * math.ceil(math.exp(float(epsilon))))
    assert _chosen(k, epsilon) == min(everything, key=lambda g: _variance(k, epsilon, g))


@pytest.mark.parametrize(
    ("k", "epsilon"),
    [
        *((2, epsilon) for epsilon in ("16", "20", "21.9", "22.1", "22.1807", "22.2", "23", "45")),
        *((3, epsilon) for epsilon in ("21.4", "21.48", "21.49", "22", "64")),
        *((74, epsilon) for epsilon in ("12", "17.88", "17.9", "18")),
        *((65536, epsilon) for epsilon in ("10", "11.4", "11.44", "11.5", "30")),
    ],
)
def test_large_epsilon_is_given_the_least_variance_although_thresholds_are_coarse(
    k: int, epsilon: str
) -> None:
    chosen = _chosen(k, epsilon)
    near = range(max(2, chosen - 40), min(65536, chosen + 40) + 1)
    others = (2, 3, chosen // 4 + 2, chosen // 2 + 2, min(chosen * 2, 65536), 65535, 65536)
    assert chosen == min(sorted({*near, *others}), key=lambda g: _variance(k, epsilon, g))


@pytest.mark.parametrize(
    ("k", "epsilon", "g"),
    [
        (74, "0.000001", 2),
        (74, "0.25", 2),
        (74, "0.5", 3),
        (74, "1", 4),
        (74, "2", 8),
        (74, "4", 42),
        (2, "0.5", 2),
        (2, "1", 3),
        (2, "4", 8),
        (5, "4", 15),
        (65536, "4", 56),
        (2, "22.18", 65514),
        (2, "64", 65536),
    ],
)
def test_buckets_by_domain_and_epsilon(k: int, epsilon: str, g: int) -> None:
    assert _chosen(k, epsilon) == g


@pytest.mark.parametrize(
    ("k", "epsilon", "formula", "saved"),
    [(65536, "0.5", 2, 5.1), (74, "1", 3, 1.8), (5, "4", 55, 27.4), (2, "4", 55, 47.4)],
)
def test_buckets_save_the_variance_that_the_rounded_formula_costs(
    k: int, epsilon: str, formula: int, saved: float
) -> None:
    """Per cent less than with floor(e^epsilon + 1)."""
    ratio = _variance(k, epsilon, _chosen(k, epsilon)) / _variance(k, epsilon, formula)
    assert round(100 * (1 - float(ratio)), 1) == saved
