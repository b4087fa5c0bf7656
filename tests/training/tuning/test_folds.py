"""Scores come from folds of the training rows; nothing of a test row is looked at."""

import numpy as np
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.evaluation.evaluation import evaluate
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_clear, fit_records, take
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import split_rows
from hushpoll_training.tuning.folds import make_problem

PARAMETERS = {"n_estimators": 8, "min_child_samples": 5}


def poisoned(codes, rows):
    """Return the codes with values in some rows that are in no domain."""
    found = {name: values.copy() for name, values in codes.items()}
    for values in found.values():
        values[rows] = 10**9
    return found


@pytest.mark.parametrize("perturbed", [False, True])
def test_test_rows_are_never_read(survey, people, perturbed, monkeypatch):
    published, codes, seed = survey(epsilon="4"), people(600), 3
    train, test = split_rows(published, codes, seed)
    clean = make_problem(published, codes, seed=seed, perturbed=perturbed)
    expected = list(clean.scores(Recipe.of(PARAMETERS)))
    # The split alone sees the target of a test row, to stratify; from there on nothing may.
    monkeypatch.setattr("hushpoll_training.tuning.folds.split_rows", lambda *_: (train, test))
    dirty = make_problem(published, poisoned(codes, test), seed=seed, perturbed=perturbed)
    assert list(dirty.scores(Recipe.of(PARAMETERS))) == expected
    # The poison works: a single training row with it is found out.
    spoilt = poisoned(codes, train[:1])

    def score():
        found = make_problem(published, spoilt, seed=seed, perturbed=perturbed)
        return list(found.scores(Recipe.of(PARAMETERS)))

    with pytest.raises((InvalidParameter, IndexError)):
        score()


def test_the_problem_holds_the_training_rows_alone(survey, people):
    published, codes = survey(), people(500)
    train, _ = split_rows(published, codes, 7, 0.3)
    found = make_problem(published, codes, seed=7, test_size=0.3, folds=4)
    assert {name: values.tolist() for name, values in found.codes.items()} == {
        name: values.tolist() for name, values in take(codes, train).items()
    }
    assert found.records is None
    outside = np.concatenate([fold for _, fold in found.folds])
    assert sorted(outside) == list(range(350))
    for inside, fold in found.folds:
        assert not set(inside) & set(fold)
        share = found.codes["income"][fold].mean()
        assert share == pytest.approx(found.codes["income"].mean(), abs=0.02)


def test_a_score_is_that_of_a_model_fitted_to_the_other_folds(survey, people):
    published, codes = survey(epsilon="2"), people(400)
    for perturbed in (False, True):
        found = make_problem(
            published, codes, seed=1, score="roc_auc", folds=2, perturbed=perturbed
        )
        inside, outside = found.folds[1]
        if perturbed:
            model = fit_records(found.records.take(inside), Recipe.of(PARAMETERS), FitOptions(1))
        else:
            model = fit_clear(
                published, take(found.codes, inside), LightGBM(PARAMETERS), FitOptions(1)
            )
        expected = evaluate(model, take(found.codes, outside)).metrics["roc_auc"].number()
        assert list(found.scores(Recipe.of(PARAMETERS)))[1] == expected


def test_the_randomised_rows_are_one_collection(survey, people):
    published, codes = survey(epsilon="2"), people(300)
    found, again = (make_problem(published, codes, seed=4, perturbed=True) for _ in range(2))
    assert (found.records.rows == again.records.rows).all()
    assert len(found.records) == 240


def test_rows_without_a_target_are_left_out(survey, people):
    published, codes = survey(target={"missing": "?"}), people(400)
    codes["income"][::4] = 2
    found = make_problem(published, codes, seed=0)
    assert set(found.codes["income"]) == {0, 1}
    assert len(found.codes["income"]) == 240


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"score": "DI"}, "score", "score is 'DI'; it must be one of accuracy, f1"),
        ({"folds": 1}, "folds", "folds is 1; it must be at least 2"),
        ({"folds": 300}, "folds", r"the training rows have \d+ of their rarer class"),
        ({"test_size": 1.5}, "test_size", "test size is 1.5"),
    ],
)
def test_bad_arguments_are_named(survey, people, changes, field, message):
    with pytest.raises(InvalidParameter, match=message) as caught:
        make_problem(survey(), people(200), **({"seed": 0} | changes))
    assert caught.value.field == field


def test_a_target_that_gives_no_labels_is_found_before_tuning(survey, people):
    published = survey(target={"protocol": "OLH"})
    with pytest.raises(InvalidParameter, match="collected with OLH"):
        make_problem(published, people(100), seed=0, perturbed=True)
