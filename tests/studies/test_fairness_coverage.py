"""The multinomial draw has the law of rows that the real kernels make, and faults are noticed."""

import numpy as np
import pytest
from scipy.stats import chisquare

from hushpoll_analysis.auditing import sets as fairness_sets
from hushpoll_analysis.auditing.moments import Moments, row_terms, weights
from hushpoll_analysis.auditing.sets import metric_set
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_shared.group_metrics import METRICS
from studies.fairness_coverage import Law, coverage, supports, truth

# a third in group 0; by group, label and prediction
THIRD = np.array([[[140, 20], [10, 30]], [[130, 70], [40, 160]]], dtype=float)
# 6 % in group 0; few of them are predicted negative
SIX = np.array([[[9, 134], [8, 458]], [[5, 365], [9, 9225]]], dtype=float)


@pytest.mark.parametrize("epsilon", ["1", "4"])
@pytest.mark.parametrize("protocol", list(PROTOCOLS))
def test_supports_have_the_law_of_the_kernels_records(protocol, epsilon):
    oracle = create(protocol, k=2, epsilon=epsilon)
    rng = np.random.default_rng(20)
    n = 60_000
    for value in (0, 1):
        records = perturb(oracle, np.full(n, value), rng)
        drawn = np.bincount(indicators(oracle, records) @ [2, 1], minlength=4)
        law = np.zeros(4)
        for (first, second), chance in supports(oracle, value):
            law[2 * first + second] += chance
        assert law.sum() == pytest.approx(1, abs=1e-12)
        assert (drawn[law == 0] == 0).all()
        # 28 tests: one in 3,000 would fail by chance if their seed were not fixed
        assert chisquare(drawn[law > 0], n * law[law > 0]).pvalue > 1e-5


