from __future__ import annotations

import math

import numpy as np
import pytest

from hushpoll_fleet.population.distributions import read_conditional
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.questions.attributes import Attribute

GENDER = Attribute("gender", "sensitive", ("Female", "Male"), missing="Not said")
AGE = Attribute("age", "sensitive", tuple(str(age) for age in range(17, 21)))
INCOME = Attribute("income", "target", ("low", "high"), positive="high")


def read(attribute, model, *earlier):
    return read_conditional(attribute, model, {parent.name: parent for parent in earlier})


def test_weights_are_relative_and_unnamed_categories_have_none():
    made = read(GENDER, {"weights": {"Male": 1, "Female": "3"}})
    assert made.parents == ()
    assert made.table.tolist() == [0.75, 0.25, 0.0]


def test_a_run_of_integers_shares_its_weight_evenly():
    assert read(AGE, {"weights": {"17..18": 1, "19..20": 3}}).table.tolist() == [
        0.125,
        0.125,
        0.375,
        0.375,
    ]


def test_uniform_weights():
    assert read(AGE, {"weights": "uniform"}).table.tolist() == [0.25] * 4


def test_integer_keys_as_yaml_reads_them():
    assert read(AGE, {"weights": {17: 1, 20: 1}}).table.tolist() == [0.5, 0, 0, 0.5]


def test_weights_given_two_parents_with_others():
    model = {
        "given": ["gender", "age"],
        "weights": {
            "Female": {"17": {"high": 1}, "*": {"low": 1}},
            "*": {"17..20": {"low": 1, "high": 1}},
        },
    }
    made = read(INCOME, model, GENDER, AGE)
    assert [parent.name for parent in made.parents] == ["gender", "age"]
    assert made.table[0].tolist() == [[0, 1], [1, 0], [1, 0], [1, 0]]
    assert made.table[1:].tolist() == [[[0.5, 0.5]] * 4] * 2


def test_logit_adds_the_effects_of_all_parents():
    model = {
        "logit": {
            "intercept": 0,
            "effects": {"gender": {"Male": math.log(3)}, "age": {"19..20": -math.log(3)}},
        }
    }
    table = read(INCOME, model, GENDER, AGE).table
    np.testing.assert_allclose(
        table[..., 1],
        [[0.5, 0.5, 0.25, 0.25], [0.75, 0.75, 0.5, 0.5], [0.5, 0.5, 0.25, 0.25]],
        rtol=1e-15,
    )
    np.testing.assert_allclose(table.sum(-1), 1, rtol=0, atol=1e-15)


def test_logit_of_a_named_category_without_parents_and_without_overflow():
    model = {"logit": {"category": "low", "intercept": 5000, "effects": {}}}
    assert read(INCOME, model).table.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("attribute", "model", "field", "words"),
    [
        (AGE, {"weights": {"21": 1}}, "population[age].weights", "no category of age"),
        (AGE, {"weights": {"17..21": 1}}, "population[age].weights", "no category of age"),
        (AGE, {"weights": {"20..17": 1}}, "population[age].weights", "no category of age"),
        (AGE, {"weights": {"17..18": 1, "18": 1}}, "population[age].weights", "twice"),
        (AGE, {"weights": {"17": -1}}, "population[age].weights[17]", "0 or greater"),
        (AGE, {"weights": {"17": float("nan")}}, "population[age].weights[17]", "finite"),
        (AGE, {"weights": {"17": True}}, "population[age].weights[17]", "finite"),
        (AGE, {"weights": {"17": 10**400}}, "population[age].weights[17]", "finite"),
        (AGE, {"weights": {"17": 0}}, "population[age].weights", "greater than 0"),
        (AGE, {"weights": {}}, "population[age].weights", "mapping"),
        (AGE, {"weight": {"17": 1}}, "population[age]", "give one of"),
        (AGE, None, "population[age]", "give one of"),
        (AGE, {"given": "age", "weights": {}}, "population[age].given", "manifest order"),
        (AGE, {"given": [], "weights": {}}, "population[age].given", "earlier attribute"),
        (
            AGE,
            {"given": ["gender", "gender"], "weights": {}},
            "population[age].given",
            "twice",
        ),
        (
            AGE,
            {"given": "gender", "weights": {"Female": {"17": 1}}},
            "population[age].weights",
            "leaves out gender = 'Male'",
        ),
        (
            AGE,
            {"given": "gender", "weights": [1]},
            "population[age].weights",
            "each category of gender",
        ),
        (
            AGE,
            {"logit": {"intercept": 0, "effects": {}}},
            "population[age].logit",
            "needs exactly 2",
        ),
        (INCOME, {"logit": {"intercept": 0}}, "population[income].logit", "effects"),
        (
            INCOME,
            {"logit": {"intercept": 0, "effects": {"gender": {"None": 1}}}},
            "population[income].logit.effects[gender]",
            "no category of gender",
        ),
        (
            INCOME,
            {"logit": {"intercept": 0, "effects": {"gender": 1}}},
            "population[income].logit.effects[gender]",
            "mapping from categories",
        ),
        (
            INCOME,
            {"logit": {"intercept": "x", "effects": {}}},
            "population[income].logit.intercept",
            "finite",
        ),
    ],
)
def test_a_wrong_model_is_refused_by_path(attribute, model, field, words):
    with pytest.raises(InvalidParameter, match=r"^population") as caught:
        read(attribute, model, GENDER)
    assert caught.value.field == field
    assert words in str(caught.value)


def test_a_logit_without_category_needs_a_positive_one():
    binary = Attribute("smokes", "plain", ("yes", "no"))
    with pytest.raises(InvalidParameter, match="add category"):
        read(binary, {"logit": {"intercept": 0, "effects": {}}})


def test_a_table_that_would_not_fit_is_refused():
    wide = [Attribute(f"a{i}", "plain", tuple(map(str, range(2000)))) for i in range(2)]
    with pytest.raises(InvalidParameter, match="name fewer parents"):
        read(INCOME, {"given": ["a0", "a1"], "weights": {"*": {"*": {"low": 1}}}}, *wide)
