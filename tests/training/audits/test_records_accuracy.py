"""Accuracy from records alone: exact in expectation over the labels' noise, with its interval."""

from __future__ import annotations

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training import FitOptions, Recipe
from hushpoll_training.audits import records_accuracy
from hushpoll_training.audits.records_accuracy import Share, accuracy_of_records, right
from hushpoll_training.data.target import Target
from hushpoll_training.tuning.from_records import RecordsProblem

CLEAR = Target("y", "yes", "no", 0, None)
BINARY = Target("y", "yes", "no", 0, None, p=0.75, q=0.25)
OF_THREE = Target("y", "yes", "not yes", 0, None, p=0.6, q=0.2)


@pytest.mark.parametrize("target", [CLEAR, BINARY, OF_THREE])
@pytest.mark.parametrize("predicted", [True, False])
@pytest.mark.parametrize("truth", [True, False])
def test_mean_over_a_label_s_noise_is_whether_the_prediction_is_right(target, predicted, truth):
    chance = target.p if truth else target.q
    values = right(np.array([predicted] * 2), np.array([1, 0]), target)
    assert values @ [chance, 1 - chance] == pytest.approx(float(predicted == truth))


@pytest.mark.parametrize("target", [CLEAR, BINARY, OF_THREE])
def test_interval_covers_the_accuracy_as_often_as_it_says(target):
    """Of 2,000 intervals of 90 %, 1,760 to 1,840 cover in all but 1 of 300 such tests."""
    rng = np.random.default_rng(7)
    n, accuracy, covered = 400, 0.8, 0
    for _ in range(2000):
        truth = rng.random(n) < 0.3
        predicted = truth ^ (rng.random(n) >= accuracy)
        reported = rng.random(n) < np.where(truth, target.p, target.q)
        values = right(predicted, reported.astype(np.int64), target)
        share = records_accuracy._share(values, target, 0.9)
        assert isinstance(share, Share)
        covered += share.lower <= accuracy <= share.upper
    assert 0.88 <= covered / 2000 <= 0.92


def test_a_perturbed_target_that_may_be_skipped_is_refused(survey, people, perturbed):
    published = survey(epsilon="6", target={"protocol": "GRR", "missing": "skipped"})
    records = Records(published, perturbed(published, people(500)))
    recipe = Recipe.of({"n_estimators": 2})
    with pytest.raises(InvalidParameter, match="an accuracy from records alone would be wrong"):
        accuracy_of_records(records, recipe, FitOptions(1), folds=2)
    search = RecordsProblem.of(records, recipe.encoding, folds=2, seed=1)
    with pytest.raises(InvalidParameter, match="a search on records alone would be wrong"):
        list(search.scores(recipe))
