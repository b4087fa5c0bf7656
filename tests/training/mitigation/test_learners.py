"""Learners that mitigate, fitted to records whose groups nobody knows in clear."""

import json
import pickle

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training import (
    FitOptions,
    Recipe,
    cross_fit,
    evaluate,
    fit_clear,
    fit_records,
    load_model,
    save_model,
)
from hushpoll_training.learner_registry import LEARNERS, create_learner
from hushpoll_training.learners.learner import UnsoundModel
from hushpoll_training.reports.card import MITIGATED, limits, model_card
from hushpoll_training.reports.protection import protections
from hushpoll_training.runs.record import run_record
from hushpoll_training.runs.training_run import train_collected

FEW = {"n_estimators": 30, "num_leaves": 15}
SEED_OF_NOISE = 1  # whose records estimate the share of a group below 0
NAMES = ("lightgbm-reweighed", "lightgbm-thresholds")


@pytest.fixture(scope="module")
def collected(survey, people, perturbed):
    published = survey(epsilon="6", protocol="OUE", target={"protocol": None})
    return Records(published, perturbed(published, people(8000)))


@pytest.fixture(scope="module")
def tested(people):
    return people(8000, seed=3)


def fitted(records, learner="lightgbm", **parameters):
    return fit_records(records, Recipe.of(FEW | parameters, learner=learner), FitOptions(1))


def metric(model, codes, name):
    return evaluate(model, codes).metrics[name].number()


@pytest.mark.parametrize(
    ("learner", "parameters", "name", "left"),
    [
        ("lightgbm-reweighed", {}, "SPD", 0.6),
        ("lightgbm-thresholds", {}, "SPD", 0.4),
        ("lightgbm-thresholds", {"criterion": "equal-opportunity"}, "EOD", 0.4),
    ],
)
def test_disparity_is_smaller_on_people_in_clear(
    collected, tested, learner, parameters, name, left
):
    before = metric(fitted(collected), tested, name)
    model = fitted(collected, learner, **parameters)
    assert before > 0.1
    assert abs(metric(model, tested, name)) < left * before
    assert metric(model, tested, "accuracy") > metric(fitted(collected), tested, "accuracy") - 0.1


def test_reweighing_by_posterior_does_less(collected, tested):
    gaps = [
        metric(fitted(collected, NAMES[0], assignment=word, protected_input="used"), tested, "SPD")
        for word in ("inverse", "posterior")
    ]
    assert gaps[0] < gaps[1] < metric(fitted(collected), tested, "SPD")


def test_reweighed_model_does_not_read_the_protected_attribute(collected, tested):
    changed = tested | {"gender": 1 - np.minimum(tested["gender"], 1)}
    dropped, used = (
        fitted(collected, "lightgbm-reweighed", protected_input=word)
        for word in ("dropped", "used")
    )
    assert (dropped.scores(tested) == dropped.scores(changed)).all()
    assert (used.scores(tested) != used.scores(changed)).any()


@pytest.mark.parametrize("name", NAMES)
def test_model_is_read_as_it_was_saved_and_pickled(collected, tested, tmp_path, name):
    model = fitted(collected, name)
    save_model(model, tmp_path / "model", {})
    loaded = load_model(tmp_path / "model")
    assert (loaded.scores(tested) == model.scores(tested)).all()
    assert loaded.fitted.save() == model.fitted.save()
    learner = pickle.loads(pickle.dumps(model.fitted.learner))
    assert (type(learner), learner.parameters) == (LEARNERS[name], model.fitted.learner.parameters)


@pytest.mark.parametrize(
    ("name", "file", "change"),
    [
        (NAMES[0], "reweighing.json", {"protected": [0, 99]}),
        (NAMES[0], "reweighing.json", {"protected": 3}),
        (NAMES[1], "thresholds.json", {"protected": [3, 3]}),
        (NAMES[1], "thresholds.json", {"groups": [[0], [0]]}),
        (NAMES[1], "thresholds.json", {"groups": [[0], [1], [2]]}),
        (NAMES[1], "thresholds.json", {"chances": [[0, 2]]}),
        (NAMES[1], "thresholds.json", {"key": "00"}),
        (NAMES[1], "thresholds.json", {"cut": 1.0}),
        (NAMES[1], "thresholds.json", {"measured": [{"rate": "positive"}]}),
    ],
)
def test_altered_rules_are_refused(collected, name, file, change):
    model = fitted(collected.take(slice(0, 1500)), name, n_estimators=2)
    files, names = model.fitted.save(), model.features.names
    altered = json.dumps(json.loads(files[file]) | change).encode()
    with pytest.raises(UnsoundModel) as caught:
        model.fitted.learner.load(files | {file: altered}, names)
    assert caught.value.file == file


