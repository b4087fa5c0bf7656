"""95 % intervals cover the population's truth about 95 times in 100, for every protocol.

A respondent drawn from a population with frequency f supports the value with probability
pi = q + (p - q) f, whatever the protocol, so the count of n respondents is binomial and coverage
can be summed exactly. Surveys simulated with the kernels, which redraw respondents and noise, must
then cover as often as the sum says.
"""

from __future__ import annotations

from functools import cache

import numpy as np
import pytest
from scipy import signal, stats

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, create
from hushpoll_protocols.estimation.frequencies import estimate, estimate_proportion, weighted
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_protocols.kernels import indicators, perturb

QUANTILE = 1.959963984540054


def _exact_coverage(oracle: FrequencyOracle, n: int, frequency: np.ndarray) -> np.ndarray:
    """Chance that the interval of a value of each frequency contains it, over all n + 1 counts."""
    counts = np.arange(n + 1)
    estimates = estimate_proportion(counts, n, p=oracle.p, q=oracle.q)
    return _covered(oracle, n, frequency, estimates.lower, estimates.upper)


def _covered(
    oracle: FrequencyOracle,
    n: int,
    frequency: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
) -> np.ndarray:
    pi = float(oracle.q) + float(oracle.p - oracle.q) * frequency[:, None]
    chance = stats.binom.pmf(np.arange(n + 1), n, pi)
    inside = (lower <= frequency[:, None]) & (frequency[:, None] <= upper)
    return (chance * inside).sum(1)


def _wald(oracle: FrequencyOracle, n: int) -> tuple[np.ndarray, np.ndarray]:
    estimates = estimate_proportion(np.arange(n + 1), n, p=oracle.p, q=oracle.q)
    half = QUANTILE * estimates.standard_error
    return estimates.frequency - half, estimates.frequency + half


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4"])
@pytest.mark.parametrize(("k", "n"), [(2, 100), (5, 300), (74, 1000)])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_coverage_summed_over_every_count(name: str, k: int, n: int, epsilon: str) -> None:
    oracle = create(name, k=k, epsilon=epsilon)
    coverage = _exact_coverage(oracle, n, np.linspace(0, 1, 301))
    assert 0.945 <= coverage.mean() <= 0.960
    # Wilson's worst is next to pi = 0 and pi = 1, which only a small q or a p near 1 reaches.
    near_the_ends = min(float(oracle.q), 1 - float(oracle.p)) * n < 10
    assert coverage.min() >= (0.83 if near_the_ends else 0.92)


def _coverage_over_both_counts(oracle: FrequencyOracle, n: int, frequency: float) -> float:
    """Chance that the interval of the first of two categories covers, over all pairs of counts."""
    p, q = float(oracle.p), float(oracle.q)
    single = frequency * np.outer([1 - p, p], [1 - q, q])
    single += (1 - frequency) * np.outer([1 - q, q], [1 - p, p])
    chance = np.ones((1, 1))
    for _ in range(n):
        chance = signal.convolve2d(chance, single)
    return float(chance[_covering(oracle, n, frequency)].sum())


def _covering(oracle: FrequencyOracle, n: int, frequency: float) -> np.ndarray:
    lower, upper = _limits_of_pairs(oracle, n)
    inside: np.ndarray = (lower <= frequency) & (frequency <= upper)
    return inside


