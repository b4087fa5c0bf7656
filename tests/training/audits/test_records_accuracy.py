"""Accuracy from records alone: exact in expectation over the labels' noise, with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from hushpoll_analysis import Interval, Records
from hushpoll_protocols import create
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_training import FitOptions, Recipe, evaluate, fit_records
from hushpoll_training.audits.records_accuracy import (
    JudgedPredictions,
    RecordsAccuracy,
    accuracy_of_records,
)
from hushpoll_training.data.target import Target, with_missing
from hushpoll_training.tuning.folds import RecordsProblem

CLEAR = Target("y", "yes", "no", 0, None)
BINARY = Target("y", "yes", "no", 0, None, p=0.75, q=0.25)
OF_THREE = Target("y", "yes", "not yes", 0, None, p=0.6, q=0.2)
FEW = {"n_estimators": 20, "num_leaves": 7}


def skippable(answers, epsilon):
    """Return a target of some answers that may be skipped, and its protocol."""
    oracle = create("GRR", k=answers + 1, epsilon=epsilon)
    p, q = (float(part / (oracle.p + (answers - 1) * oracle.q)) for part in (oracle.p, oracle.q))
    return Target("y", "yes", "other", 0, answers, p, q), oracle


def judged(target, predicted, reported):
    return JudgedPredictions(target, predicted, *target.answered_weights(reported))


@pytest.mark.parametrize("target", [CLEAR, BINARY, OF_THREE])
@pytest.mark.parametrize("predicted", [True, False])
@pytest.mark.parametrize("truth", [True, False])
def test_mean_over_a_label_s_noise_is_whether_the_prediction_is_right(target, predicted, truth):
    chance = target.p if truth else target.q
    values = judged(target, np.array([predicted] * 2), np.array([0, 1])).right
    assert values @ [chance, 1 - chance] == pytest.approx(float(predicted == truth))


@pytest.mark.parametrize("answers", [2, 4])
@pytest.mark.parametrize("predicted", [True, False])
def test_mean_over_reports_counts_only_the_people_who_answered(answers, predicted):
    target, oracle = skippable(answers, "1.5")
    law = np.full((answers + 1,) * 2, float(oracle.q))
    np.fill_diagonal(law, float(oracle.p))
    made = judged(target, np.full(answers + 1, predicted), np.arange(answers + 1))
    truths = np.arange(answers)
    assert law @ made.answered == pytest.approx(np.append(np.ones(answers), 0.0))
    right = np.append((truths == 0) == predicted, False)
    assert law @ made.right == pytest.approx(right.astype(float))


@pytest.mark.parametrize("target", [CLEAR, BINARY, OF_THREE])
def test_interval_covers_the_accuracy_as_often_as_it_says(target):
    """Of 2,000 intervals of 90 %, 1,760 to 1,840 cover in all but 1 of 300 such tests."""
    rng = np.random.default_rng(7)
    n, accuracy, covered = 400, 0.8, 0
    for _ in range(2000):
        truth = rng.random(n) < 0.3
        predicted = truth ^ (rng.random(n) >= accuracy)
        reported = rng.random(n) < np.where(truth, target.p, target.q)
        share = judged(target, predicted, (~reported).astype(np.int64)).accuracy(0.9)
        assert isinstance(share, Interval)
        covered += share.lower <= accuracy <= share.upper
    assert 0.88 <= covered / 2000 <= 0.92


@pytest.mark.parametrize("answers", [2, 3])
def test_interval_covers_the_accuracy_among_those_who_answered(answers):
    """One in five skips, and more of those who are predicted right: a naive mean is .06 off."""
    target, oracle = skippable(answers, "2")
    rng = np.random.default_rng([8, answers])
    n, surveys = 800, 600
    values, covered = [], 0
    for _ in range(surveys):
        truth = rng.choice(answers, n, p=[0.4, *[0.6 / (answers - 1)] * (answers - 1)])
        right = rng.random(n) < 0.8
        predicted = (truth == 0) == right
        truth[rng.random(n) < np.where(right, 0.22, 0.12)] = answers
        reported = indicators(oracle, perturb(oracle, truth, rng)).argmax(axis=1)
        share = judged(target, predicted, reported).accuracy(0.9)
        values.append(share.value)
        covered += share.lower <= 0.8 * 0.78 / (0.8 * 0.78 + 0.2 * 0.88) <= share.upper
    assert np.mean(values) == pytest.approx(0.78, abs=5 * np.std(values) / surveys**0.5)
    assert 0.86 <= covered / surveys <= 0.94


def test_accuracy_of_a_target_that_may_be_skipped_is_that_of_who_answered(
    survey, people, perturbed
):
    published = survey(epsilon="12", target={"protocol": "GRR", "missing": "skipped"})
    rng = np.random.default_rng(4)
    codes, tested = people(6000), people(6000, seed=3)
    codes["income"][rng.random(6000) < np.where(codes["income"] == 1, 0.4, 0.1)] = 2
    tested["income"][rng.random(6000) < np.where(tested["income"] == 1, 0.4, 0.1)] = 2
    records = Records(published, perturbed(published, codes))
    recipe = Recipe.of(FEW)
    measured = accuracy_of_records(records, recipe, FitOptions(1), folds=2)
    answered = {name: column[tested["income"] < 2] for name, column in tested.items()}
    model = fit_records(records, recipe, FitOptions(1))
    again = Records(published, perturbed(published, answered, seed=5))
    scores = model.target.correct(model.fitted.scores(model.features.from_records(again)))
    deployed = float(((scores > 0.5) == answered["income"]).mean())
    assert measured.n == 6000
    assert abs(measured.accuracy.value - deployed) < 5 * measured.accuracy.standard_error
    assert measured.accuracy.lower < deployed < measured.accuracy.upper
    share = 1 - answered["income"].mean()
    assert abs(measured.constant.value - share) < 5 * measured.constant.standard_error
    assert evaluate(model, tested).metrics["accuracy"].number() > share
    search = RecordsProblem.of(records, recipe.encoding, folds=2, seed=1)
    assert list(search.scores(recipe)) == pytest.approx([deployed] * 2, abs=0.1)


@pytest.mark.parametrize("target", [CLEAR, OF_THREE, skippable(2, "3")[0]])
def test_gain_over_a_constant_is_covered_and_judged(target):
    rng, n, truth = np.random.default_rng(3), 1500, 0.3
    said, covered = {}, 0
    for better in (True, False):
        for _ in range(150):
            label = rng.random(n) < truth
            predicted = label ^ (rng.random(n) < (0.15 if better else 0.45))
            p, q = with_missing(target.p, target.q) if target.skippable else (target.p, target.q)
            chance = np.where(label, p, q)
            draw = rng.random(n)
            reported = np.where(draw < chance, 0, 1)
            if target.skippable:  # all answered, and some report that they did not
                reported = np.where(draw > 1 - q, 2, reported)
            gain = judged(target, predicted, reported).gain(False, 0.9)
            covered += gain.lower <= ((0.85 if better else 0.55) - 0.7) <= gain.upper
        said[better] = RecordsAccuracy(gain, gain, gain, n, 2, 0.9).verdict
    assert said[True].startswith("better than always")
    assert said[False].startswith("worse than always")
    assert 0.84 <= covered / 300 <= 0.96


def test_a_constant_is_not_shown_to_be_better_than_a_constant():
    made = judged(CLEAR, np.zeros(50, bool), np.repeat([0, 1], [20, 30]))
    gain = made.gain(False, 0.95)
    assert gain.value == 0
    assert -0.08 < gain.lower < 0 < gain.upper < 0.08
    said = RecordsAccuracy(gain, gain, gain, 50, 2, 0.95).to_dict()
    assert said["verdict"] == "not shown to be better than always the more frequent class"
    alone = judged(CLEAR, np.array([True]), np.array([0])).gain(True, 0.95)
    assert (alone.lower, alone.upper) == (-1, 1)


@pytest.mark.parametrize(("n", "found", "wrong"), [(200, 0.01, 0.0), (200, 0.01, 0.005)])
def test_gain_is_covered_where_few_predictions_differ_from_a_constant(n, found, wrong):
    rng, covered, surveys = np.random.default_rng(8), 0, 1000
    for _ in range(surveys):
        kind = rng.choice(3, n, p=[found, wrong, 1 - found - wrong])
        # of the people who are predicted to be positive, those of kind 0 are
        made = judged(CLEAR, kind < 2, np.where(kind == 0, 0, 1))
        gain = made.gain(False, 0.95)
        covered += gain.lower <= found - wrong <= gain.upper
    assert covered / surveys > 0.93


def test_four_people_do_not_show_a_model_to_be_better():
    # by the exact test of equally many the chance of 4 of 4 is 1 in 8
    made = judged(CLEAR, np.arange(200) < 4, np.where(np.arange(200) < 4, 0, 1))
    gain = made.gain(False, 0.95)
    assert gain.value == 0.02
    assert RecordsAccuracy(gain, gain, gain, 200, 2, 0.95).verdict.startswith("not shown")


def test_records_that_do_not_tell_who_answered_give_no_bound():
    target, _ = skippable(2, "0.5")
    few = judged(target, np.array([True, False, True]), np.array([0, 1, 2]))
    share = few.accuracy(0.95)
    assert (share.lower, share.upper) == (0, 1)
    assert share.standard_error > 1
    with pytest.raises(InvalidParameter, match="the share of people who answered y at -"):
        judged(target, np.array([True]), np.array([2])).accuracy(0.95)