def test_same_row_always_gets_the_same_decision_and_scores_keep_their_order(collected, tested):
    model = fitted(collected, "lightgbm-thresholds", tolerance=0.02)
    scores, own = (
        model.scores(tested),
        model.fitted.fitted.scores(model.features.from_codes(tested)),
    )
    order = np.random.default_rng(1).permutation(scores.size)
    again = model.scores({name: codes[order] for name, codes in tested.items()})
    assert (again == scores[order]).all()
    for positive in (True, False):
        chosen = (scores > 0.5) == positive
        ranks = [np.argsort(part[chosen], kind="stable") for part in (own, scores)]
        assert (ranks[0] == ranks[1]).all()


def test_people_of_no_group_get_the_model_s_own_prediction(collected, tested):
    model = fitted(collected, "lightgbm-thresholds")
    neither = tested | {"gender": np.full(len(tested["gender"]), 2)}
    own = model.fitted.fitted.scores(model.features.from_codes(neither))
    assert ((model.scores(neither) > 0.5) == (own > 0.5)).all()


def test_disparities_of_the_rows_held_out_are_saved_with_their_intervals(collected):
    model = fitted(collected, "lightgbm-thresholds", tolerance=0.05).fitted
    found = model.measured
    assert [one.rate for one in found] == ["positive", "true positive", "false positive"]
    # smoothed rates of the grid are held to the tolerance; what is measured differs by rounding
    assert abs(found[0].value) < 0.08
    assert all(0.005 < one.standard_error < 0.2 for one in found)
    assert all(one.lower < one.value < one.upper for one in found)
    saved = json.loads(model.save()["thresholds.json"])["measured"]
    assert [one["upper"] for one in saved] == [one.upper for one in found]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("answers", [2, 3])
def test_perturbed_targets_are_learned_from(survey, people, perturbed, tested, name, answers):
    more = {"categories": ["low", "high", "other"]} if answers == 3 else {}
    published = survey(epsilon="12", target={"protocol": "GRR", **more})
    records = Records(published, perturbed(published, people(8000)))
    model, plain = fitted(records, name), fitted(records)
    assert model.target.perturbed
    assert metric(model, tested, "accuracy") > 0.65
    assert abs(metric(model, tested, "SPD")) < 0.7 * metric(plain, tested, "SPD")


def test_targets_that_give_no_labels_are_refused(survey, people, perturbed):
    published = survey(target={"protocol": "OUE"})
    records = Records(published, perturbed(published, people(200)))
    with pytest.raises(InvalidParameter, match="give no label to learn from"):
        fitted(records, NAMES[0])


def test_models_of_rows_in_clear_are_mitigated_too(survey, people, tested):
    chosen = (("lightgbm", {}), (NAMES[0], {"protected_input": "used"}), (NAMES[1], {}))
    gaps = [
        metric(
            fit_clear(survey(), people(8000), create_learner(name, FEW | more), FitOptions(1)),
            tested,
            "SPD",
        )
        for name, more in chosen
    ]
    assert abs(gaps[2]) < 0.05
    assert abs(gaps[1]) < 0.6 * gaps[0]
    assert create_learner(NAMES[0], FEW).without_privacy() == create_learner("lightgbm", FEW)


@pytest.mark.parametrize("name", NAMES)
def test_surveys_without_groups_are_refused(survey, people, perturbed, name):
    published = survey(protected=None)
    records = Records(published, perturbed(published, people(300)))
    with pytest.raises(InvalidParameter, match="declares no protected attribute"):
        fitted(records, name)


def test_too_few_records_to_tell_the_groups_are_refused(survey, people, perturbed):
    published = survey(epsilon="0.02")
    records = Records(published, perturbed(published, people(60), seed=SEED_OF_NOISE))
    with pytest.raises(InvalidParameter, match="too few, or their epsilon is too small"):
        fitted(records, NAMES[1])


def test_cross_fitting_takes_reweighing_and_thresholds_at_each_value(collected):
    few = collected.take(slice(0, 3000))
    recipe = Recipe.of(FEW, learner=NAMES[0])
    dropped = cross_fit(few, recipe, FitOptions(1), folds=2)
    plain = cross_fit(few, Recipe.of(FEW), FitOptions(1), folds=2)
    assert (dropped.predicted != plain.predicted).any()
    recipe = Recipe.of(FEW, learner=NAMES[1])
    each = cross_fit(few, recipe, FitOptions(1), folds=2, protected_input="each-value")
    assert each.predicted.shape == (3000, 3)
    with pytest.raises(InvalidParameter, match="does not get the protected attribute"):
        cross_fit(few, recipe, FitOptions(1), folds=2)


def test_record_and_card_say_who_sees_the_group_when_predicting(collected):
    few = collected.take(slice(0, 1500))
    said = {}
    for name in NAMES:
        trained = train_collected(few, Recipe.of(FEW, learner=name), FitOptions(1))
        record = run_record(trained, {})
        assert record["parameters"]["n_estimators"] == 30
        said[name] = [one.what for one in protections(record)]
        assert MITIGATED in model_card(record)["limits"]
        assert MITIGATED not in limits({**record, "learner": "lightgbm"})
    assert "the gender of each person who is predicted" in said[NAMES[1]]
    assert "the gender of each person who is predicted" not in said[NAMES[0]]
