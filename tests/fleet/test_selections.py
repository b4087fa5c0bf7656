"""Respondents of a survey with select-alls: drawn, from a file, and from a function."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from hushpoll_fleet.population.population import Population
from hushpoll_fleet.population.respondents import BadRows, from_function, read_respondents
from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest

DRUGS: dict[str, Any] = {"selected": {"Cannabis": 0.5, "Cocaine": 0.2, "Heroin": 0.1}}


def manifest(select: dict[str, int], drugs: Any) -> Manifest:
    return Manifest.from_dict(
        {
            "name": "drugs",
            "version": 1,
            "title": "Drugs",
            "epsilon": "4",
            "protocol": "SS",
            "attributes": [
                {"name": "sex", "role": "sensitive", "categories": ["f", "m"]},
                {
                    "name": "drugs",
                    "role": "sensitive",
                    "categories": ["Cannabis", "Cocaine", "Heroin"],
                    "select": select,
                },
            ],
            "population": {"sex": {"weights": "uniform"}, "drugs": drugs},
        }
    )


def test_options_without_limits_apply_independently() -> None:
    population = Population.from_manifest(manifest({}, DRUGS))
    joint = population.joint("drugs_1", "drugs_2")
    assert joint is not None
    assert joint[1, 1] == pytest.approx(0.1)


def test_selections_are_those_within_the_limits() -> None:
    population = Population.from_manifest(manifest({"at_least": 1, "at_most": 2}, DRUGS))
    joint = population.joint("drugs_1", "drugs_2", "drugs_3")
    assert joint is not None
    chances = np.multiply.outer(np.multiply.outer([0.5, 0.5], [0.8, 0.2]), [0.9, 0.1])
    chances[0, 0, 0] = chances[1, 1, 1] = 0
    np.testing.assert_allclose(joint, chances / chances.sum())
    drawn = population.sample(200, np.random.default_rng(1))
    sizes = drawn["drugs_1"] + drawn["drugs_2"] + drawn["drugs_3"]
    assert set(sizes.tolist()) == {1, 2}


def test_options_may_depend_on_an_earlier_question() -> None:
    given = {"given": "sex", "selected": {"f": {"Cannabis": 1}, "m": {"Heroin": 0.25}}}
    population = Population.from_manifest(manifest({"at_most": 1}, {**given}))
    joint = population.joint("sex", "drugs_3")
    assert joint is not None
    np.testing.assert_allclose(joint, [[0.5, 0], [0.375, 0.125]])


@pytest.mark.parametrize(
    ("drugs", "field"),
    [
        ({"weights": "uniform"}, "population[drugs]"),
        ({"selected": {"Crack": 0.5}}, "population[drugs].selected"),
        ({"selected": {"Heroin": 2}}, "population[drugs].selected.Heroin"),
        ({"selected": {}}, "population[drugs]"),
        ({"selected": {}, "given": "age"}, "population[drugs].given"),
    ],
)
def test_a_description_that_cannot_be_is_refused(drugs: dict[str, Any], field: str) -> None:
    with pytest.raises(InvalidParameter) as refused:
        Population.from_manifest(manifest({"at_least": 1}, drugs))
    assert refused.value.field == field


def test_a_file_has_a_column_for_each_option(tmp_path: Path) -> None:
    asked = manifest({"at_least": 1}, DRUGS).expanded
    path = tmp_path / "answers.csv"
    path.write_text(
        "sex,drugs_1,drugs_2,drugs_3\nf,selected,not selected,selected\n"
        "m,not selected,not selected,not selected\n"
    )
    with pytest.raises(BadRows, match=r"0 options selected.*select at least 1"):
        read_respondents(path, asked.attributes, selects=asked.selects)
    path.write_text("sex,drugs_1,drugs_2,drugs_3\nf,selected,not selected,selected\n")
    respondents = read_respondents(path, asked.attributes, selects=asked.selects)
    assert {name: list(column) for name, column in respondents.columns.items()} == {
        "sex": [0],
        "drugs_1": [1],
        "drugs_2": [0],
        "drugs_3": [1],
    }


def test_a_function_gives_a_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "select_all_answers.py").write_text(
        "def answer(number, rng):\n"
        "    return {'sex': 'f', 'drugs': ['Heroin', 'Cocaine'][: number + 1]}\n"
    )
    monkeypatch.syspath_prepend(str(tmp_path))
    respondents = from_function(manifest({}, DRUGS), "select_all_answers:answer", 2, 1)
    assert list(respondents.columns["drugs_2"]) == [0, 1]
    with pytest.raises(InvalidParameter, match="name at most 1"):
        from_function(manifest({"at_most": 1}, DRUGS), "select_all_answers:answer", 2, 1)
