"""Rates through the inverse channel, and the most accurate thresholds within a tolerance."""

import json

import numpy as np
import pytest
from fairlearn.postprocessing import ThresholdOptimizer
from sklearn.base import BaseEstimator, ClassifierMixin

from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training.learners.evidence import GroupEvidence
from hushpoll_training.mitigation.rates import estimate_rates
from hushpoll_training.mitigation.report_law import ReportLaw
from hushpoll_training.mitigation.thresholds import (
    CRITERIA,
    Disparity,
    ThresholdRule,
    disparities,
    rule_file,
    threshold_rule,
)


class Given(ClassifierMixin, BaseEstimator):
    """A fitted classifier whose only feature is its score."""

    def fit(self):
        self.classes_ = np.array([0, 1])
        return self

    def predict(self, X):
        return np.asarray(X)[:, 0]


TWO = ((0,), (1,))
PEOPLE = 20_000


@pytest.fixture(scope="module")
def people():
    """Group, label and a score that is better for group 1, and higher."""
    rng = np.random.default_rng(1)
    group = (rng.random(PEOPLE) < 0.6).astype(np.int64)
    label = (rng.random(PEOPLE) < 0.3 + 0.3 * group).astype(np.int64)
    noise = rng.normal(size=PEOPLE) * (1.2 - 0.4 * group)
    score = 1 / (1 + np.exp(-(2 * label - 1 + 0.5 * group + noise)))
    return group, label, score


@pytest.fixture(scope="module")
def clear(people):
    return GroupEvidence(np.eye(2, dtype=np.uint8)[people[0]], None, TWO)


def each(score, groups=TWO):
    return [dict.fromkeys(codes, score) for codes in groups]


def measured(group, label, chance):
    """Return the true rates of either group: positive, true positive, false positive."""
    return np.array(
        [
            [chance[(group == a) & kept].mean() for kept in (label >= 0, label == 1, label == 0)]
            for a in (0, 1)
        ]
    )


def accuracy(label, chance):
    return np.where(label == 1, chance, 1 - chance).mean()


def test_rates_in_clear_are_shares_above_each_threshold(people, clear):
    group, label, score = people
    rates = estimate_rates(clear, label, each(score), grid=7, always=0.5)
    assert rates.thresholds.size == 10
    assert 0.5 in rates.thresholds
    for a in (0, 1):
        for y in (0, 1):
            own = score[(group == a) & (label == y)]
            assert rates.cells[a, y] == pytest.approx(own.size / PEOPLE)
            shares = [(own > threshold).mean() for threshold in rates.thresholds]
            assert rates.above[a, y] == pytest.approx(shares)


@pytest.mark.parametrize("name", ["GRR", "OUE", "OLH", "THE"])
def test_rates_through_the_channel_are_near_those_in_clear(people, clear, name):
    group, label, score = people
    oracle = create(name, k=2, epsilon="2")
    records = indicators(oracle, perturb(oracle, group, np.random.default_rng(2)))
    found = estimate_rates(
        GroupEvidence(records, oracle, TWO), label, each(score), grid=7, always=0.5
    )
    exact = estimate_rates(clear, label, each(score), grid=7, always=0.5)
    assert found.above == pytest.approx(exact.above, abs=0.06)
    assert found.cells == pytest.approx(exact.cells, abs=0.03)
    assert (np.diff(found.above, axis=2) <= 1e-12).all()


def test_scores_at_each_value_count_with_the_weight_of_that_value(people, clear):
    group, label, score = people
    moved = [{0: score}, {1: np.minimum(score + 0.3, 1)}]
    rates = estimate_rates(clear, label, moved, grid=5, always=0.5)
    at = np.flatnonzero(rates.thresholds == 0.5)[0]
    assert rates.positive[0, at] == pytest.approx((score[group == 0] > 0.5).mean())
    assert rates.positive[1, at] == pytest.approx((score[group == 1] > 0.2).mean())


@pytest.mark.parametrize("criterion", CRITERIA)
def test_rates_are_alike_and_the_tolerance_buys_accuracy(people, clear, criterion):
    group, label, score = people
    rates = estimate_rates(clear, label, each(score), grid=40, always=0.5)
    compared = {"demographic-parity": [0], "equal-opportunity": [1], "equalized-odds": [1, 2]}
    reached = []
    for tolerance in (0.0, 0.1, 1.0):
        rule = threshold_rule(rates, criterion, tolerance)
        chance = rule.chance(score, group)
        gap = np.abs(np.diff(measured(group, label, chance), axis=0))[0, compared[criterion]]
        assert (gap <= tolerance + 1e-9).all()
        reached.append(accuracy(label, chance))
    assert reached == sorted(reached)
    assert reached[2] >= accuracy(label, (score > 0.5).astype(float)) - 1e-12


