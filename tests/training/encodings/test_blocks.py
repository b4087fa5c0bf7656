"""Features of questions that are randomised together."""

from __future__ import annotations

import numpy as np
import pytest

from hushpoll_analysis import Records, audit
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training import cross_fit, external_predictions, fit_records
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.encodings.registry import ENCODINGS, create_encoding
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe
from sample_survey import make_draft

QUESTIONS = [
    {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
    {"name": "town", "role": "plain", "categories": ["a", "b"]},
    {"name": "age", "role": "sensitive", "range": [1, 3]},
    {"name": "job", "role": "target", "categories": ["no", "yes"], "positive": "yes"},
]
GROUPS = {"attribute": "gender", "privileged": ["Male"], "unprivileged": ["Female"]}
COMBINATIONS = [f"who={age} & {gender}" for age in (1, 2, 3) for gender in ("Female", "Male")]


def survey(protocol="SS", epsilon="2", **changes):
    draft = {"epsilon": epsilon, "protocol": protocol, "attributes": QUESTIONS, "protected": GROUPS,
             "together": [{"name": "who", "attributes": ["age", "gender"]}]} | changes  # fmt: skip
    return Manifest.from_dict(make_draft(**draft)).resolve()


def people(n, seed=1):
    rng = np.random.default_rng(seed)
    gender, age, town = (rng.integers(0, k, n) for k in (2, 3, 2))
    job = (rng.random(n) < 0.1 + 0.35 * town + 0.15 * age).astype(int)
    return {"gender": gender, "age": age, "town": town, "job": job}


def records_of(published, n=300, seed=1):
    codes = people(n, seed)
    return Records(published, encode_many(published, codes, np.random.default_rng(seed)))


def test_a_block_has_a_column_for_each_combination_where_its_first_question_stands():
    published = survey()
    records = records_of(published)
    features = create_encoding("indicator").fit(records)
    assert features.names == (*COMBINATIONS, "town=a", "town=b")
    field = published.layout.field("who")
    table = features.from_records(records).toarray()
    assert table[:, :6].tolist() == records.indicators_of(field).tolist()
    clear = features.from_codes({name: codes[:2] for name, codes in people(2).items()}).toarray()
    codes = people(2)
    for row in (0, 1):
        combination = 2 * codes["age"][row] + codes["gender"][row]
        assert clear[row, :6].tolist() == np.eye(6)[combination].tolist()
    assert features.columns_of("gender") == features.columns_of("age") == slice(0, 6)
    assert features.without("age").names == ("town=a", "town=b")
    unread = create_encoding("indicator")
    assert Features.from_json(features.to_json(), published, unread) == features


def test_columns_of_questions_add_up_those_of_combinations():
    published = survey("OUE")
    records = records_of(published)
    whole = create_encoding("indicator").fit(records).from_records(records).toarray()[:, :6]
    features = create_encoding("question").fit(records)
    assert features.names[:2] == ("gender=Female", "gender=Male")
    found = features.from_records(records).toarray()
    cells = whole.reshape(-1, 3, 2)
    assert (found[:, features.columns_of("gender")] == cells.sum(axis=1)).all()
    assert (found[:, features.columns_of("age")] == cells.sum(axis=2)).all()


@pytest.mark.parametrize("prior", ["shrinkage", "projection", "likelihood"])
@pytest.mark.parametrize("protocol", ["SS", "OUE"])
def test_posteriors_of_questions_are_those_of_the_block(protocol, prior):
    published = survey(protocol)
    records = records_of(published)
    features = create_encoding("posterior", prior=prior).fit(records)
    assert set(features.priors) == {"who"}
    ratio = float(published.block_of("age").oracle.likelihood_ratio)
    supported = records.indicators_of(published.layout.field("who"))
    weight = np.where(supported, ratio, 1.0) * np.array(features.priors["who"])
    chance = (weight / weight.sum(axis=1, keepdims=True)).reshape(-1, 3, 2)
    found = features.from_records(records).toarray()
    assert found[:, features.columns_of("age")] == pytest.approx(chance.sum(axis=2), abs=1e-6)
    assert found[:, features.columns_of("gender")] == pytest.approx(chance.sum(axis=1), abs=1e-6)
    encoding = create_encoding("posterior", prior=prior)
    assert Features.from_json(features.to_json(), published, encoding) == features


def test_models_of_blocks_are_fitted_and_audited_from_records_without_the_group_s_block():
    published = survey(epsilon="4")
    records = records_of(published, 1500)
    options = FitOptions(3)
    predictions = cross_fit(records, Recipe(), options, folds=2)
    assert predictions.inputs == ("town",)
    result = audit(records, predictions, outlook=False)
    assert result.metrics["SPD"].lower <= result.metrics["SPD"].upper
    with pytest.raises(InvalidParameter, match="gender is randomised together with other quest"):
        cross_fit(records, Recipe(), options, folds=2, protected_input="each-value")
    for encoding in ENCODINGS:
        model = fit_records(records, Recipe(encoding=create_encoding(encoding)), options)
        assert np.isin(model.predict(people(50)), (0, 1)).all()
        again = fit_records(records, Recipe(encoding=create_encoding(encoding)), options)
        assert (again.predict(people(50)) == model.predict(people(50))).all()
    model = fit_records(records, Recipe(), options)
    for given, words in (("dropped", "the model takes gender"), ("each-value", "in the block who")):
        with pytest.raises(InvalidParameter, match=words):
            external_predictions(model, records, protected_input=given)


def test_labels_of_a_block_are_learned_from_and_its_other_questions_are_no_features():
    target = {**QUESTIONS[3], "protocol": "GRR"}
    changes = {
        "attributes": [*QUESTIONS[:3], target],
        "together": [{"name": "both", "attributes": ["gender", "job"]}],
    }
    published = survey("GRR", "6", **changes)
    records = records_of(published, 2000)
    with pytest.raises(InvalidParameter, match="gender, a feature of the model, is randomised tog"):
        fit_records(records, Recipe(), FitOptions(3))
    predictions = cross_fit(records, Recipe(), FitOptions(3), folds=2)
    assert set(predictions.inputs) == {"town", "age"}
    codes = people(2000)
    # in a block of four combinations at epsilon 3 or more, most labels are the truth
    assert (predictions.predicted == codes["job"]).mean() > 0.6


def test_a_block_of_a_follow_up_or_of_limits_has_columns_for_what_can_be_answered():
    published = survey(
        attributes=[
            *QUESTIONS,
            {"name": "dose", "role": "sensitive", "range": [1, 2], "ask_if": {"age": ["2", "3"]}},
            {
                "name": "drugs",
                "role": "sensitive",
                "categories": ["a", "b", "c"],
                "select": {"at_most": 1},
            },
        ],
        together=[{"name": "habits", "attributes": ["age", "dose"]}],
    )
    rng = np.random.default_rng(1)
    codes = people(300)
    drugs = rng.integers(0, 4, 300)
    codes["dose"] = np.where(codes["age"] > 0, rng.integers(0, 2, 300), 2)
    codes |= {f"drugs_{place + 1}": (drugs == place).astype(int) for place in range(3)}
    records = Records(published, encode_many(published, codes, rng))
    features = create_encoding("indicator").fit(records)
    habits = ["1 & not asked", *(f"{age} & {dose}" for age in (2, 3) for dose in (1, 2))]
    chosen = [(), (0,), (1,), (2,)]
    selections = [
        " & ".join("selected" if place in one else "not selected" for place in range(3))
        for one in sorted(chosen, key=lambda one: [place in one for place in range(3)])
    ]
    names = [f"habits={one}" for one in habits], [f"drugs={one}" for one in selections]
    assert [name for name in features.names if name.startswith("habits")] == names[0]
    assert [name for name in features.names if name.startswith("drugs")] == names[1]
    table = features.from_records(records).toarray()
    assert table.shape[1] == len(features.names)
    held = slice(features.names.index(names[0][0]), features.names.index(names[0][-1]) + 1)
    field = published.layout.field("habits")
    assert table[:, held].tolist() == records.indicators_of(field).tolist()
    assert set(names[0]) < set(records.frame().columns)