@cache
def _limits_of_pairs(oracle: FrequencyOracle, n: int) -> tuple[np.ndarray, np.ndarray]:
    pairs = np.stack(np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"), axis=-1)
    raw = estimate_proportion(pairs, n, p=oracle.p, q=oracle.q)
    estimates = weighted(WeightLaw.of(oracle), raw)
    return estimates.lower[..., 0], estimates.upper[..., 0]


@pytest.mark.parametrize("epsilon", ["0.5", "2", "6"])
@pytest.mark.parametrize("name", ["BLH", "OLH", "RAPPOR", "OUE", "THE"])
def test_coverage_of_weighted_estimates_summed_over_every_pair_of_counts(
    name: str, epsilon: str
) -> None:
    oracle, n = create(name, k=2, epsilon=epsilon), 24
    coverage = [_coverage_over_both_counts(oracle, n, f) for f in np.linspace(0, 1, 26)]
    assert 0.94 <= np.mean(coverage) <= 0.975
    assert min(coverage) >= 0.915


POPULATION = np.array([0.62, 0.25, 0.1, 0.03, 0.0])
SURVEYS, N = 1500, 400


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_simulated_surveys_cover_as_often_as_the_sum_says(name: str, epsilon: str) -> None:
    oracle = create(name, k=len(POPULATION), epsilon=epsilon)
    rng = np.random.default_rng(20_170_816)
    values = rng.choice(len(POPULATION), size=SURVEYS * N, p=POPULATION)
    supported = indicators(oracle, perturb(oracle, values, rng))
    counts = supported.reshape(SURVEYS, N, -1).sum(1, dtype=np.int64)
    estimates = estimate_proportion(counts, N, p=oracle.p, q=oracle.q)
    _check_weighted(oracle, counts)
    hits = ((estimates.lower <= POPULATION) & (estimates.upper >= POPULATION)).sum(0)
    expected = _exact_coverage(oracle, N, POPULATION)
    for hit, chance in zip(hits, expected, strict=True):
        # Two-sided, 1e-6 each; the seed is fixed.
        assert stats.binom.cdf(hit, SURVEYS, chance) > 5e-7
        assert stats.binom.sf(hit - 1, SURVEYS, chance) > 5e-7
    # Unbiased, and as uncertain as it says: both against the truth, not against the sample.
    error = estimates.frequency - POPULATION
    spread = estimates.standard_error.mean(0)
    assert (abs(error.mean(0)) < 5 * spread / SURVEYS**0.5).all()
    assert np.allclose(error.std(0), spread, rtol=0.1)


def _check_weighted(oracle: FrequencyOracle, counts: np.ndarray) -> None:
    law = WeightLaw.of(oracle)
    if not law.varies:
        return
    estimates = weighted(law, estimate_proportion(counts, N, p=oracle.p, q=oracle.q))
    frequency, error, lower, upper = (
        getattr(estimates, name) for name in ("frequency", "standard_error", "lower", "upper")
    )
    assert np.allclose(frequency.sum(axis=1), 1)
    hits = ((lower <= POPULATION) & (upper >= POPULATION)).sum(0)
    # five standard deviations of a binomial, and what a count's steps allow
    assert (abs(hits / SURVEYS - 0.95) < 5 * (0.95 * 0.05 / SURVEYS) ** 0.5 + 0.012).all()
    assert (abs(frequency.mean(0) - POPULATION) < 5 * error.mean(0) / SURVEYS**0.5).all()
    assert np.allclose(frequency.std(0), error.mean(0), rtol=0.1)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_raw_estimate_is_the_same_function_by_oracle_and_by_p_and_q(name: str) -> None:
    oracle = create(name, k=5, epsilon="1")
    counts = np.array([0, 7, 50, 99, 100])
    by_oracle = estimate(oracle, counts, 100, estimator="raw")
    by_number = estimate_proportion(counts, 100, p=oracle.p, q=oracle.q)
    for column in ("frequency", "standard_error", "lower", "upper"):
        assert (getattr(by_oracle, column) == getattr(by_number, column)).all()


def test_a_rare_category_of_a_large_domain_is_covered_where_wald_fails() -> None:
    # Nearly always no record names the category. Wald's interval is then a point, next to the
    # truth.
    oracle = create("GRR", k=65536, epsilon="16")
    n, frequency = 20_000, np.array([1e-6])
    assert _covered(oracle, n, frequency, *_wald(oracle, n))[0] < 0.03
    assert _exact_coverage(oracle, n, frequency)[0] > 0.95
    # And over all categories that are about that rare, Wald's mean is no better.
    rare = np.geomspace(1e-6, 1e-5, 30)
    assert _covered(oracle, n, rare, *_wald(oracle, n)).mean() < 0.15
    assert _exact_coverage(oracle, n, rare).mean() > 0.93
    assert _exact_coverage(oracle, n, rare).min() > 0.83


def test_an_interval_that_forgets_the_noise_does_not_cover() -> None:
    # The fault that this file must see: the standard error of a sample of true answers.
    oracle = create("OUE", k=5, epsilon="1")
    n, frequency = 400, np.array([0.1])
    estimates = estimate_proportion(np.arange(n + 1), n, p=oracle.p, q=oracle.q)
    half = QUANTILE * np.sqrt(np.clip(estimates.frequency * (1 - estimates.frequency), 0, None) / n)
    covered = _covered(oracle, n, frequency, estimates.frequency - half, estimates.frequency + half)
    assert covered[0] < 0.7


def test_an_interval_that_forgets_the_respondents_does_not_cover() -> None:
    # Noise alone, as if the respondents at hand were the population, at a large epsilon.
    oracle = create("GRR", k=5, epsilon="8")
    n, frequency = 400, np.array([0.3])
    p, q = float(oracle.p), float(oracle.q)
    estimates = estimate_proportion(np.arange(n + 1), n, p=oracle.p, q=oracle.q)
    noise = (frequency * p * (1 - p) + (1 - frequency) * q * (1 - q)) / n / (p - q) ** 2
    half = QUANTILE * np.sqrt(noise)
    covered = _covered(oracle, n, frequency, estimates.frequency - half, estimates.frequency + half)
    assert covered[0] < 0.3
