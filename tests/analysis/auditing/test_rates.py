"""Rates and metrics: exact on hand-worked tables and exact laws, and against per-row influences."""

import math

import numpy as np
import pytest
from scipy.stats import binomtest, norm

from hushpoll_analysis.auditing.group_rate import edgeworth, known_limits, rates
from hushpoll_analysis.auditing.moments import RATE_TERMS, Moments, row_terms
from hushpoll_analysis.auditing.sets import conclusive, disparate, found_disparate, metric_set
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import METRICS, RATES
from studies.fairness_coverage import Law, truth

Z = norm.ppf(0.975)
PEOPLE = np.array([[[140, 20], [10, 30]], [[130, 70], [40, 160]]], dtype=float)  # group, y, yhat
PROTOCOLS = ("GRR", "OUE", "OLH", "BLH", "SS", "RAPPOR", "THE")


def expand(people, times=1):
    """Rows (group, label, prediction) of a table of people."""
    cells = [(group, y, guess) for group in (0, 1) for y in (0, 1) for guess in (0, 1)]
    counts = (people.ravel() * times).astype(int)
    return np.repeat(np.array(cells), counts, axis=0).T


def in_clear(people, times=1):
    group, label, guess = expand(people, times)
    terms = row_terms(
        np.eye(2)[group], guess.astype(np.int8), ([0], [1]), label.astype(float), 1.0 - label
    )
    return Moments.of(terms)


def test_in_clear_the_estimates_are_the_hand_counted_ones():
    moments = in_clear(PEOPLE)
    expected = {
        "P": (50 / 200, 230 / 400),
        "TPR": (30 / 40, 160 / 200),
        "FPR": (20 / 160, 70 / 200),
        "ACC": (170 / 200, 290 / 400),
        "PPV": (30 / 50, 160 / 230),
    }
    sizes = {"P": (200, 400), "TPR": (40, 200), "FPR": (160, 200), "ACC": (200, 400)}
    sizes["PPV"] = (50, 230)
    for name in RATES:
        for group, found in enumerate(rates(moments, name, confidence=0.95)):
            rate, size = expected[name][group], sizes[name][group]
            assert found.value == pytest.approx(rate, rel=1e-12)
            binomial = math.sqrt(rate * (1 - rate) / size)
            assert found.standard_error == pytest.approx(binomial, rel=0.02)
            assert found.standard_error >= binomial * (1 - 1e-9)
    values = {"DI": 10 / 23, "SPD": 0.325, "EOD": 0.05, "OAD": -0.125}
    values |= {"FPRD": 0.225, "PPD": 160 / 230 - 0.6, "EODDS": 0.225}
    assert values.keys() == METRICS.keys()
    for name, value in values.items():
        assert metric_set(moments, name, confidence=0.95).value == pytest.approx(value, rel=1e-12)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("alone", [False, True])
def test_the_exact_law_of_the_records_gives_the_populations_values(protocol, alone):
    law = Law.of(PEOPLE, create(protocol, k=2, epsilon="1"))
    moments = law.moments(law.probability, 10**6, debiased_alone=alone)
    for name, value in truth(PEOPLE).items():
        assert metric_set(moments, name, confidence=0.95).value == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("protocol", ["GRR", "OUE", "BLH"])
def test_the_standard_error_is_that_of_the_per_row_difference_of_influences(protocol):
    rng = np.random.default_rng(4)
    law = Law.of(PEOPLE, create(protocol, k=2, epsilon="2"))
    n = 20_000
    counts = rng.multinomial(n, law.probability).astype(float)
    rows = np.repeat(np.arange(len(counts)), counts.astype(int))
    weight = law.channel.debias(law.indicators)[rows]
    guess, label = law.predicted[rows].astype(float), law.label[rows].astype(float)
    moments = law.moments(counts, n, debiased_alone=True)
    inside = {"P": (guess, np.ones(n)), "TPR": (guess * label, label)}
    inside["ACC"] = (guess == label).astype(float), np.ones(n)
    inside["FPR"] = guess * (1 - label), 1 - label
    inside["PPV"] = guess * label, guess
    for name, compared in METRICS.items():
        # of equalised odds it is the larger difference: here, of the false positive rates
        top, under = inside[compared.rates[-1].name]
        value = [np.mean(top * weight[:, a]) / np.mean(under * weight[:, a]) for a in (0, 1)]
        influence = [
            (top - value[a] * under) * weight[:, a] / np.mean(under * weight[:, a]) for a in (0, 1)
        ]
        found = metric_set(moments, name, confidence=0.95)
        if compared.is_ratio:
            log_ratio = influence[0] / value[0] - influence[1] / value[1]
            assert found.value == pytest.approx(value[0] / value[1], rel=1e-9)
            assert found.standard_error / found.value == pytest.approx(
                log_ratio.std() / n**0.5, rel=1e-6
            )
        else:
            difference = influence[1] - influence[0]
            assert found.value == pytest.approx(value[1] - value[0], rel=1e-9)
            assert found.standard_error == pytest.approx(difference.std() / n**0.5, rel=1e-6)