@pytest.mark.parametrize("protocol", ["GRR", "OUE", "OLH", "BLH"])
def test_counts_of_kinds_and_rows_from_the_kernels_give_the_same_moments(protocol):
    oracle = create(protocol, k=2, epsilon="1")
    rng = np.random.default_rng(6)
    n = 4_000
    kind = rng.choice(8, n, p=THIRD.ravel() / THIRD.sum())
    group, label, guess = kind // 4, kind // 2 % 2, kind % 2
    rows = indicators(oracle, perturb(oracle, group, rng))
    law = Law.of(THIRD, oracle)
    share = law.weighting.excess_shares(law.channel.debias(rows).mean(axis=0))
    by_row = Moments.of(
        row_terms(
            weights(rows, law.channel, share),
            guess.astype(np.int8),
            ([0], [1]),
            label.astype(float),
            1.0 - label,
        )
    )
    counts = np.zeros(len(law.probability))
    for number, (y, yhat, support) in enumerate(
        zip(law.label, law.predicted, law.indicators, strict=True)
    ):
        # kinds of both groups look alike: all rows of one look go to the first of them
        if not any(
            (law.label[i], law.predicted[i]) == (y, yhat) and (law.indicators[i] == support).all()
            for i in range(number)
        ):
            counts[number] = np.sum((label == y) & (guess == yhat) & (rows == support).all(axis=1))
    assert counts.sum() == n
    by_kind = law.moments(counts, n)
    for name in ("mean", "second", "third", "fourth"):
        assert getattr(by_kind, name) == pytest.approx(getattr(by_row, name), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("protocol", ["GRR", "OUE"])
def test_surveys_of_rows_spread_like_surveys_of_counts(protocol):
    oracle = create(protocol, k=2, epsilon="1")
    rng = np.random.default_rng(12)
    law, n, surveys = Law.of(THIRD, oracle), 1500, 300
    from_rows = []
    for _ in range(surveys):
        kind = rng.choice(8, n, p=THIRD.ravel() / THIRD.sum())
        rows = indicators(oracle, perturb(oracle, kind // 4, rng))
        share = law.weighting.excess_shares(law.channel.debias(rows).mean(axis=0))
        terms = row_terms(
            weights(rows, law.channel, share),
            (kind % 2).astype(np.int8),
            ([0], [1]),
            (kind // 2 % 2).astype(float),
            1.0 - kind // 2 % 2,
        )
        from_rows.append(float(metric_set(Moments.of(terms), "SPD", confidence=0.95).value))
    drawn = rng.multinomial(n, law.probability, size=surveys).astype(float)
    from_counts = metric_set(law.moments(drawn, n), "SPD", confidence=0.95).value
    spread = np.std(from_rows)
    assert np.mean(from_rows) == pytest.approx(truth(THIRD)["SPD"], abs=4 * spread / surveys**0.5)
    # the ratio of two standard deviations of 300 has a standard error of 0.06
    assert spread == pytest.approx(np.std(from_counts), rel=0.22)


def test_truth_is_hand_counted():
    assert truth(THIRD) == pytest.approx(
        {
            "DI": 10 / 23,
            "SPD": 0.325,
            "EOD": 0.05,
            "OAD": -0.125,
            "FPRD": 0.225,
            "PPD": 16 / 23 - 0.6,
            "EODDS": 0.225,
        }
    )


def check_covered(coverages, surveys, least=0.95):
    """Each metric covered in 95 % or more, give or take four standard errors."""
    allowed = 4 * (0.95 * 0.05 / surveys) ** 0.5
    for name, metric in coverages.items():
        assert least - allowed < metric.covered, (name, metric.covered)


@pytest.mark.parametrize("protocol", ["GRR", "OUE", "OLH", "BLH"])
@pytest.mark.parametrize(("people", "epsilon"), [(THIRD, "1"), (THIRD, "4"), (SIX, "4")])
def test_sets_cover_large_groups_and_not_much_too_often(people, epsilon, protocol):
    oracle = create(protocol, k=2, epsilon=epsilon)
    rng = np.random.default_rng(31)
    coverages = coverage(people, oracle, respondents=20_000, surveys=1500, rng=rng)
    for name, metric in coverages.items():
        assert metric.concluded == 1
        if METRICS[name].is_largest:
            # the larger of two estimates is biased upwards, and its limits hold for both at once
            assert metric.covered < 0.999
            continue
        assert abs(metric.bias) < 5 * metric.deviation / 1500**0.5 + 0.02 * metric.deviation
        assert metric.covered < 0.985
    check_covered(coverages, 1500)


def test_the_check_notices_groups_taken_for_independent(monkeypatch):
    monkeypatch.setattr(
        fairness_sets._Region, "_correlation", lambda self, r0, r1: np.zeros(np.shape(r0 * r1))
    )
    rng = np.random.default_rng(31)
    oracle = create("GRR", k=2, epsilon="1")
    coverages = coverage(THIRD, oracle, respondents=20_000, surveys=1500, rng=rng)
    with pytest.raises(AssertionError):
        check_covered(coverages, 1500)


ALIKE = np.stack([THIRD[1] * 0.1, THIRD[1]])


@pytest.mark.parametrize(
    ("protocol", "epsilon", "respondents"),
    [("OUE", "1", 2_000), ("RAPPOR", "2", 500), ("GRR", "0.5", 3_000)],
)
def test_small_groups_are_covered_over_all_answers_and_seldom_found_unfair(
    protocol, epsilon, respondents
):
    """The rule of before answered few of these, the lucky ones, and these it did not cover."""
    oracle = create(protocol, k=2, epsilon=epsilon)
    rng = np.random.default_rng(8)
    coverages = coverage(ALIKE, oracle, respondents=respondents, surveys=3000, rng=rng)
    check_covered(coverages, 3000)
    for name, metric in coverages.items():
        assert metric.disparate < 0.05 + 4 * (0.95 * 0.05 / 3000) ** 0.5, name
        assert metric.earlier_answered < metric.concluded < 0.999, name


def test_the_rule_of_before_did_not_cover_where_it_seldom_answered():
    """Both rules on the same surveys: rare positives in two halves, as in the study."""
    rare = np.array([[[697, 1], [299, 3]], [[696, 2], [294, 8]]], dtype=float)
    oracle = create("SS", k=2, epsilon="0.5")
    rng = np.random.default_rng(5)
    di = coverage(rare, oracle, respondents=6_000, surveys=6000, rng=rng)["DI"]
    assert 0 < di.earlier_answered < 0.05
    assert di.earlier_covered < 0.9
    assert di.earlier_disparate > 0.5
    assert di.covered > 0.945
    assert di.concluded > 10 * di.earlier_answered


def test_fewer_people_conclude_less_often_until_none_does():
    oracle = create("OUE", k=2, epsilon="1")
    rng = np.random.default_rng(5)
    shares = [
        coverage(SIX, oracle, respondents=n, surveys=300, rng=rng)["EOD"].concluded
        for n in (20_000, 2_000, 50)
    ]
    assert shares[0] > 0.9 > shares[1] > 0.1 > shares[2]


def test_weights_that_sum_to_one_are_worth_respondents():
    rng = np.random.default_rng(5)
    for protocol, least, most in (("GRR", 1, 1), ("OUE", 1.02, 1.5), ("BLH", 1.04, 1.6)):
        oracle = create(protocol, k=2, epsilon="1")
        coverages = coverage(THIRD, oracle, respondents=20_000, surveys=2, rng=rng)
        assert all(least <= coverages[name].gain <= most for name in METRICS), protocol


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"people": np.zeros((2, 2, 2))}, "population"),
        ({"people": -THIRD}, "population"),
        ({"people": THIRD[0]}, "population"),
        ({"k": 3}, "k"),
        ({"surveys": 1}, "surveys"),
        ({"respondents": 0}, "respondents"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_bad_arguments_are_named(changes, field):
    arguments = {
        "people": THIRD,
        "k": 2,
        "surveys": 2,
        "respondents": 10,
        "confidence": 0.95,
    } | changes
    with pytest.raises(InvalidParameter) as caught:
        coverage(
            arguments["people"],
            create("GRR", k=arguments["k"], epsilon="1"),
            respondents=arguments["respondents"],
            surveys=arguments["surveys"],
            rng=np.random.default_rng(1),
            confidence=arguments["confidence"],
        )
    assert caught.value.field == field
