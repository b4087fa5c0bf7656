"""Score intervals: Wilson's as special cases, nested, finite, and corrected where rows are rare."""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import stats

from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.estimation.frequencies import estimate_proportion, normal_quantile
from hushpoll_protocols.estimation.score import corrected_quantile, score_limits
from hushpoll_protocols.estimation.weights import WeightLaw

COUNTS = np.array([0, 1, 17, 200, 399, 400])
PROPORTION = (np.zeros(6), np.ones(6), -np.ones(6))


@pytest.mark.parametrize("confidence", [0.5, 0.95, 0.999])
def test_a_proportion_without_correction_has_wilsons_interval(confidence):
    lower, upper = score_limits(
        COUNTS / 400, 400, variance=PROPORTION, z=normal_quantile(confidence)
    )
    for place, count in enumerate(COUNTS.tolist()):
        wilson = stats.binomtest(count, 400).proportion_ci(confidence, method="wilson")
        assert (lower[place], upper[place]) == pytest.approx((wilson.low, wilson.high), abs=1e-12)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_debiased_indicator_without_correction_has_wilsons_interval_mapped(protocol):
    oracle = create(protocol, k=5, epsilon="0.9")
    law = WeightLaw.of_indicator(oracle.p, oracle.q)
    theirs = estimate_proportion(COUNTS, 400, p=oracle.p, q=oracle.q, confidence=0.9)
    ours = score_limits(
        theirs.frequency,
        400,
        variance=tuple(np.full(6, c) for c in law.variance_coefficients()),
        z=normal_quantile(0.9),
    )
    # a count of 0 or n leaves a variance of 0, of which rounding keeps some 1e-8
    for own_limit, expected in zip(ours, (theirs.lower, theirs.upper), strict=True):
        assert own_limit == pytest.approx(expected, rel=1e-9, abs=1e-7)


@cache
def rare_limits(correct):
    return score_limits(
        np.arange(40) / 1000,
        1000,
        variance=(np.zeros(40), np.ones(40), -np.ones(40)),
        z=normal_quantile(0.95),
        third=(lambda at: at * (1 - at) * (1 - 2 * at)) if correct else None,
    )


def rare_misses(mean, *, correct):
    """Return how often the limits of a rare proportion are above and below it, exactly."""
    n = 1000
    counts, f = np.arange(40), mean / 1000
    chance = stats.binom.pmf(counts, n, f)
    lower, upper = rare_limits(correct)
    return float(chance @ (lower > f)), float(chance @ (upper < f))


def test_correction_repairs_the_lower_limit_of_rare_categories():
    means = np.linspace(0.002, 5, 600)
    plain = np.array([rare_misses(mean, correct=False) for mean in means])
    corrected = np.array([rare_misses(mean, correct=True) for mean in means])
    assert plain[:, 0].max() > 0.15
    assert corrected[:, 0].max() < 0.06
    assert corrected.sum(axis=1).max() < 0.09


@pytest.mark.parametrize("skewness", [-40.0, -3.0, -0.2, 0.0, 0.2, 3.0, 40.0])
def test_corrected_quantile_never_falls_as_the_confidence_rises(skewness):
    quantiles = [
        float(corrected_quantile(z, np.array(skewness))) for z in np.linspace(0.01, 6, 300)
    ]
    assert min(quantiles) >= 0
    assert (np.diff(quantiles) >= -1e-12).all()


@pytest.mark.parametrize("confidence", [1e-9, 0.01, 0.5, 0.999999, 1 - 2**-53])
def test_limits_are_finite_and_contain_the_estimate(confidence):
    lower, upper = score_limits(
        COUNTS / 400,
        400,
        variance=PROPORTION,
        z=normal_quantile(confidence),
        third=lambda at: at * (1 - at) * (1 - 2 * at),
    )
    assert np.isfinite([lower, upper]).all()
    assert (lower <= COUNTS / 400).all()
    assert (upper >= COUNTS / 400).all()