def test_with_many_rows_every_interval_is_the_normal_one():
    law = Law.of(PEOPLE, create("OUE", k=2, epsilon="1"))
    moments = law.moments(law.probability, 10**10)
    for name, metric in METRICS.items():
        if metric.is_largest:
            continue  # its limits are at a level at which both differences hold at once
        found = metric_set(moments, name, confidence=0.95)
        assert found.lower == pytest.approx(found.value - Z * found.standard_error, abs=1e-8)
        assert found.upper == pytest.approx(found.value + Z * found.standard_error, abs=1e-8)


def test_moments_of_parts_add_up_to_those_of_the_whole():
    terms = np.random.default_rng(1).normal(size=(700, 8))
    parts = sum((Moments.of(terms[i : i + 300]) for i in (0, 300, 600)), Moments.none())
    whole = Moments.of(terms)
    assert parts.n == whole.n == 700
    for name in ("mean", "second", "third", "fourth"):
        assert getattr(parts, name) == pytest.approx(getattr(whole, name), rel=1e-9, abs=1e-12)
    assert whole.third[1, 0, 1, 2] == pytest.approx(
        np.mean(terms[:, 4] * terms[:, 5] * terms[:, 6])
    )
    assert whole.fourth[0, 1, 6] == pytest.approx(
        np.mean(terms[:, 0] * terms[:, 1] * terms[:, 1] * terms[:, 2])
    )


def test_the_edgeworth_terms_are_those_of_a_skewed_mean_computed_by_hand():
    rng = np.random.default_rng(2)
    value = rng.exponential(size=500) - 1
    terms = np.zeros((500, 8))
    terms[:, 4] = value - value.mean()
    moments = Moments.of(terms)
    variance = np.mean(terms[:, 4] ** 2)
    skewness = np.mean(terms[:, 4] ** 3) / variance**1.5
    kurtosis = np.mean(terms[:, 4] ** 4) / variance**2 - 3
    shift, factor, of_difference = edgeworth(
        moments, 1, np.array([1.0, 0, 0, 0]), np.asarray(variance / 500), z=2.0
    )
    assert shift == pytest.approx(math.sqrt(variance / 500) * 1.5 * skewness / 500**0.5)
    # c = 1.5: k (1.5 - 1/12) + g^2 (21/18 - 1.25 - 1.125) + 7/4
    apart = kurtosis * 17 / 12 - skewness**2 * 29 / 24 + 1.75
    assert factor == pytest.approx(1 + apart / 500)
    assert of_difference == pytest.approx(1 + (kurtosis * 17 / 12 + 1.75) / 500)
    nothing, one, other = edgeworth(moments, 0, np.ones(4), np.asarray(0.0), z=2.0)
    assert (nothing, one, other) == pytest.approx((0.0, 1 + 1.75 / 500, 1 + 1.75 / 500))


def test_no_interval_is_shorter_than_wilsons_of_known_groups():
    variance, lower, upper = known_limits(np.array(0.1), np.array(50.0), Z)
    limits = binomtest(5, 50).proportion_ci(method="wilson")
    assert (lower, upper) == pytest.approx((limits.low, limits.high), rel=1e-6)
    assert variance > 0
    # everybody of group 0 is predicted positive: no influence at all, and yet no certainty
    everybody = np.array([[[0, 12], [0, 18]], [[130, 70], [40, 160]]], dtype=float)
    low, _ = rates(in_clear(everybody), "P", confidence=0.95)
    limits = binomtest(30, 30).proportion_ci(method="wilson")
    assert low.value == 1
    assert low.standard_error > 0
    assert low.lower <= limits.low + 1e-9
    spread = metric_set(in_clear(everybody), "SPD", confidence=0.95)
    assert spread.upper - spread.lower > 1 - limits.low


@pytest.mark.parametrize("people", [PEOPLE, PEOPLE[::-1]])
def test_exchanging_the_groups_turns_differences_and_inverts_the_ratio(people):
    law = Law.of(people, create("OUE", k=2, epsilon="1"))
    counts = np.random.default_rng(8).multinomial(30_000, law.probability).astype(float)
    moments = law.moments(counts, 30_000)
    order = [*range(4, 8), *range(4)]
    turned = Moments(
        moments.n,
        moments.mean[order],
        moments.second[np.ix_(order, order)],
        moments.third[::-1],
        moments.fourth[::-1],
    )
    for name, metric in METRICS.items():
        one, other = (metric_set(m, name, confidence=0.95) for m in (moments, turned))
        if metric.is_largest:
            for part in ("value", "lower", "upper"):
                assert getattr(other, part) == pytest.approx(getattr(one, part), rel=1e-6)
            continue
        mirrored = (lambda x: 1 / x) if metric.is_ratio else (lambda x: -x)
        assert other.value == pytest.approx(mirrored(one.value), rel=1e-9)
        # the ends are extremes along a curve, each found to some eight digits
        assert other.lower == pytest.approx(mirrored(one.upper), rel=1e-6)
        assert other.upper == pytest.approx(mirrored(one.lower), rel=1e-6)