@pytest.mark.parametrize(
    ("criterion", "theirs"),
    [
        ("demographic-parity", "demographic_parity"),
        ("equal-opportunity", "true_positive_rate_parity"),
        ("equalized-odds", "equalized_odds"),
    ],
)
def test_accuracy_in_clear_is_that_of_fairlearn_s_optimiser(people, clear, criterion, theirs):
    group, label, score = people
    rates = estimate_rates(clear, label, each(score), grid=400, always=0.5)
    ours = accuracy(label, threshold_rule(rates, criterion, 0.0).chance(score, group))
    optimiser = ThresholdOptimizer(
        estimator=Given().fit(), constraints=theirs, prefit=True, predict_method="predict"
    )
    optimiser.fit(score[:, None], label, sensitive_features=group)
    drawn = [
        (optimiser.predict(score[:, None], sensitive_features=group, random_state=seed) == label)
        for seed in range(8)
    ]
    assert ours == pytest.approx(np.mean(drawn), abs=0.004)


def test_balanced_accuracy_keeps_a_rule_that_accuracy_would_make_constant(people):
    group, _, score = people
    rng = np.random.default_rng(4)
    label = (rng.random(PEOPLE) < 0.08 * score).astype(np.int64)
    evidence = GroupEvidence(np.eye(2, dtype=np.uint8)[group], None, TWO)
    rates = estimate_rates(evidence, label, each(score), grid=20, always=0.5)
    constant = threshold_rule(rates, "equalized-odds", 0.0)
    assert constant.chance(score, group).max() == 0
    kept = threshold_rule(rates, "equalized-odds", 0.0, objective="balanced-accuracy")
    chance = kept.chance(score, group)
    assert chance[label == 1].mean() - chance[label == 0].mean() > 0.1


@pytest.mark.parametrize("name", ["GRR", "OUE"])
def test_rule_of_reports_makes_the_rates_of_true_groups_alike(people, clear, name):
    group, label, score = people
    oracle = create(name, k=2, epsilon="2")
    records = indicators(oracle, perturb(oracle, group, np.random.default_rng(3)))
    law = ReportLaw(oracle, TWO, 2)
    rates = estimate_rates(clear, label, each(score), grid=20, always=0.5)
    rule = threshold_rule(rates, "demographic-parity", 0.0, chances=law.chances)
    chance = rule.chance(score, law.classes(records))
    gap = np.diff(measured(group, label, chance), axis=0)[0, 0]
    before = np.diff(measured(group, label, (score > 0.5).astype(float)), axis=0)[0, 0]
    assert before > 0.2
    assert abs(gap) < 0.02
    own = threshold_rule(rates, "demographic-parity", 0.0)
    assert accuracy(label, chance) <= accuracy(label, own.chance(score, group)) + 0.01


