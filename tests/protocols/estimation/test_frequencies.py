"""Estimates against exact arithmetic, and intervals against exact binomial coverage."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from hushpoll_protocols import PROTOCOLS, InvalidParameter, create
from hushpoll_protocols.estimation.frequencies import Estimate, estimate, estimate_proportion
from hushpoll_protocols.estimation.weights import WeightLaw

P, Q = Fraction(3, 4), Fraction(1, 4)


def test_frequencies_are_unbiased():
    estimates = estimate_proportion([0, 25, 50, 75, 100], 100, p=P, q=Q)
    assert estimates.frequency.tolist() == [-0.5, 0.0, 0.5, 1.0, 1.5]
    # pi(1 - pi)/n = 3/1600 at pi = 1/4, 1/400 at pi = 1/2.
    assert estimates.standard_error.tolist() == pytest.approx(
        [0, math.sqrt(3) / 20, 0.1, math.sqrt(3) / 20, 0], rel=1e-15
    )
    assert estimates.n == 100
    assert estimates.confidence == 0.95


def test_no_hit_and_no_miss_bound_pi_by_exactly_0_and_1():
    estimates = estimate_proportion([0, 100], 100, p=P, q=Q)
    assert estimates.lower[0] == -0.5
    assert estimates.upper[1] == 1.5
    assert estimates.upper[0] > -0.5
    assert estimates.lower[1] < 1.5


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
@pytest.mark.parametrize("n", [1, 7, 100, 4321])
def test_bounds_are_wilsons_mapped(n, confidence):
    counts = np.unique([0, 1, n // 3, n // 2, n - 1, n])
    estimates = estimate_proportion(counts, n, p=P, q=Q, confidence=confidence)
    for index, count in enumerate(counts):
        pi = stats.binomtest(int(count), n).proportion_ci(confidence, method="wilson")
        assert estimates.lower[index] == pytest.approx((pi.low - 0.25) / 0.5, abs=1e-9)
        assert estimates.upper[index] == pytest.approx((pi.high - 0.25) / 0.5, abs=1e-9)


def test_without_perturbation_bounds_stay_within_0_and_1():
    n = 37
    estimates = estimate_proportion(np.arange(n + 1), n, p=1, q=0)
    assert np.array_equal(estimates.frequency, np.arange(n + 1) / n)
    assert (estimates.lower >= 0).all()
    assert (estimates.upper <= 1).all()
    assert estimates.lower[0] == 0
    assert estimates.upper[n] == 1


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize("epsilon", ["0.000001", "1", "64"])
@pytest.mark.parametrize("k", [2, 74])
def test_every_protocol_at_the_ends_of_epsilon(name, epsilon, k):
    oracle = create(name, k=k, epsilon=epsilon)
    n = 999_999_937
    counts = np.linspace(0, n, k).astype(np.int64)
    counts[0] = round(n * oracle.q)
    estimates = estimate(oracle, counts, n, estimator="raw")
    gain = oracle.p - oracle.q
    for index, count in enumerate(counts.tolist()):
        pi = Fraction(count, n)
        exact = (pi - oracle.q) / gain
        assert estimates.frequency[index] == pytest.approx(float(exact), rel=1e-14)
        variance = pi * (1 - pi) / n / gain**2
        assert estimates.standard_error[index] == pytest.approx(math.sqrt(variance), rel=1e-14)
    for both in (estimates, estimate(oracle, counts, n)):
        for values in (both.frequency, both.standard_error, both.lower, both.upper):
            assert values.dtype == np.float64
            assert values.shape == (k,)
            assert np.isfinite(values).all()
        assert (both.lower <= both.frequency).all()
        assert (both.frequency <= both.upper).all()


def test_floats_that_would_cancel_are_not_used():
    oracle = create("OUE", k=5, epsilon="0.000001")
    counts = np.full(5, 500_001)
    estimates = estimate(oracle, counts, 1_000_000, estimator="raw")
    exact = (Fraction(500_001, 1_000_000) - oracle.q) / (oracle.p - oracle.q)
    naive = (0.500001 - float(oracle.q)) / (float(oracle.p) - float(oracle.q))
    assert abs(naive / float(exact) - 1) > 1e-12
    assert estimates.frequency[0] == pytest.approx(float(exact), rel=1e-15)


@pytest.mark.parametrize("name", ["GRR", "SS"])
def test_estimate_is_raw_where_all_supports_have_one_size(name):
    oracle = create(name, k=5, epsilon="1")
    counts = [0, 7, 50, 99, 100]
    weighted, raw = (estimate(oracle, counts, 100, estimator=e) for e in ("weighted", "raw"))
    for column in ("frequency", "standard_error", "lower", "upper"):
        assert (getattr(weighted, column) == getattr(raw, column)).all()


@pytest.mark.parametrize("name", ["BLH", "OLH", "RAPPOR", "OUE", "THE"])
@pytest.mark.parametrize(("k", "at_most"), [(2, 0.56), (5, 0.92), (74, 0.9999)])
def test_variance_at_epsilon_one_is_the_stated_share_of_the_raw_variance(name, k, at_most):
    oracle = create(name, k=k, epsilon="1")
    counts = [round(1e6 * float(oracle.q + (oracle.p - oracle.q) / k))] * k
    weighted, raw = (estimate(oracle, counts, 10**6, estimator=e) for e in ("weighted", "raw"))
    assert ((weighted.standard_error / raw.standard_error) ** 2 < at_most).all()
    assert (weighted.upper - weighted.lower < raw.upper - raw.lower).all()


@pytest.mark.parametrize("name", ["BLH", "OLH", "RAPPOR", "OUE", "THE"])
@pytest.mark.parametrize("k", [2, 5, 74])
@pytest.mark.parametrize("epsilon", ["0.01", "1", "4", "10"])
def test_variance_is_never_above_the_raw_variance(name, k, epsilon):
    oracle = create(name, k=k, epsilon=epsilon)
    c0, c1, c2 = WeightLaw.of(oracle).variance_coefficients()
    for f in np.linspace(0, 1, 21):
        raw = float(oracle.variance(Fraction(f)))
        assert c0 + c1 * f + c2 * f * f <= raw * (1 + 1e-12)


def test_another_estimator_is_refused():
    with pytest.raises(InvalidParameter, match="weighted, raw") as caught:
        estimate(create("GRR", k=3, epsilon="1"), [0, 0, 0], 10, estimator="best")
    assert caught.value.field == "estimator"


def test_shape_and_scalars_are_kept():
    square = estimate_proportion([[1, 2], [3, 4]], 10, p=P, q=Q)
    assert square.frequency.shape == square.upper.shape == (2, 2)
    single = estimate_proportion(5, 10, p=P, q=Q)
    assert isinstance(single, Estimate)
    assert float(single.frequency) == 0.5


def covered(n: int, p: Fraction, q: Fraction, f: float, confidence: float = 0.95) -> float:
    """Exact probability that the interval contains f: the sum over every count."""
    estimates = estimate_proportion(np.arange(n + 1), n, p=p, q=q, confidence=confidence)
    hit = (estimates.lower <= f) & (f <= estimates.upper)
    pi = float(q) + float(p - q) * f
    return float(stats.binom.pmf(np.arange(n + 1), n, pi)[hit].sum())


@pytest.mark.parametrize("name", PROTOCOLS)
@pytest.mark.parametrize(("k", "epsilon"), [(2, "0.1"), (16, "1"), (74, "4"), (74, "0.5")])
@pytest.mark.parametrize("n", [200, 5000])
def test_intervals_cover_exactly_as_often_as_they_say(name, k, epsilon, n):
    oracle = create(name, k=k, epsilon=epsilon)
    p, q = oracle.p, oracle.q
    frequencies = np.linspace(0, 1, 41)
    rates = []
    for f in frequencies:
        pi = float(q) + float(p - q) * f
        rate = covered(n, p, q, f)
        # Wilson's interval is known to dip when less than a few hits are expected.
        if min(n * pi, n * (1 - pi)) >= 10:
            assert rate >= 0.925, (f, rate)
        else:
            assert rate >= 0.83, (f, rate)
        rates.append(rate)
    assert abs(np.mean(rates) - 0.95) < 0.01


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.99])
def test_other_confidences_cover_too(confidence):
    p, q = Fraction(1, 2), Fraction(1, 5)
    rates = [covered(3000, p, q, f, confidence) for f in np.linspace(0, 1, 101)]
    assert abs(np.mean(rates) - confidence) < 0.003
    assert min(rates) > confidence - 0.03


def test_rare_categories_of_a_large_domain_are_covered_where_wald_is_not():
    n, f = 1000, 0.0
    oracle = create("GRR", k=10_000, epsilon="19.9")
    p, q = oracle.p, oracle.q
    counts = np.arange(n + 1)
    estimates = estimate_proportion(counts, n, p=p, q=q)
    wald = np.abs(estimates.frequency - f) <= 1.96 * estimates.standard_error
    mass = stats.binom.pmf(counts, n, float(q))
    assert mass[wald].sum() < 0.02
    assert covered(n, p, q, f) > 0.95


@pytest.mark.parametrize("counts", [[1, 2], [1, 2, 3, 4], [[1, 2, 3]], 1])
def test_counts_need_one_entry_per_value(counts):
    with pytest.raises(InvalidParameter, match=r"shape \(3,\)") as caught:
        estimate(create("GRR", k=3, epsilon="1"), counts, 10)
    assert caught.value.field == "counts"


@pytest.mark.parametrize("wrong", [-1, 11, 2**62])
def test_a_count_outside_0_to_n_is_named(wrong):
    with pytest.raises(InvalidParameter, match=rf"counts\[1\] is {wrong}.*\[0, 10\]") as caught:
        estimate(create("GRR", k=3, epsilon="1"), [0, wrong, 10], 10)
    assert caught.value.field == "counts"


@pytest.mark.parametrize("counts", [[0.0, 1.0, 2.0], [True, False, True]])
def test_counts_are_integers(counts):
    with pytest.raises(InvalidParameter, match="integers"):
        estimate(create("GRR", k=3, epsilon="1"), counts, 10)


@pytest.mark.parametrize("n", [0, -1, 1.5, True, None])
def test_n_is_a_positive_integer(n):
    with pytest.raises(InvalidParameter, match="at least 1") as caught:
        estimate(create("GRR", k=3, epsilon="1"), [0, 0, 0], n)
    assert caught.value.field == "n"


@pytest.mark.parametrize("confidence", [0, 1, -0.5, 95, math.nan, math.inf])
def test_confidence_is_strictly_between_0_and_1(confidence):
    with pytest.raises(InvalidParameter, match="confidence is") as caught:
        estimate_proportion(1, 2, p=P, q=Q, confidence=confidence)
    assert caught.value.field == "confidence"


def test_confidence_next_to_its_ends_is_finite():
    wide = estimate_proportion(1, 2, p=P, q=Q, confidence=1 - 2**-53)
    assert np.isfinite([wide.lower, wide.upper]).all()
    narrow = estimate_proportion(1, 2, p=P, q=Q, confidence=5e-324)
    assert narrow.lower == narrow.frequency == narrow.upper


@pytest.mark.parametrize(
    ("p", "q", "field"),
    [(Q, P, "p"), (Q, Q, "p"), (1.5, Q, "p"), (P, -0.5, "q"), (math.nan, Q, "p")],
)
def test_p_and_q_are_probabilities_with_p_above_q(p, q, field):
    with pytest.raises(InvalidParameter) as caught:
        estimate_proportion(1, 2, p=p, q=q)
    assert caught.value.field == field
