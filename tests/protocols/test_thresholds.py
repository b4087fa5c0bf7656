"""Thresholds and parameters, recomputed by other means and in hostile surroundings."""

from __future__ import annotations

import copy
import decimal
import itertools
import json
import pickle
import random
import subprocess
import sys
from dataclasses import FrozenInstanceError
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from exact_law import Q
from rational_exp import enclose_exp
from scipy import optimize

from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.oracles.the import optimal_threshold
from hushpoll_protocols.thresholds import ceil_in_exp, floor_in_exp, log_rounded_up
from hushpoll_protocols.thresholds import enclose_exp as decimal_enclosure


def _epsilons(count: int) -> list[str]:
    drawn = random.Random(64)
    spread = [f"{10 ** drawn.uniform(-6, 1.8):.12f}" for _ in range(count)]
    return ["0.000001", "0.000001000001", "1", "2", "4", "21", "63.999999999999", "64", *spread]


def _is_floor(threshold: int, low: Fraction, high: Fraction) -> bool:
    return threshold <= low and high < threshold + 1


def _is_ceiling(threshold: int, low: Fraction, high: Fraction) -> bool:
    return threshold - 1 < low and high <= threshold


def _exp(x: Fraction) -> tuple[Fraction, Fraction]:
    return enclose_exp(x)


def test_the_series_encloses_e() -> None:
    low, high = enclose_exp(Fraction(1))
    # 2.71828182845904523536028747135266249775724709369995...
    e = Fraction(271828182845904523536028747135266249775724709369995, 10**50)
    assert low < e + Fraction(1, 10**50)
    assert high > e
    assert high - low < Fraction(1, 10**60)
    low, high = enclose_exp(Fraction(-64))
    inverse_low, inverse_high = enclose_exp(Fraction(64))
    assert low * inverse_high == high * inverse_low == 1


@pytest.mark.parametrize("x", ["-32", "-0.000001", "0.000001", "0.5", "1", "2.302585", "64"])
@pytest.mark.parametrize("digits", [20, 60, 90])
def test_enclosures_are_strict_and_tight(x: str, digits: int) -> None:
    low, high = decimal_enclosure(Decimal(x), digits)
    true_low, true_high = enclose_exp(Fraction(x))
    assert low < true_low
    assert true_high < high
    assert (high - low) / low <= Fraction(2, 10 ** (digits - 1))


@pytest.mark.parametrize("places", [0, 1, 19, 40, 59, 60, 61, 100, 118])
def test_rounding_stays_exact_where_the_first_digits_do_not_suffice(places: int) -> None:
    # The first 119 digits of e; 60 are computed at first.
    digits = (
        "27182818284590452353602874713526624977572470936999595749669676277240766303535475945713821"
        "785251664274274663919320030599"
    )
    assert floor_in_exp(lambda e: e * 10**places, Decimal(1)) == int(digits[: places + 1])
    assert ceil_in_exp(lambda e: e * 10**places, Decimal(1)) == int(digits[: places + 1]) + 1
    assert floor_in_exp(lambda e: -e * 10**places, Decimal(1)) == -int(digits[: places + 1]) - 1


@pytest.mark.parametrize("epsilon", ["0.000001", "1", "12.5", "64"])
def test_logarithms_are_never_rounded_down(epsilon: str) -> None:
    # Above e^epsilon by less than any digit that the logarithm is computed to.
    above = enclose_exp(Fraction(epsilon))[1]
    assert log_rounded_up(above, 12) == Decimal(epsilon) + Decimal("1e-12")
    below = above * (1 - Fraction(1, 10**40))
    assert log_rounded_up(below, 12) == Decimal(epsilon)


@pytest.mark.parametrize("k", [2, 3, 16, 74, 256, 1000, 65536])
def test_randomized_response_threshold_is_the_exact_ceiling(k: int) -> None:
    for epsilon in _epsilons(60):
        low, high = _exp(Fraction(epsilon))
        oracle = create("GRR", k=k, epsilon=epsilon)
        assert _is_ceiling(oracle.thresholds["R"], Q / (high + k - 1), Q / (low + k - 1))


def test_local_hashing_thresholds_are_exact() -> None:
    for epsilon in _epsilons(150):
        low, high = _exp(Fraction(epsilon))
        blh = create("BLH", k=10, epsilon=epsilon)
        assert _is_ceiling(blh.thresholds["R"], Q / (high + 1), Q / (low + 1))
        olh = create("OLH", k=10, epsilon=epsilon)
        g = olh.parameters["g"]
        assert isinstance(g, int)
        assert _is_ceiling(olh.thresholds["R"], Q / (high + g - 1), Q / (low + g - 1))