def test_a_set_has_a_bound_exactly_where_both_denominators_are_surely_above_zero():
    """At the law's own moments: z standard errors of the smaller group, and one person fewer."""
    law = Law.of(PEOPLE, create("GRR", k=2, epsilon="1"))
    p, q = float(law.channel.p), float(law.channel.q)
    reported = (p - q) / 3 + q  # a third is in group 0
    error = math.sqrt(reported * (1 - reported)) / (p - q)
    n = (Z * 3 * error) ** 2
    for respondents, bounded in ((math.ceil(n), True), (math.floor(n), False)):
        found = metric_set(law.moments(law.probability, respondents), "SPD", confidence=0.95)
        assert np.isfinite(found.lower) == np.isfinite(found.upper) == bounded
        assert np.isfinite(found.value) == bounded


def test_a_tested_difference_is_in_the_set_exactly_if_no_nuisance_rate_rejects_it():
    """Brute force over the nuisance rate, without the corrections for few people."""
    law = Law.of(PEOPLE, create("OUE", k=2, epsilon="1"))
    n = 3_000
    counts = np.random.default_rng(4).multinomial(n, law.probability).astype(float)
    moments = law.moments(counts, n)
    top, under = RATE_TERMS["P"]

    def statistic(r0, r1):
        rows = np.zeros((2, 8))
        rows[0, :4], rows[1, 4:] = top - r0 * under, top - r1 * under
        mean = rows @ moments.mean
        covariance = (rows @ moments.second @ rows.T - np.outer(mean, mean)) / n
        return mean @ np.linalg.solve(covariance, mean)

    grid = np.linspace(-0.5, 1.5, 2001)
    for name, other in (("SPD", lambda r, d: r + d), ("DI", lambda r, d: r / d)):
        found = metric_set(moments, name, confidence=0.95)
        width = float(found.upper - found.lower)
        for end, outwards in ((found.lower, -1), (found.upper, 1)):
            smallest = [
                min(statistic(r, other(r, float(end) + by * outwards * width)) for r in grid)
                for by in (-0.03, 0.03)
            ]
            assert smallest[0] < Z**2 < smallest[1], (name, outwards)


def test_sets_without_a_bound_are_infinite_and_never_nan():
    for people in (PEOPLE, np.array([[[0, 0], [0, 0]], [[50, 50], [50, 50]]], dtype=float)):
        law = Law.of(people, create("OUE", k=2, epsilon="0.01"))
        rng = np.random.default_rng(3)
        moments = law.moments(rng.multinomial(40, law.probability, size=200).astype(float), 40)
        for name in METRICS:
            found = metric_set(moments, name, confidence=0.999)
            assert not conclusive(found, name).any()
            assert not np.isnan(found.lower).any()
            assert not np.isnan(found.upper).any()


def test_a_ratio_to_a_rate_that_may_be_zero_has_no_upper_bound_and_the_difference_has():
    rare = np.array([[[100, 50], [100, 50]], [[298, 2], [300, 0]]], dtype=float)
    law = Law.of(rare, create("GRR", k=2, epsilon="1"))
    moments = law.moments(law.probability, 3_000)
    found = metric_set(moments, "DI", confidence=0.95)
    assert np.isinf(found.upper)
    assert not conclusive(found, "DI")
    assert conclusive(metric_set(moments, "SPD", confidence=0.95), "SPD")


@pytest.mark.parametrize("name", METRICS)
def test_a_disparity_found_from_one_end_is_that_of_the_whole_set(name):
    law = Law.of(PEOPLE, create("OUE", k=2, epsilon="1"))
    rng = np.random.default_rng(6)
    for n in (100, 400, 4000):
        moments = law.moments(rng.multinomial(n, law.probability, size=300).astype(float), n)
        whole = disparate(metric_set(moments, name, confidence=0.95), name)
        assert (found_disparate(moments, name, confidence=0.95) == whole).all()


@pytest.mark.parametrize("confidence", [0, 1, 0.9999, -1, float("nan")])
def test_a_confidence_out_of_bounds_is_refused(confidence):
    with pytest.raises(InvalidParameter) as caught:
        metric_set(in_clear(PEOPLE), "DI", confidence=confidence)
    assert caught.value.field == "confidence"
