"""A cell of an experiment: what is split, what is perturbed, and what decides it."""

import numpy as np
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import baseline_cell, cell, perturbation, protocol_name, split_rows

PARAMETERS = {"n_estimators": 10, "min_child_samples": 30}


def test_the_split_is_stratified_complete_and_the_seeds(survey, people):
    codes = people(1000)
    codes["income"] = (np.arange(1000) < 300).astype(np.int64)
    train, test = split_rows(survey(), codes, seed=4)
    assert (len(train), len(test)) == (800, 200)
    assert codes["income"][test].sum() == 60
    assert sorted([*train, *test]) == list(range(1000))
    again = split_rows(survey(epsilon="1", protocol="OUE"), codes, seed=4)
    assert (test == again[1]).all()
    assert (np.sort(test) != np.sort(split_rows(survey(), codes, seed=5)[1])).any()
    assert len(split_rows(survey(), codes, seed=4, test_size=0.5)[1]) == 500


def test_a_cell_repeats_itself_and_no_other_surveys_noise(survey, people):
    codes = people(2000)
    first, second = (
        cell(survey(epsilon="1"), codes, Recipe.of(PARAMETERS), FitOptions(4)) for _ in range(2)
    )
    assert first.evaluation == second.evaluation
    assert (
        first.model.fitted.booster.model_to_string()
        == second.model.fitted.booster.model_to_string()
    )
    other = cell(survey(epsilon="1", version=2), codes, Recipe.of(PARAMETERS), FitOptions(4))
    assert (
        other.model.fitted.booster.model_to_string() != first.model.fitted.booster.model_to_string()
    )
    words = [perturbation(survey(version=v), 4).integers(2**63) for v in (1, 1, 2)]
    assert words[0] == words[1] != words[2]


def test_without_noise_a_cell_equals_its_baseline(survey, people):
    codes = people(3000)
    ldp = cell(survey(epsilon="64"), codes, Recipe.of(PARAMETERS), FitOptions(4))
    clear = baseline_cell(survey(epsilon="64"), codes, Recipe.of(PARAMETERS), FitOptions(4))
    assert ldp.evaluation == clear.evaluation
    assert ldp.evaluation.rows["tested"] == 600
    assert (ldp.protocol, ldp.split, ldp.epsilon, ldp.seed) == ("GRR", "uniform", "64", 4)
    assert (clear.protocol, clear.split, clear.epsilon) == ("NonDP", "none", "inf")
    assert set(ldp.timings) == set(clear.timings) == {"perturb", "fit", "score"}
    assert clear.timings["perturb"] == 0.0


def test_the_perturbed_attributes_protocols_are_named_once(survey, draft):
    attributes = draft()["attributes"]
    assert protocol_name(survey(protocol="OUE")) == "OUE"
    attributes[1]["protocol"] = "OLH"
    assert protocol_name(survey(attributes=attributes)) == "GRR+OLH"
    assert protocol_name(survey(target={"protocol": "SS"})) == "GRR"


@pytest.mark.parametrize("test_size", [0, 1, -0.1, float("nan")])
def test_a_test_size_outside_its_interval_is_refused(survey, people, test_size):
    with pytest.raises(InvalidParameter, match="between 0 and 1"):
        split_rows(survey(), people(100), 1, test_size)


def test_a_category_with_a_single_row_cannot_be_split(survey, people):
    codes = people(50)
    codes["income"] = (np.arange(50) == 3).astype(np.int64)
    with pytest.raises(InvalidParameter, match="more rows of each category"):
        split_rows(survey(), codes, 1)
    with pytest.raises(InvalidParameter, match="seed is -1"):
        split_rows(survey(), codes, -1)