def test_bit_thresholds_are_exact_and_do_not_depend_on_k() -> None:
    for epsilon in _epsilons(150):
        low, high = _exp(Fraction(epsilon))
        oue = create("OUE", k=10, epsilon=epsilon)
        assert oue.thresholds["P"] == Q // 2
        assert _is_ceiling(oue.thresholds["R"], Q / (high + 1), Q / (low + 1))
        low, high = _exp(Fraction(epsilon) / 2)
        rappor = create("RAPPOR", k=10, epsilon=epsilon)
        assert _is_ceiling(rappor.thresholds["R"], Q / (high + 1), Q / (low + 1))
        assert rappor.thresholds["P"] == Q - rappor.thresholds["R"]
        for oracle in (oue, rappor):
            other = create(oracle.name, k=65536, epsilon=epsilon)
            assert other.thresholds == oracle.thresholds


@pytest.mark.parametrize("theta", [None, "0.5001", "0.75", "0.9999"])
def test_histogram_thresholds_are_exact(theta: str | None) -> None:
    for epsilon in _epsilons(60):
        oracle = create("THE", k=10, epsilon=epsilon, theta=theta)
        cut = Fraction(oracle.parameters["theta"])
        low, high = _exp(Fraction(epsilon) * (cut - 1) / 2)
        assert _is_floor(oracle.thresholds["P"], Q * (1 - high / 2), Q * (1 - low / 2))
        low, high = _exp(-Fraction(epsilon) * cut / 2)
        assert _is_ceiling(oracle.thresholds["R"], Q * low / 2, Q * high / 2)


@pytest.mark.parametrize("k", [2, 3, 16, 74, 256, 1000, 65536])
def test_subset_threshold_is_the_exact_floor(k: int) -> None:
    for epsilon in _epsilons(60):
        oracle = create("SS", k=k, epsilon=epsilon)
        omega = oracle.parameters["omega"]
        assert isinstance(omega, int)
        low, high = (omega * e for e in _exp(Fraction(epsilon)))
        threshold = oracle.thresholds["P"]
        assert _is_floor(threshold, Q * low / (low + k - omega), Q * high / (high + k - omega))


def _variance(k: int, omega: int, e: Fraction) -> Fraction:
    # From p and q of subset selection alone, at frequency 1/k, where pi = omega/k for any p.
    p = omega * e / (omega * e + k - omega)
    q = (p * (omega - 1) + (1 - p) * omega) / (k - 1)
    return Fraction(omega, k) * (1 - Fraction(omega, k)) / (p - q) ** 2


@pytest.mark.parametrize("epsilon", ["0.000001", "0.1", "0.69", "1", "1.1", "2", "3.5", "8", "64"])
def test_omega_is_the_best_of_all_subset_sizes(epsilon: str) -> None:
    e = enclose_exp(Fraction(epsilon))[0]
    for k in (*range(2, 24), 74):
        best = min(range(1, k), key=lambda omega: _variance(k, omega, e))
        assert create("SS", k=k, epsilon=epsilon).parameters == {"omega": best}


def _the_variance(epsilon: np.ndarray, theta: np.ndarray) -> np.ndarray:
    # Wang et al. 2017: q(1-q)/(p-q)^2 with p and q of the thresholded histogram, by expm1 so
    # that nothing cancels at a small epsilon: p - q is the sum of the two gaps to 1/2.
    q = np.exp(-epsilon * theta / 2) / 2
    gap = -(np.expm1(epsilon * (theta - 1) / 2) + np.expm1(-epsilon * theta / 2)) / 2
    return q * (1 - q) / gap**2


@pytest.mark.parametrize("epsilon", [1e-6, 0.01, 0.1, 0.5, 1, 1.4, 2, 3, 4, 5, 8, 12, 20, 30, 64])
def test_theta_is_the_best_of_its_whole_grid_and_scipys_to_four_decimals(epsilon: float) -> None:
    chosen = float(optimal_threshold(Decimal(repr(epsilon))))
    grid = np.arange(5001, 10000) / 10000
    on_grid = _the_variance(epsilon, grid)
    at_choice = on_grid[round(chosen * 10000) - 5001]
    assert at_choice <= on_grid.min() * (1 + 1e-12)
    if epsilon >= 0.01:
        minimum = optimize.minimize_scalar(
            lambda theta: float(np.log(_the_variance(epsilon, theta))),
            bounds=(0.5, 1),
            method="bounded",
            options={"xatol": 1e-9},
        )
        # Half a step of the grid, and what a float's flat minimum leaves open.
        assert abs(minimum.x - chosen) < 0.00005 + 0.00002


