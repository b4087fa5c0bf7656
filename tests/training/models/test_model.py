"""Fitting to records and to clear rows, and what a model says about rows."""

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM
from hushpoll_training.models.model import count_rows, design, fit_clear, fit_records, take
from hushpoll_training.models.recipe import Recipe

PARAMETERS = {"n_estimators": 15, "min_child_samples": 30}


def test_records_that_keep_the_truth_train_the_model_of_their_rows(survey, people, perturbed):
    published, codes = survey(epsilon="64"), people(4000)
    ours = fit_records(
        Records(published, perturbed(published, codes)), Recipe.of(PARAMETERS), FitOptions(3)
    )
    theirs = fit_clear(published, codes, LightGBM(PARAMETERS), FitOptions(3))
    assert ours.fitted.booster.model_to_string() == theirs.fitted.booster.model_to_string()
    other = people(1000, seed=9)
    assert np.unique(ours.scores(other)).size > 20
    assert ours.scores(other).tolist() == theirs.scores(other).tolist()
    assert ours.rows == theirs.rows == 4000


def test_noise_changes_the_model(survey, people, perturbed):
    published, codes = survey(epsilon="1"), people(4000)
    ours = fit_records(
        Records(published, perturbed(published, codes)), Recipe.of(PARAMETERS), FitOptions(3)
    )
    theirs = fit_clear(published, codes, LightGBM(PARAMETERS), FitOptions(3))
    assert ours.fitted.booster.model_to_string() != theirs.fitted.booster.model_to_string()


def test_rows_without_a_target_are_left_out(survey, people, perturbed):
    published = survey(epsilon="64", target={"missing": "?"})
    codes = people(3000)
    silent = np.arange(3000) % 3 == 0
    hidden = codes | {"income": np.where(silent, 2, codes["income"])}
    known = take(codes, ~silent)
    for found in (
        fit_records(
            Records(published, perturbed(published, hidden)), Recipe.of(PARAMETERS), FitOptions(3)
        ),
        fit_clear(published, hidden, LightGBM(PARAMETERS), FitOptions(3)),
    ):
        expected = fit_clear(published, known, LightGBM(PARAMETERS), FitOptions(3))
        assert found.rows == 2000
        assert found.fitted.booster.model_to_string() == expected.fitted.booster.model_to_string()


def test_a_row_is_predicted_positive_above_one_half(survey, people):
    model = fit_clear(survey(), people(3000), LightGBM(PARAMETERS), FitOptions(3))
    other = people(500, seed=9)
    predicted = model.predict(other)
    assert predicted.tolist() == [int(score > 0.5) for score in model.scores(other)]
    assert 0 < predicted.sum() < 500


def test_malformed_and_foreign_records_are_refused(survey, people, perturbed):
    published = survey(epsilon="4")
    records = perturbed(published, people(100))
    for name in ("age", "income"):
        broken = records.copy()
        broken[40, published.layout.field(name).offset] = 250
        with pytest.raises(MalformedRecord) as caught:
            fit_records(Records(published, broken), Recipe.of(PARAMETERS), FitOptions(3))
        assert caught.value.reason == "range"
    with pytest.raises(InvalidParameter, match="records"):
        fit_records(Records(published, records[:, 1:]), Recipe.of(PARAMETERS), FitOptions(3))


def test_columns_of_different_length_are_refused():
    assert count_rows({"a": np.arange(3), "b": np.arange(3)}) == 3
    for codes in ({"a": np.arange(3), "b": np.arange(4)}, {}):
        with pytest.raises(InvalidParameter, match="one code per row and attribute"):
            count_rows(codes)


def test_rows_in_clear_tell_every_attribute_and_records_those_that_were_not_perturbed(
    survey, people, perturbed
):
    published, codes = survey(epsilon="2", protocol="GRR"), people(50)
    clear = one_hot_features(published)
    told = design(clear, clear.from_codes(codes), codes["income"] % 2).attributes
    assert set(told) == set(clear.attributes)
    assert clear.names[told["job"]][0].startswith("job=")
    records = Records(published, perturbed(published, codes))
    table = clear.from_records(records)
    told = design(clear, table, codes["income"] % 2, records=records).attributes
    assert set(told) == set(clear.attributes) - {item.name for item in published.perturbed}