def test_errors_of_disparities_are_those_of_repeated_surveys(people):
    group, label, score = people
    oracle = create("GRR", k=2, epsilon="1")
    rule = ThresholdRule(np.array([0.5]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    rng = np.random.default_rng(8)
    values, errors = [], []
    for _ in range(150):
        chosen = rng.integers(0, PEOPLE, 4000)
        records = indicators(oracle, perturb(oracle, group[chosen], rng))
        evidence = GroupEvidence(records, oracle, TWO)
        found = disparities(evidence, label[chosen], each(score[chosen]), rule)
        values.append([one.value for one in found])
        errors.append([one.standard_error for one in found])
    assert [one.rate for one in found] == ["positive", "true positive", "false positive"]
    spread = np.std(values, axis=0)
    assert np.mean(errors, axis=0) == pytest.approx(spread, rel=0.2)
    true = np.diff(measured(group, label, (score > 0.5).astype(float)), axis=0)[0]
    assert np.abs(np.mean(values, axis=0) - true) == pytest.approx(0, abs=4 * spread.max() / 12)


@pytest.mark.parametrize("size", [5, 10, 20])
def test_intervals_of_disparities_hold_the_truth_for_a_few_people(size):
    rule = ThresholdRule(np.array([0.5]), np.array([[0.0, 1.0], [0.0, 1.0]]))
    rng = np.random.default_rng(10)
    group = (np.arange(200) >= size).astype(np.int64)
    evidence = GroupEvidence(np.eye(2, dtype=np.uint8)[group], None, TWO)
    label = np.arange(200) % 2
    held = np.zeros(3)
    for _ in range(100):
        score = (rng.random(200) < np.where(group, 0.5, 0.1)).astype(np.float64)
        found = disparities(evidence, label, each(score), rule)
        held += [one.lower <= 0.4 <= one.upper for one in found]
    assert (held >= 93).all()
    # of 2 people with a label, records do not tell that there are any
    assert [np.isfinite(one.upper) for one in found] == [True, size > 5, size > 5]


def test_disparities_of_three_groups_are_those_of_each_two(people):
    _, label, score = (part[:600] for part in people)
    group = np.arange(600) % 3
    records = np.eye(3, dtype=np.uint8)[group]
    rule = ThresholdRule(np.array([0.5]), np.array([[0.1, 0.9], [0.0, 1.0], [0.3, 0.7]]))
    groups = ((0,), (1,), (2,))
    every = disparities(GroupEvidence(records, None, groups), label, each(score, groups), rule)
    assert [one.groups for one in every[:3]] == [(0, 1), (0, 2), (1, 2)]
    two = GroupEvidence(records, None, (groups[0], groups[2]))
    pair = ThresholdRule(rule.thresholds, rule.chances[[0, 2]])
    alone = disparities(two, label, each(score, two.groups), pair)
    for mine, theirs in zip(every[1::3], alone, strict=True):
        assert mine.rate == theirs.rate
        for name in ("value", "standard_error", "lower", "upper"):
            assert getattr(mine, name) == pytest.approx(getattr(theirs, name))


def test_disparity_is_read_as_it_was_saved():
    bounded = Disparity("positive", (0, 1), 0.25, 0.1, -0.1, 0.5)
    assert Disparity.from_json(json.loads(json.dumps(bounded.to_json()))) == bounded
    unbounded = Disparity("positive", (0, 1), 0.25, np.nan, -np.inf, np.inf)
    saved = json.dumps(unbounded.to_json(), allow_nan=False)
    assert json.loads(saved)["lower"] is None
    again = Disparity.from_json(json.loads(saved))
    assert again.to_json() == unbounded.to_json()
    assert (again.lower, again.upper) == (-np.inf, np.inf)


def test_three_groups_are_all_alike():
    rng = np.random.default_rng(9)
    group = rng.integers(0, 3, 6000)
    score = np.clip(0.2 * group + rng.random(6000) * 0.6, 0, 1)
    label = (rng.random(6000) < score).astype(np.int64)
    groups = ((0,), (1,), (2,))
    evidence = GroupEvidence(np.eye(3, dtype=np.uint8)[group], None, groups)
    rates = estimate_rates(evidence, label, each(score, groups), grid=30, always=0.5)
    chance = threshold_rule(rates, "demographic-parity", 0.05).chance(score, group)
    assert np.ptp([chance[group == a].mean() for a in range(3)]) <= 0.05 + 1e-9


def test_rule_is_read_as_it_was_saved():
    rule = ThresholdRule(np.array([0.25, 0.5]), np.array([[0.0, 0.5, 1.0], [0.1, 0.1, 0.9]]))
    again = ThresholdRule.from_json(json.loads(rule_file(rule, key="00")))
    score = np.array([0.1, 0.25, 0.3, 0.9])
    kinds = np.array([0, 1, 0, 1])
    assert again.chance(score, kinds).tolist() == [0.0, 0.1, 0.5, 0.9]


@pytest.mark.parametrize(
    "change",
    [
        {"thresholds": [0.5, 0.25]},
        {"thresholds": [0.5]},
        {"chances": [[0, 1.5, 1]]},
        {"chances": [[0, 0.5, 0.2]]},
        {"chances": [0, 0.5, 1]},
    ],
)
def test_rules_that_do_not_fit_are_refused(change):
    saved = {"thresholds": [0.25, 0.5], "chances": [[0, 0.5, 1]]}
    assert ThresholdRule.from_json(saved)
    with pytest.raises(ValueError, match="must rise"):
        ThresholdRule.from_json(saved | change)


def test_bad_criteria_and_groups_without_a_label_are_refused(people, clear):
    _, label, score = people
    rates = estimate_rates(clear, label, each(score), grid=3, always=0.5)
    for given, field in (
        (("parity", 0.0, {}), "criterion"),
        (("equalized-odds", 1.5, {}), "tolerance"),
        (("equalized-odds", 0.5, {"objective": "f1"}), "objective"),
    ):
        criterion, tolerance, more = given
        with pytest.raises(InvalidParameter) as caught:
            threshold_rule(rates, criterion, tolerance, **more)
        assert caught.value.field == field
    with pytest.raises(InvalidParameter, match=r"share of group and label \(0, 1\) at 0"):
        estimate_rates(clear, label * people[0], each(score), grid=3, always=0.5)
