"""Mitigation where a perturbed target may be skipped: shares and rates of those who answered."""

from dataclasses import replace

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from hushpoll_analysis import Records
from hushpoll_protocols import create
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training import (
    FitOptions,
    Recipe,
    RecordEncoder,
    ReweighingClassifier,
    ThresholdClassifier,
    cross_fit,
    evaluate,
    fit_records,
)
from hushpoll_training.learners.evidence import SKIPPED, GroupEvidence
from hushpoll_training.mitigation.rates import estimate_rates
from hushpoll_training.mitigation.reweighing import Reweighing

N = 40_000
TWO = ((0,), (1,))
FEW = {"n_estimators": 30, "num_leaves": 15}


@pytest.fixture(scope="module")
def drawn():
    """People, of whom those of group 1 with a positive label skip eight times as often."""
    rng = np.random.default_rng(6)
    group = (rng.random(N) < 0.4).astype(np.int64)
    label = (rng.random(N) < np.where(group == 1, 0.6, 0.3)).astype(np.int64)
    score = np.clip(0.3 * label + 0.2 * group + 0.5 * rng.random(N), 0, 1)
    silent = rng.random(N) < np.where(group & label, 0.8, 0.1)
    told, asked = create("OUE", k=2, epsilon="2"), create("GRR", k=3, epsilon="2")
    rows = indicators(told, perturb(told, group, rng))
    truth = np.where(silent, 2, label)
    reported = indicators(asked, perturb(asked, truth, rng)).argmax(axis=1)
    p, q = (float(part / (asked.p + asked.q)) for part in (asked.p, asked.q))
    evidence = GroupEvidence(rows, told, TWO, p, q, True)
    seen = np.where(reported == 2, SKIPPED, reported)
    joint = np.array(
        [[((group == a) & (label == y))[~silent].mean() for y in (0, 1)] for a in (0, 1)]
    )
    return evidence, seen, group, label, silent, score, joint


def test_factors_are_those_of_the_people_who_answered(drawn):
    evidence, seen, *_, joint = drawn
    found = Reweighing.of(evidence, seen)
    assert found.joint == pytest.approx(joint, abs=0.02)
    # from the reports of answers alone they are those of another population
    kept = seen != SKIPPED
    naive = Reweighing.of(replace(evidence.take(kept), skippable=False), seen[kept])
    assert np.abs(naive.joint - joint).max() > 0.03
    assert found.categories.sum() == pytest.approx(1)
    assert found.categories[:, 2].sum() == pytest.approx(drawn[4].mean(), abs=0.03)


@pytest.mark.parametrize("assignment", ["inverse", "posterior"])
def test_a_row_s_weight_is_on_average_the_factor_of_its_truth(drawn, assignment):
    evidence, seen, group, label, silent, *_ = drawn
    found = Reweighing.of(evidence, seen)
    known = evidence.of_labelled(seen)
    give = found._inverse if assignment == "inverse" else found._posterior
    weight, kept = give(known, seen[seen != SKIPPED]), seen != SKIPPED
    means = np.array(
        [
            [weight[((group == a) & (label == y) & ~silent)[kept]].mean() for y in (0, 1)]
            for a in (0, 1)
        ]
    )
    if assignment == "inverse":
        assert means == pytest.approx(found.factors, abs=0.06)
    else:
        assert (
            (np.abs(means - 1) < np.abs(found.factors - 1)) & ((means > 1) == (found.factors > 1))
        ).all()


def test_rates_are_those_of_the_people_who_answered(drawn):
    evidence, seen, group, label, silent, score, joint = drawn
    rates = estimate_rates(evidence, seen, [{a: score} for a in (0, 1)], grid=9, always=0.5)
    at = int(np.searchsorted(rates.thresholds, 0.5))
    for a in (0, 1):
        for y in (0, 1):
            own = (group == a) & (label == y) & ~silent
            assert rates.above[a, y, at] == pytest.approx((score[own] > 0.5).mean(), abs=0.06)
    assert rates.cells / rates.cells.sum() == pytest.approx(joint, abs=0.02)


@pytest.fixture(scope="module")
def skipping(survey, people, perturbed):
    """Collected records, and people in clear who answered."""
    rng = np.random.default_rng(2)

    def silent(codes):
        chance = np.where((codes["income"] == 1) & (codes["gender"] == 1), 0.4, 0.1)
        codes["income"][rng.random(chance.size) < chance] = 2
        return codes

    target = {"protocol": "GRR", "missing": "skipped"}
    published = survey(epsilon="14", target=target, protocol="OUE")
    records = Records(published, perturbed(published, silent(people(8000))))
    tested = silent(people(8000, seed=3))
    return records, {name: codes[tested["income"] < 2] for name, codes in tested.items()}


@pytest.mark.parametrize(
    ("learner", "parameters", "left"),
    [
        ("lightgbm-reweighed", {}, 0.7),
        ("lightgbm-reweighed", {"assignment": "posterior"}, 0.8),
        ("lightgbm-thresholds", {}, 0.4),
    ],
)
def test_learners_mitigate_for_those_who_answered(skipping, learner, parameters, left):
    records, tested = skipping

    def gap(name, more):
        model = fit_records(records, Recipe.of(FEW | more, learner=name), FitOptions(1))
        return evaluate(model, tested).metrics["SPD"].number()

    before = gap("lightgbm", {})
    assert before > 0.1
    assert abs(gap(learner, parameters)) < left * before


@pytest.mark.parametrize("encoding", ["indicator", "posterior"])
def test_cross_fitting_takes_a_target_that_may_be_skipped(skipping, encoding):
    gaps = []
    for learner in ("lightgbm", "lightgbm-thresholds"):
        recipe = Recipe.of(FEW, learner=learner, encoding=encoding)
        made = cross_fit(
            skipping[0], recipe, FitOptions(1), folds=2, protected_input="each-value"
        ).predicted
        assert made.shape == (8000, 3)
        gaps.append(made[:, 1].mean() - made[:, 0].mean())
    assert abs(gaps[1]) < 0.6 * gaps[0]


@pytest.mark.parametrize("kind", [ReweighingClassifier, ThresholdClassifier])
def test_classifiers_count_the_rows_that_report_no_label(skipping, kind):
    records, _ = skipping
    encoder = RecordEncoder(records.published).fit(records.rows)
    label, answered = encoder.labels(records.rows)
    rows, y = encoder.transform(records.rows), np.where(answered, label, SKIPPED)
    made = kind.for_survey(encoder, LogisticRegression())
    assert made.skipped == SKIPPED
    made.fit(rows, y, sample_weight=np.ones(y.size))
    assert made.classes_.tolist() == [0, 1]
    if kind is ReweighingClassifier:
        assert made.weights_.weight.size == answered.sum()
        evidence = GroupEvidence(
            records.indicators("gender"), made.oracle, made.groups, made.label_p, made.label_q, True
        )
        assert made.reweighing_.joint == pytest.approx(Reweighing.of(evidence, y).joint)
