"""Folds of records: the same for every order of them, and random even where records are equal."""

import numpy as np
import pytest

from dealt_folds import deal
from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training import FitOptions, Recipe, fairness_of_records
from hushpoll_training.audits.dealing import in_order
from hushpoll_training.audits.records_accuracy import accuracy_of_records
from hushpoll_training.tuning.folds import RecordsProblem

FEW = {"n_estimators": 6, "num_leaves": 7}


@pytest.fixture(scope="module")
def published(survey):
    return survey(epsilon="4")


@pytest.fixture(scope="module")
def rows(published, people, perturbed):
    """Records of whose kinds there are 324 at most, so that many are equal."""
    return perturbed(published, people(1003, 3))


@pytest.fixture(scope="module")
def exports(published, rows):
    """The same records in two orders."""
    shuffled = np.random.default_rng(1).permutation(rows)
    assert (shuffled != rows).any()
    return Records(published, rows), Records(published, shuffled)


def sides(records, fold):
    """The records of each fold, sorted."""
    return [sorted(row.tobytes() for row in records.rows[fold == one]) for one in np.unique(fold)]


def test_folds_part_the_records_evenly_at_random_and_repeatably(exports):
    records, _ = exports
    fold = deal(records, 5, 7)
    assert sorted(np.bincount(fold)) == [200, 200, 201, 201, 201]
    assert (fold == deal(records, 5, 7)).all()
    assert (fold != deal(records, 5, 8)).any()
    assert (np.diff(fold) != 0).mean() == pytest.approx(0.8, abs=0.06)


def test_two_exports_have_the_same_records_in_each_fold_and_in_the_same_order(exports):
    first, second = exports
    assert sides(first, deal(first, 5, 7)) == sides(second, deal(second, 5, 7))
    assert (in_order(first, 7).rows == in_order(second, 7).rows).all()
    assert (in_order(first, 7).rows != in_order(first, 8).rows).any()


@pytest.mark.parametrize("folds", [-1, 0, 1, 11])
def test_folds_out_of_bounds_are_refused(published, rows, folds):
    with pytest.raises(InvalidParameter, match=r"\[2, 10\]") as caught:
        deal(Records(published, rows[:10]), folds, 0)
    assert caught.value.field == "folds"


def test_equal_records_are_dealt_like_different_ones(published, rows):
    """Of 2 equal records among 60, both are in one of 3 folds with the chance 19/59."""
    few = Records(published, np.concatenate([np.unique(rows, axis=0)[:59], rows[:0]]))
    twice = Records(published, np.concatenate([few.rows, few.rows[:1]]))
    together = [len(set(deal(twice, 3, seed)[[0, 59]])) == 1 for seed in range(1500)]
    assert np.mean(together) == pytest.approx(19 / 59, abs=5 * (0.22 / 1500) ** 0.5)


def test_a_label_is_as_frequent_in_the_other_folds_whichever_a_row_has(published, rows):
    """Of equal features, a row's own label must not show in the labels that its model sees."""
    kinds = np.unique(rows, axis=0)
    one, other = kinds[0], kinds[-1]
    left = {0: [], 1: []}
    for seed in range(800):
        # 7 others of either kind; the row itself is of the first kind, or of the second
        for own in (0, 1):
            table = np.concatenate([[one, other][own][None], np.repeat([one, other], 7, axis=0)])
            fold = deal(Records(published, table), 3, seed)
            others = (fold != fold[0]) & (np.arange(15) > 0)
            left[own].append((table[others] == one).all(axis=1).sum() - 7 * others.sum() / 14)
    apart = np.mean(left[0]) - np.mean(left[1])
    # some 0.6 if equal records were dealt in turn
    assert abs(apart) < 5 * (np.var(left[0]) / 800 + np.var(left[1]) / 800) ** 0.5 < 0.35


def test_two_exports_give_the_same_figures_to_the_last_bit(exports):
    recipe, options = Recipe.of(FEW), FitOptions(1)
    found = [fairness_of_records(each, recipe, options, folds=2).to_dict() for each in exports]
    assert found[0] == found[1]
    found = [accuracy_of_records(each, recipe, options, folds=2).to_dict() for each in exports]
    assert found[0] == found[1]
    problems = [RecordsProblem.of(each, recipe.encoding, folds=2, seed=1) for each in exports]
    assert list(problems[0].scores(recipe)) == list(problems[1].scores(recipe))
