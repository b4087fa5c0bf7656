"""Closed forms at known values, the bootstrap beside SciPy's, and the coverage of both."""

import math

import numpy as np
import pytest
from scipy import stats

from hushpoll_training.evaluation.fairness import closed_form
from hushpoll_training.evaluation.fairness.bootstrap import bca, resample
from hushpoll_training.evaluation.fairness.counts import GroupCounts

Z = 1.959963984540054


def limits(hits, rows):
    return tuple(map(float, closed_form.wilson(np.array(hits), np.array(rows), Z)))


def test_wilson_is_scipys():
    for hits, rows in ((0, 10), (3, 10), (10, 10), (81, 263)):
        expected = stats.binomtest(hits, rows).proportion_ci(method="wilson")
        assert limits(hits, rows) == pytest.approx((expected.low, expected.high), abs=1e-12)
    assert limits(0, 0) == (0.0, 1.0)


def test_differences_are_newcombes_published_ones():
    # Newcombe (1998), table II, method 10
    for one, other, expected in (
        ((56, 70), (48, 80), (0.0524, 0.3339)),
        ((9, 10), (3, 10), (0.1705, 0.8090)),
        ((10, 10), (0, 10), (0.6075, 1.0000)),
        ((5, 56), (0, 29), (-0.0381, 0.1926)),
    ):
        found = closed_form.difference(
            one[0] / one[1], limits(*one), other[0] / other[1], limits(*other)
        )
        assert tuple(found) == pytest.approx(expected, abs=1e-4)


def test_the_limits_of_a_ratio_solve_its_equation():
    over, under = (30, 200), (90, 250)
    p0, p1 = 30 / 200, 90 / 250
    (l0, u0), (l1, u1) = limits(*over), limits(*under)
    lower, upper = closed_form.ratio(p0, (l0, u0), p1, (l1, u1))
    assert (p0 - lower * p1) ** 2 == pytest.approx((p0 - l0) ** 2 + (lower * (u1 - p1)) ** 2)
    assert (p0 - upper * p1) ** 2 == pytest.approx((u0 - p0) ** 2 + (upper * (p1 - l1)) ** 2)
    # near the log method where that holds
    error = math.sqrt((1 - p0) / 30 + (1 - p1) / 90)
    assert lower == pytest.approx(p0 / p1 * math.exp(-Z * error), rel=0.03)
    assert upper == pytest.approx(p0 / p1 * math.exp(Z * error), rel=0.03)
    lower, upper = closed_form.ratio(0.0, limits(0, 50), p1, (l1, u1))
    assert lower == 0
    assert 0 < upper < 0.5


def test_bca_is_scipys():
    rng = np.random.default_rng(3)
    rows = [rng.random(60) < 0.2, rng.random(45) < 0.5]
    cells = [[0, 0, len(one) - one.sum(), one.sum()] for one in rows]
    counts = GroupCounts(np.array(cells))

    def ours(found):
        rate = found.rate("P")
        return np.stack([rate[..., 1] - rate[..., 0], rate[..., 0]], axis=-1)

    drawn = resample(counts, 20_000, np.random.default_rng(1))
    lower, upper = bca(counts, drawn, ours, 0.95)
    for at, (samples, statistic) in enumerate(
        (
            (rows, lambda a, b, axis: b.mean(axis=axis) - a.mean(axis=axis)),
            (rows[:1], lambda a, axis: a.mean(axis=axis)),
        )
    ):
        expected = stats.bootstrap(
            [one.astype(float) for one in samples],
            statistic,
            n_resamples=20_000,
            method="BCa",
            rng=np.random.default_rng(2),
            vectorized=True,
        ).confidence_interval
        # quantiles of 20,000 draws, on a lattice of 1/60
        assert lower[at] == pytest.approx(expected.low, abs=0.018)
        assert upper[at] == pytest.approx(expected.high, abs=0.018)


CELLS = np.array([[0.45, 0.15, 0.12, 0.28], [0.55, 0.10, 0.20, 0.15], [0.60, 0.20, 0.10, 0.10]])
TRUTH = GroupCounts((CELLS * 100).round().astype(np.int64))
SIZES = (150, 220, 400)
SURVEYS = 1500
# three standard errors of a coverage of 95 % in so many surveys
SLACK = 3 * math.sqrt(0.95 * 0.05 / SURVEYS)


@pytest.fixture(scope="module")
def surveys():
    rng = np.random.default_rng(11)
    drawn = [rng.multinomial(n, p, size=SURVEYS) for n, p in zip(SIZES, CELLS, strict=True)]
    return GroupCounts(np.stack(drawn, axis=1))


@pytest.mark.parametrize("rate", ["P", "TPR", "FPR", "ACC"])
def test_closed_forms_cover_as_often_as_they_say(surveys, rate):
    truth = TRUTH.rate(rate)
    value = surveys.rate(rate)
    low, high = closed_form.wilson(surveys.hits(rate), surveys.rows(rate), Z)

    def share(limits, true):
        return np.mean((limits[0] <= true) & (true <= limits[1]))

    for group in range(3):
        assert share((low[:, group], high[:, group]), truth[group]) == pytest.approx(
            0.95, abs=SLACK + 0.005
        )
    pair = [(value[:, at], (low[:, at], high[:, at])) for at in (0, 1)]
    gap = closed_form.difference(*pair[1], *pair[0])
    assert share(gap, truth[1] - truth[0]) == pytest.approx(0.95, abs=SLACK + 0.005)
    quotient = closed_form.ratio(*pair[1], *pair[0])
    assert share(quotient, truth[1] / truth[0]) == pytest.approx(0.95, abs=SLACK + 0.005)


def test_the_bootstrap_covers_nearly_as_often_as_it_says(surveys):
    true = TRUTH.rate("P")[1:] / TRUTH.rate("P")[0]

    def compared(counts):
        rate = counts.rate("P")
        return rate[..., 1:] / rate[..., :1]

    hits = np.zeros(2)
    rng = np.random.default_rng(5)
    some = 400
    for cells in surveys.cells[:some]:
        counts = GroupCounts(cells)
        lower, upper = bca(counts, resample(counts, 400, rng), compared, 0.95)
        hits += (lower <= true) & (true <= upper)
    assert (np.abs(hits / some - 0.95) < 3 * math.sqrt(0.95 * 0.05 / some) + 0.01).all()


@pytest.mark.parametrize("alike", [False, True])
def test_a_spread_is_covered_at_least_as_often_as_it_says(alike):
    rates = np.full(3, 0.4) if alike else np.array([0.2, 0.3, 0.5])
    rng = np.random.default_rng(8)
    hits = np.zeros(2)
    for _ in range(300):
        drawn = rng.binomial(SIZES, rates)
        lower, upper, least, most = closed_form.spread(drawn, np.array(SIZES), 0.95)
        hits += [
            lower <= rates.max() - rates.min() <= upper,
            least <= rates.min() / rates.max() <= most,
        ]
    assert (hits / 300 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300)).all()
