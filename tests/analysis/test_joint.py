"""Joint frequencies: exact on expected counts, equal to per-row products, and covering."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import binomtest

from hushpoll_analysis.channel import Channel
from hushpoll_analysis.joint import JointCounts, estimate_joint
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter

CLEAR = Channel.of(None)
QUARTERS = Channel(Fraction(3, 4), Fraction(1, 4))
SKEWED = Channel(Fraction(1, 2), Fraction(1, 8))


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
    found = estimate_joint(counted(counts), first, second, confidence=0.95)
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


def test_counts_give_mean_and_deviation_of_the_per_row_products():
    rng = np.random.default_rng(3)
    oracles = create("OUE", k=3, epsilon="0.7"), create("GRR", k=4, epsilon="1.5")
    first, second = (Channel.of(oracle) for oracle in oracles)
    rows1 = rng.integers(0, 2, (500, 3), dtype=np.uint8)
    rows2 = np.eye(4, dtype=np.uint8)[rng.integers(0, 4, 500)]
    chunks = [JointCounts.of(rows1[i : i + 130], rows2[i : i + 130]) for i in range(0, 500, 130)]
    found = estimate_joint(sum(chunks[1:], chunks[0]), first, second, confidence=0.9)
    products = first.debias(rows1)[:, :, None] * second.debias(rows2)[:, None, :]
    assert found.frequency == pytest.approx(products.mean(axis=0), rel=1e-9, abs=1e-12)
    assert found.standard_error == pytest.approx(products.std(axis=0) / 500**0.5, rel=1e-9)


def test_two_clear_attributes_have_wilsons_interval():
    found = estimate_joint(counted([3, 40, 2, 55]), CLEAR, CLEAR, confidence=0.95)
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
    surveys, n = 4000, 2000
    chances = np.array([float(chance) for chance in law(one, two, truth)])
    drawn = np.random.default_rng(11).multinomial(n, chances, size=surveys)
    hits, values = 0, []
    for numbers in drawn:
        found = estimate_joint(counted(numbers), one, two, confidence=0.95)
        hits += bool(found.lower[0, 0] <= float(f) <= found.upper[0, 0])
        values.append(found.frequency[0, 0])
    # four standard deviations of a binomial at 0.95, and of the mean
    assert abs(hits / surveys - 0.95) < 4 * (0.95 * 0.05 / surveys) ** 0.5 + 0.004
    assert np.mean(values) == pytest.approx(float(f), abs=4 * np.std(values) / surveys**0.5)


def test_a_small_epsilon_still_gives_finite_limits():
    channel = Channel.of(create("GRR", k=2, epsilon="0.000001"))
    found = estimate_joint(counted([30, 20, 10, 40]), channel, channel, confidence=0.95)
    for values in (found.frequency, found.standard_error, found.lower, found.upper):
        assert np.isfinite(values).all()
    assert found.lower[0, 0] < found.upper[0, 0]


@pytest.mark.parametrize("confidence", [0.0, 1.0, -1, 2, float("nan")])
def test_a_confidence_outside_its_interval_is_refused(confidence):
    with pytest.raises(InvalidParameter, match="open interval"):
        estimate_joint(counted([1, 1, 1, 1]), CLEAR, CLEAR, confidence=confidence)
