"""Cross-fitting and external models: no prediction knows its own record's label or group."""

import numpy as np
import pytest

from dealt_folds import deal
from hushpoll_analysis import Records
from hushpoll_analysis.auditing.audit import audit
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.audits import predictions
from hushpoll_training.audits.dealing import in_order, order_of
from hushpoll_training.audits.predictions import AuditInputs, cross_fit, external_predictions
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import fit_clear, fit_records
from hushpoll_training.models.recipe import Recipe

FEW = {"n_estimators": 12, "num_leaves": 7}
INPUTS = ("dropped", "each-value")


@pytest.fixture(scope="module")
def collected(survey, people, perturbed):
    published = survey(epsilon="4")
    codes = people(1500, 3)
    return published, codes, perturbed(published, codes)


def scrambled(published, records, rows, name, seed=1):
    """Records whose part of one attribute is dealt out anew among some rows."""
    field = published.layout.field(name)
    changed = records.copy()
    order = np.random.default_rng(seed).permutation(rows)
    changed[rows, field.offset : field.end] = records[order, field.offset : field.end]
    assert (changed != records).any()
    return changed


@pytest.mark.parametrize("protected_input", INPUTS)
@pytest.mark.parametrize("name", ["income", "gender"])
def test_a_folds_predictions_do_not_know_its_labels_nor_its_groups(
    collected, name, protected_input, monkeypatch
):
    published, _, records = collected
    # the folds of the records as they were, which would be dealt anew where a record changes
    order = order_of(Records(published, records), 4)
    monkeypatch.setattr(predictions, "order_of", lambda records, seed: order)
    fold = np.empty(len(records), np.int64)
    fold[order] = np.arange(len(records)) % 3
    recipe, options = Recipe.of(FEW), {"folds": 3, "protected_input": protected_input}
    before = cross_fit(Records(published, records), recipe, FitOptions(4), **options)
    changed = scrambled(published, records, np.flatnonzero(fold == 1), name)
    after = cross_fit(Records(published, changed), recipe, FitOptions(4), **options)
    assert (after.predicted[fold == 1] == before.predicted[fold == 1]).all()
    if name == "income" or protected_input == "each-value":
        # the other folds' models were fitted to what has changed
        assert (after.predicted[fold != 1] != before.predicted[fold != 1]).any()
    else:
        assert (after.predicted == before.predicted).all()


def test_each_folds_model_is_the_one_that_fit_records_fits_to_the_others(collected):
    published, _, records = collected
    records = in_order(Records(published, records), 9).rows
    fold = deal(Records(published, records), 4, 9)
    found = cross_fit(
        Records(published, records),
        Recipe.of(FEW),
        FitOptions(9),
        folds=4,
        protected_input="each-value",
    )
    for number in range(4):
        model = fit_records(
            Records(published, records[fold != number]), Recipe.of(FEW), FitOptions(9)
        )
        alone = external_predictions(
            model, Records(published, records[fold == number]), protected_input="each-value"
        )
        assert (found.predicted[fold == number] == alone.predicted).all()
    assert found.predicted.shape == (1500, 3)
    assert found.predicted[:, 0].mean() < found.predicted[:, 1].mean()
    assert not found.predicted[:, 2].any()  # "No answer" is in neither group
    assert found.inputs == ("gender", "age", "job")
    assert (found.origin, alone.origin) == ("cross-fitted", "external")


def test_each_value_stands_in_clear_where_the_record_was(survey, people, perturbed):
    published = survey(epsilon="4", protocol="OUE", target={"protocol": "GRR"})
    codes = people(800, 3)
    records = Records(published, perturbed(published, codes))
    inputs = AuditInputs.of(published, "each-value")
    rows = inputs.features.from_records(records).toarray()
    at = inputs._substitution(inputs.features.from_records(records))
    for value in (0, 1):
        table = at(value).toarray()
        assert (table[:, :3] == np.eye(3)[value]).all()
        assert (table[:, 3:] == rows[:, 3:]).all()
    assert inputs.values == (1, 0)


def test_dropped_means_that_no_column_tells_the_group(collected):
    published, _, _ = collected
    inputs = AuditInputs.of(published, "dropped")
    assert inputs.features.attributes == ("age", "job")
    assert len(inputs.features.names) == 9
    assert not any(name.startswith("gender") for name in inputs.features.names)


