"""Closed forms at published values, and how often they cover."""

import math

import numpy as np
import pytest
from scipy import stats

from hushpoll_analysis import metrics as intervals
from hushpoll_analysis.metrics import GroupCounts
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.group_metrics import METRICS, RATES

Z = 1.959963984540054


def limits(hits, rows):
    return tuple(map(float, intervals.rate_limits(np.array(hits), np.array(rows), Z)))


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
        found = intervals.difference_limits(
            one[0] / one[1], limits(*one), other[0] / other[1], limits(*other)
        )
        assert tuple(found) == pytest.approx(expected, abs=1e-4)


def test_the_limits_of_a_ratio_solve_its_equation():
    over, under = (30, 200), (90, 250)
    p0, p1 = 30 / 200, 90 / 250
    (l0, u0), (l1, u1) = limits(*over), limits(*under)
    lower, upper = intervals.ratio_limits(p0, (l0, u0), p1, (l1, u1))
    assert (p0 - lower * p1) ** 2 == pytest.approx((p0 - l0) ** 2 + (lower * (u1 - p1)) ** 2)
    assert (p0 - upper * p1) ** 2 == pytest.approx((u0 - p0) ** 2 + (upper * (p1 - l1)) ** 2)
    # near the log method where that holds
    error = math.sqrt((1 - p0) / 30 + (1 - p1) / 90)
    assert lower == pytest.approx(p0 / p1 * math.exp(-Z * error), rel=0.03)
    assert upper == pytest.approx(p0 / p1 * math.exp(Z * error), rel=0.03)
    lower, upper = intervals.ratio_limits(0.0, limits(0, 50), p1, (l1, u1))
    assert lower == 0
    assert 0 < upper < 0.5


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


@pytest.mark.parametrize("rate", RATES.values(), ids=list(RATES))
def test_closed_forms_cover_as_often_as_they_say(surveys, rate):
    truth = TRUTH.rate(rate)
    value = surveys.rate(rate)
    low, high = intervals.rate_limits(surveys.hits(rate), surveys.rows(rate), Z)

    def share(limits, true):
        return np.mean((limits[0] <= true) & (true <= limits[1]))

    for group in range(3):
        assert share((low[:, group], high[:, group]), truth[group]) == pytest.approx(
            0.95, abs=SLACK + 0.005
        )
    pair = [(value[:, at], (low[:, at], high[:, at])) for at in (0, 1)]
    gap = intervals.difference_limits(*pair[1], *pair[0])
    assert share(gap, truth[1] - truth[0]) == pytest.approx(0.95, abs=SLACK + 0.005)
    quotient = intervals.ratio_limits(*pair[1], *pair[0])
    assert share(quotient, truth[1] / truth[0]) == pytest.approx(0.95, abs=SLACK + 0.005)


@pytest.mark.parametrize("alike", [False, True])
def test_a_spread_is_covered_at_least_as_often_as_it_says(alike):
    rates = np.full(3, 0.4) if alike else np.array([0.2, 0.3, 0.5])
    rng = np.random.default_rng(8)
    hits = np.zeros(2)
    for _ in range(300):
        drawn = rng.binomial(SIZES, rates)
        sizes = np.array(SIZES)
        lower, upper = intervals.spread_limits(drawn, sizes, 0.95, ratio=False)
        least, most = intervals.spread_limits(drawn, sizes, 0.95, ratio=True)
        hits += [
            lower <= rates.max() - rates.min() <= upper,
            least <= rates.min() / rates.max() <= most,
        ]
    assert (hits / 300 > 0.95 - 3 * math.sqrt(0.95 * 0.05 / 300)).all()


@pytest.mark.parametrize("alike", [False, True])
@pytest.mark.parametrize("sizes", [(150, 220), (40, 60)])
def test_the_largest_difference_is_covered_at_least_as_often_as_it_says(alike, sizes):
    """Of two small groups, also where both are alike and the largest difference is 0."""
    metric = METRICS["EODDS"]
    cells = CELLS[[0, 0]] if alike else CELLS[:2]
    z = normal_quantile(intervals.level_of_each(metric, 0.95))
    rng = np.random.default_rng(4)
    drawn = GroupCounts(
        np.stack(
            [rng.multinomial(n, p, size=SURVEYS) for n, p in zip(sizes, cells, strict=True)], axis=1
        )
    )
    parts = []
    for rate in metric.rates:
        value, limits = (
            drawn.rate(rate),
            intervals.rate_limits(drawn.hits(rate), drawn.rows(rate), z),
        )
        pair = [(value[:, at], (limits[0][:, at], limits[1][:, at])) for at in (0, 1)]
        parts.append(intervals.difference_limits(*pair[1], *pair[0]))
    lower, upper = intervals.largest_limits(parts)
    rates = [GroupCounts((cells * 1e6).round().astype(np.int64)).rate(r) for r in metric.rates]
    truth = max(abs(rate[1] - rate[0]) for rate in rates)
    covered = np.mean((lower <= truth) & (truth <= upper))
    assert covered > 0.95 - SLACK - 0.005


def test_a_ratio_to_nothing_is_not_a_number_and_a_largest_difference_has_no_sign():
    low, high = [np.array([0.2, 0.2])], [np.array([0.0, 0.5])]
    assert np.isnan(intervals.combined(METRICS["DI"], low, high)[0])
    assert intervals.combined(METRICS["DI"], low, high)[1] == 0.4
    both = intervals.combined(METRICS["EODDS"], [np.array(0.5), np.array(0.1)], [np.array(0.2)] * 2)
    assert both == pytest.approx(0.3)