@pytest.mark.parametrize("name", PROTOCOLS)
def test_oracles_are_frozen_values(name: str) -> None:
    oracle = create(name, k=9, epsilon="1.5")
    _ = oracle.p, oracle.q, oracle.likelihood_ratio, oracle.realized_epsilon
    for copied in (
        copy.copy(oracle),
        copy.deepcopy(oracle),
        *(pickle.loads(pickle.dumps(oracle, protocol)) for protocol in range(2, 6)),
        create(name, k=9, epsilon=1.5),
        create(name, k=9, epsilon=Decimal("1.500")),
    ):
        assert copied == oracle
        assert hash(copied) == hash(oracle)
        assert copied.thresholds == oracle.thresholds
        assert copied.p == oracle.p
    for other in (create(name, k=10, epsilon="1.5"), create(name, k=9, epsilon="1.6")):
        assert other != oracle
    with pytest.raises(FrozenInstanceError):
        oracle.k = 10  # type: ignore[misc]
    assert oracle not in {create(n, k=9, epsilon="1.5") for n in PROTOCOLS if n != name}


def _everything(epsilon: str) -> list[object]:
    laws: list[object] = []
    for name in PROTOCOLS:
        oracle = create(name, k=74, epsilon=epsilon)
        shown = oracle.disclosure()
        laws += [
            {label: hex(threshold) for label, threshold in oracle.thresholds.items()},
            dict(oracle.parameters),
            str(oracle.epsilon),
            str(oracle.realized_epsilon),
            str(shown.best_guess),
            str(shown.largest_posterior),
        ]
    return laws


@pytest.mark.parametrize("rounding", [decimal.ROUND_UP, decimal.ROUND_FLOOR])
def test_nothing_depends_on_the_threads_decimal_context(rounding: str) -> None:
    expected = _everything("1.234567890123")
    # THE's choice is cached; a hostile context must not find it ready, nor leave a wrong one.
    optimal_threshold.cache_clear()
    traps = [decimal.Inexact, decimal.Rounded, decimal.Subnormal, decimal.FloatOperation]
    hostile = decimal.Context(prec=3, rounding=rounding, Emin=-3, Emax=3, traps=traps)
    with decimal.localcontext(hostile):
        assert _everything("1.234567890123") == expected
    optimal_threshold.cache_clear()


@pytest.mark.parametrize("traps", ["", "decimal.DefaultContext.traps[decimal.Inexact] = True"])
def test_nothing_depends_on_the_processs_decimal_defaults(traps: str) -> None:
    code = (
        "import decimal, json, sys\n"
        "sys.path[:0] = json.loads(sys.argv[1])\n"
        "decimal.DefaultContext.prec = 4\n"
        "decimal.DefaultContext.rounding = decimal.ROUND_UP\n"
        "decimal.DefaultContext.Emax, decimal.DefaultContext.Emin = 4, -4\n"
        f"{traps}\n"
        "decimal.setcontext(decimal.DefaultContext)\n"
        "from hushpoll_protocols import PROTOCOLS, create\n"
        "found = []\n"
        "for name in PROTOCOLS:\n"
        "    oracle = create(name, k=74, epsilon='1.234567890123')\n"
        "    shown = oracle.disclosure()\n"
        "    found += [{a: hex(b) for a, b in oracle.thresholds.items()},\n"
        "        dict(oracle.parameters),\n"
        "        str(oracle.epsilon), str(oracle.realized_epsilon), str(shown.best_guess),\n"
        "        str(shown.largest_posterior)]\n"
        "print(json.dumps(found))\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", code, json.dumps(sys.path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.stderr == ""
    assert json.loads(run.stdout) == _everything("1.234567890123")


@pytest.mark.parametrize(
    ("k", "epsilon"), list(itertools.product([2, 3, 74, 65536], ["0.000001", "1", "21", "64"]))
)
def test_more_epsilon_never_costs_accuracy(k: int, epsilon: str) -> None:
    # Thresholds of a slightly larger epsilon: a sign error in any direction of rounding, or keep
    # and lie swapped above some epsilon, turns the order round.
    for name in PROTOCOLS:
        oracle = create(name, k=k, epsilon=epsilon)
        more = create(name, k=k, epsilon=min(oracle.epsilon * 2, Decimal(64)), **oracle.parameters)
        rare = Fraction(0)
        assert more.variance(rare) <= oracle.variance(rare)
