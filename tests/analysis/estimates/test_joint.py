"""Joint frequencies: exact on expected counts, equal to per-row products, covering, summing up."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from hushpoll_analysis.auditing.moments import weights
from hushpoll_analysis.estimates.joint import Side, estimate_joint
from hushpoll_analysis.records.counts import JointCounts
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_protocols.kernels import indicators, perturb

CLEAR = Channel.of(None)
QUARTERS = Channel(Fraction(3, 4), Fraction(1, 4))
SKEWED = Channel(Fraction(1, 2), Fraction(1, 8))


def side(channel):
    """A side of the table whose weights are the debiased indicators."""
    return Side(channel, WeightLaw.of_indicator(channel.p, channel.q))


def cells(f, f1, f2):
    """Probabilities of (both, first only, second only, neither) of the truth."""
    return f, f1 - f, f2 - f, 1 - f1 - f2 + f


def law(first, second, truth):
    """Probabilities of the indicator pair (1, 1), (1, 0), (0, 1), (0, 0)."""
    found = [Fraction(0)] * 4
    for share, (a, b) in zip(truth, ((1, 1), (1, 0), (0, 1), (0, 0)), strict=True):
        on1, on2 = (first.p if a else first.q), (second.p if b else second.q)
        for place, chance in enumerate(
            (on1 * on2, on1 * (1 - on2), (1 - on1) * on2, (1 - on1) * (1 - on2))
        ):
            found[place] += Fraction(share) * chance
    return found


def counted(numbers):
    both, only1, only2, neither = (int(number) for number in numbers)
    return JointCounts(
        both + only1 + only2 + neither,
        np.array([both + only1]),
        np.array([both + only2]),
        np.array([[both]]),
    )


@pytest.mark.parametrize("first", [CLEAR, QUARTERS, SKEWED])
@pytest.mark.parametrize("second", [CLEAR, QUARTERS, SKEWED])
def test_expected_counts_give_the_truth_and_the_exact_variance(first, second):
    truth = cells(Fraction(1, 8), Fraction(1, 4), Fraction(3, 8))
    probability = law(first, second, truth)
    n = 2**16
    counts = [n * chance for chance in probability]
    assert all(count.denominator == 1 for count in counts)
    found = estimate_joint(counted(counts), side(first), side(second), confidence=0.95)
    assert found.frequency[0, 0] == pytest.approx(1 / 8, rel=1e-12)
    product = {
        (a, b): (a - first.q) * (b - second.q) / ((first.p - first.q) * (second.p - second.q))
        for a in (0, 1)
        for b in (0, 1)
    }
    square = sum(
        chance * product[pair] ** 2
        for chance, pair in zip(probability, ((1, 1), (1, 0), (0, 1), (0, 0)), strict=True)
    )
    variance = (square - Fraction(1, 64)) / n
    assert found.standard_error[0, 0] == pytest.approx(float(variance) ** 0.5, rel=1e-12)
    assert found.lower[0, 0] < 1 / 8 < found.upper[0, 0]


def draw(names, joint, n, rng):
    """Return two oracles and the indicators of n respondents of a joint table of shares."""
    oracles = [create(name, k=k, epsilon=epsilon) for name, k, epsilon in names]
    code = rng.choice(joint.size, n, p=joint.ravel())
    codes = code // joint.shape[1], code % joint.shape[1]
    rows = [
        indicators(oracle, perturb(oracle, values, rng))
        for oracle, values in zip(oracles, codes, strict=True)
    ]
    return oracles, rows


TABLE = np.array([[0.3, 0.0, 0.05, 0.1], [0.0, 0.2, 0.05, 0.0], [0.1, 0.1, 0.05, 0.05]])


def test_counts_give_the_means_of_the_per_row_products_of_weights():
    names = (("OUE", 3, "0.7"), ("BLH", 4, "1.5"))
    oracles, rows = draw(names, TABLE, 500, np.random.default_rng(3))
    chunks = [
        JointCounts.of(rows[0][i : i + 130], rows[1][i : i + 130]) for i in (0, 130, 260, 390)
    ]
    sides = [Side.of(oracle) for oracle in oracles]
    found = estimate_joint(sum(chunks[1:], chunks[0]), *sides, confidence=0.9)
    each = []
    for one, indicated in zip(sides, rows, strict=True):
        share = one.law.excess_shares(one.channel.debias(indicated).mean(axis=0))
        each.append(weights(indicated, one.channel, share))
    products = each[0][:, :, None] * each[1][:, None, :]
    assert found.frequency == pytest.approx(products.mean(axis=0), rel=1e-9, abs=1e-12)
    assert found.standard_error == pytest.approx(products.std(axis=0) / 500**0.5, rel=0.15)


@pytest.mark.parametrize("first", ["BLH", "OLH", "RAPPOR", "OUE", "THE", "GRR", "SS"])
@pytest.mark.parametrize("second", ["OUE", "OLH", "SS"])
def test_cells_sum_to_the_estimates_of_their_rows_and_columns_and_to_one(first, second):
    names = ((first, 3, "1"), (second, 4, "0.8"))
    oracles, rows = draw(names, TABLE, 700, np.random.default_rng(4))
    counts = JointCounts.of(*rows)
    found = estimate_joint(counts, *(Side.of(oracle) for oracle in oracles), confidence=0.95)
    for axis, (oracle, support) in enumerate(
        zip(oracles, (counts.first, counts.second), strict=True)
    ):
        alone = estimate(oracle, support, counts.n).frequency
        assert found.frequency.sum(axis=1 - axis) == pytest.approx(alone, abs=1e-9)
    assert found.frequency.sum() == pytest.approx(1, abs=1e-9)


@pytest.mark.parametrize("names", [(("OUE", 2, "1"), ("OUE", 2, "1"))])
def test_cells_of_yes_and_no_have_under_half_the_raw_variance(names):
    rng = np.random.default_rng(5)
    joint = np.array([[0.4, 0.1], [0.2, 0.3]])
    raw, ours = [], []
    for _ in range(200):
        oracles, rows = draw(names, joint, 300, rng)
        counts = JointCounts.of(*rows)
        for values, estimator in ((raw, "raw"), (ours, "weighted")):
            sides = (Side.of(oracle, estimator=estimator) for oracle in oracles)
            values.append(estimate_joint(counts, *sides, confidence=0.95).frequency)
    # an F ratio of 200 surveys has a standard error of 0.14
    assert (np.var(ours, axis=0) < 0.5 * np.var(raw, axis=0)).all()
    error = np.std(ours, axis=0)
    assert (np.abs(np.mean(ours, axis=0) - joint) < 4.5 * error / 200**0.5).all()


@pytest.mark.parametrize(
    ("name", "epsilon", "n"),
    [("GRR", "4", 2000), ("SS", "2", 1000), ("OUE", "4", 1000), ("GRR", "8", 5000)],
)
def test_near_empty_cells_miss_about_as_often_as_they_say_and_print_their_error(name, epsilon, n):
    """The two indicators alone are enough: the table is that of one category against the rest.

    About 0.025 of the surveys should miss; a share of 0.07 would pass once in 70 times.
    """
    oracle = create(name, k=5, epsilon=epsilon)
    surveys, truth = 800, cells(Fraction(0), Fraction(1, 20), Fraction(1, 20))
    channel = Channel.of(oracle)
    chances = np.array([float(chance) for chance in law(channel, channel, truth)])
    drawn = np.random.default_rng(12).multinomial(n, chances, size=surveys)
    shapes, times = np.unique(drawn, axis=0, return_counts=True)
    found = [
        estimate_joint(counted(one), side(channel), side(channel), confidence=0.95)
        for one in shapes
    ]
    lower, value, error = (
        np.repeat([getattr(one, name)[0, 0] for one in found], times)
        for name in ("lower", "frequency", "standard_error")
    )
    assert np.mean(lower > 0) < 0.05
    assert np.mean(error) == pytest.approx(np.std(value), rel=0.25)


def test_two_clear_attributes_have_wilsons_interval():
    found = estimate_joint(counted([3, 40, 2, 55]), side(CLEAR), side(CLEAR), confidence=0.95)
    wilson = binomtest(3, 100).proportion_ci(method="wilson")
    assert found.frequency[0, 0] == pytest.approx(0.03)
    assert (found.lower[0, 0], found.upper[0, 0]) == pytest.approx((wilson.low, wilson.high))


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("GRR", 2, "1"), None),
        (("OUE", 40, "1"), ("GRR", 2, "0.5")),
        (("OLH", 74, "2"), ("SS", 5, "1")),
        (("BLH", 5, "4"), ("THE", 5, "4")),
    ],
)
@pytest.mark.parametrize("f", ["0.002", "0.1"])
def test_intervals_cover_the_population_when_respondents_and_noise_are_redrawn(first, second, f):
    one, two = (
        Channel.of(create(name[0], k=name[1], epsilon=name[2]) if name else None)
        for name in (first, second)
    )
    truth = cells(Fraction(f), Fraction(3, 20), Fraction(9, 20))
    surveys, n = 500, 2000
    chances = np.array([float(chance) for chance in law(one, two, truth)])
    drawn = np.random.default_rng(11).multinomial(n, chances, size=surveys)
    hits, values = 0, []
    for numbers in drawn:
        found = estimate_joint(counted(numbers), side(one), side(two), confidence=0.95)
        hits += bool(found.lower[0, 0] <= float(f) <= found.upper[0, 0])
        values.append(found.frequency[0, 0])
    # four standard deviations of a binomial at 0.95, and of the mean
    assert abs(hits / surveys - 0.95) < 4 * (0.95 * 0.05 / surveys) ** 0.5 + 0.004
    assert np.mean(values) == pytest.approx(float(f), abs=4 * np.std(values) / surveys**0.5)


def test_a_small_epsilon_still_gives_finite_limits():
    channel = Channel.of(create("GRR", k=2, epsilon="0.000001"))
    found = estimate_joint(counted([30, 20, 10, 40]), side(channel), side(channel), confidence=0.95)
    for values in (found.frequency, found.standard_error, found.lower, found.upper):
        assert np.isfinite(values).all()
    assert found.lower[0, 0] < found.upper[0, 0]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, 2, float("nan")])
def test_a_confidence_outside_its_interval_is_refused(confidence):
    with pytest.raises(InvalidParameter, match="open interval"):
        estimate_joint(counted([1, 1, 1, 1]), side(CLEAR), side(CLEAR), confidence=confidence)