@pytest.mark.parametrize("protected_input", INPUTS)
def test_an_audit_finds_what_the_true_groups_and_labels_say(
    survey, people, perturbed, protected_input
):
    published = survey(epsilon="9")
    codes = people(12_000, 5)
    records = perturbed(published, codes)
    made = cross_fit(
        Records(published, records), Recipe.of(FEW), FitOptions(1), protected_input=protected_input
    )
    found = audit(Records(published, records), made)
    gender, income = codes["gender"], codes["income"]
    guess = made.predicted
    if guess.ndim == 2:
        guess = guess[np.arange(len(gender)), gender]
    rate = [guess[gender == group].mean() for group in (0, 1)]
    recall = [guess[(gender == group) & (income == 1)].mean() for group in (0, 1)]
    expected = {
        "DI": rate[0] / rate[1],
        "SPD": rate[1] - rate[0],
        "EOD": recall[1] - recall[0],
        "OAD": np.subtract(*[(guess == income)[gender == group].mean() for group in (1, 0)]),
    }
    for name, value in expected.items():
        metric = found.metrics[name]
        assert isinstance(metric, Interval)
        assert abs(metric.value - value) < 4 * metric.standard_error, name
    assert found.setting.startswith("as deployed on LDP records")


def test_a_perturbed_target_is_learned_from_reports_and_audited_against_the_truth(
    survey, people, perturbed
):
    published = survey(epsilon="9", target={"protocol": "GRR", "missing": "none"})
    codes = people(12_000, 6)
    codes["income"] = np.where(np.arange(12_000) % 7 == 0, 2, codes["income"])
    records = perturbed(published, codes)
    made = cross_fit(Records(published, records), Recipe.of(FEW), FitOptions(1))
    found = audit(Records(published, records), made)
    answered = codes["income"] != 2
    recall = [
        made.predicted[answered & (codes["gender"] == group) & (codes["income"] == 1)].mean()
        for group in (0, 1)
    ]
    eod = found.metrics["EOD"]
    assert abs(eod.value - (recall[1] - recall[0])) < 4 * eod.standard_error


def test_progress_counts_the_rounds_of_all_folds(collected):
    published, _, records = collected
    told = []
    cross_fit(
        Records(published, records[:300]),
        Recipe.of(FEW),
        FitOptions(1, on_progress=lambda done, total: told.append((done, total))),
        folds=2,
    )
    assert told == [(done, 24) for done in range(1, 25)]


def test_an_external_model_may_come_from_another_version_of_the_survey(collected, survey, people):
    published, _, records = collected
    other = survey(version=2, epsilon="1", protocol="OUE")
    model = fit_clear(other, people(900, 8), LightGBM(FEW), FitOptions(2))
    each = external_predictions(model, Records(published, records), protected_input="each-value")
    rows = model.features.from_codes(
        {"gender": np.zeros(1500, int), "age": np.zeros(1500, int), "job": np.zeros(1500, int)}
    )
    assert rows.shape[1] == 12
    assert set(np.unique(each.predicted)) == {0, 1}
    with pytest.raises(InvalidParameter, match="each-value") as caught:
        external_predictions(model, Records(published, records))
    assert caught.value.field == "protected_input"


@pytest.mark.parametrize(
    ("changes", "word"),
    [
        ({"target": {"categories": ["high", "low"], "positive": "low"}}, "positive high"),
        ({"attributes": 1}, "age with 5 categories"),
    ],
)
def test_a_model_of_other_questions_is_refused(collected, survey, draft, people, changes, word):
    published, _, records = collected
    if "attributes" in changes:
        attributes = draft()["attributes"]
        attributes[1] = attributes[1] | {"range": [1, 5]}
        changes = {"attributes": attributes}
    other = survey(**changes)
    codes = people(600, 8)
    codes["age"] %= 5
    model = fit_clear(other, codes, LightGBM(FEW), FitOptions(2))
    with pytest.raises(InvalidParameter, match=word) as caught:
        external_predictions(model, Records(published, records), protected_input="each-value")
    assert caught.value.field == "model"


def test_what_cannot_be_cross_fitted_is_refused(survey, people, perturbed, draft, collected):
    published, _, records = collected
    with pytest.raises(InvalidParameter, match="dropped, each-value"):
        cross_fit(
            Records(published, records), Recipe.of(FEW), FitOptions(1), protected_input="record"
        )
    unlearnable = survey(target={"protocol": "OUE"})
    codes = people(200)
    with pytest.raises(InvalidParameter, match="no label to learn from"):
        cross_fit(
            Records(unlearnable, perturbed(unlearnable, codes)), Recipe.of(FEW), FitOptions(1)
        )
    few = survey(attributes=[draft()["attributes"][0], draft()["attributes"][3]])
    lone = {"gender": codes["gender"], "income": codes["income"]}
    with pytest.raises(InvalidParameter, match="no attribute to predict from"):
        cross_fit(Records(few, perturbed(few, lone)), Recipe.of(FEW), FitOptions(1))
