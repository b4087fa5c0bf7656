"""What a draft lacks: every problem at once, each with its field, and none that is not there."""

from __future__ import annotations

from typing import Any

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.drafts.manifest_problems import MOST_PROBLEMS, manifest_problems
from sample_survey import make_draft

AGE = {"name": "age", "role": "sensitive", "categories": ["young", "old"]}

GROUPS = {"attribute": "gender", "privileged": "Male", "unprivileged": "Female"}


def found(draft: object) -> list[tuple[str, int | None]]:
    return [(problem.part, problem.position) for problem in manifest_problems(draft)]


def test_a_valid_manifest_has_no_problem():
    assert manifest_problems(make_draft()) == ()


def test_problems_of_the_survey_and_of_every_question_are_found_at_once():
    draft = make_draft(
        name="A b",
        version="x",
        epsilon="99",
        colour=1,
        release="now",
        attributes=[
            {"name": "Gender", "role": "sensitive", "categories": ["a", "a"]},
            {"name": "age", "role": "x", "range": [5, 1], "colour": 1, "question": ""},
            {"name": "age", "role": "sensitive", "categories": ["x", "y"]},
            5,
            {"name": "t", "role": "target", "categories": ["a", "b"], "positive": "c"},
            {"name": "u", "role": "target", "categories": ["a", "b"]},
        ],
    )
    del draft["protocol"]
    assert found(draft) == [
        ("colour", None),
        ("name", None),
        ("version", None),
        ("epsilon", None),
        ("release", None),
        ("name", 0),
        ("categories", 0),
        ("protocol", 0),
        ("colour", 1),
        ("range", 1),
        ("role", 1),
        ("question", 1),
        ("name", 2),
        ("name", 3),
        ("positive", 4),
        ("role", 5),
    ]


def test_a_problem_has_its_value_and_its_remedy():
    (problem,) = manifest_problems(make_draft(release="now"))
    assert problem.field == "release"
    assert problem.value == "'now'"
    assert problem.message.startswith("release is 'now'; it is one of daily")
    assert problem.remedy == "It is one of daily, weekly, end, immediate."


@pytest.mark.parametrize(
    ("draft", "expected"),
    [
        ([], [("manifest", None)]),
        ({}, [(part, None) for part in ("name", "version", "title", "epsilon", "attributes")]),
        (make_draft(attributes="x"), [("attributes", None)]),
        (make_draft(attributes=[]), [("attributes", None)]),
        (make_draft(attributes=[AGE] * 257), [("attributes", None)]),
        (make_draft(epsilon="0.000002", split="k-based"), [("epsilon", 0)]),
        (make_draft(split={"weights": {"gender": 1}}), [("split", None)]),
        (make_draft(protected={**GROUPS, "attribute": "shoe"}), [("protected", None)]),
        (make_draft(opens="today", closes="2026"), [("opens", None), ("closes", None)]),
        (
            make_draft(translations={"de": {"title": ""}, "fr": {"title": ""}}, release="now"),
            [("language", None), ("translations", None), ("translations", None), ("release", None)],
        ),
        (
            make_draft(language="!", translations={"!": 5}),
            [("translations", None), ("language", None)],
        ),
        (
            make_draft(attributes=[{**AGE, "role": "plain"}], protected=None),
            [("attributes", None)],
        ),
        (
            make_draft(
                attributes=[AGE, {**AGE, "name": "question-1"}, {**AGE, "name": "!"}],
                protected=None,
            ),
            [("name", 2)],
        ),
    ],
)
def test_each_kind_of_problem_is_found_once(draft: Any, expected: list[tuple[str, int | None]]):
    assert found(draft) == expected


def test_a_question_without_a_name_of_its_own_is_told_by_its_position():
    draft = make_draft(attributes=[{**AGE, "protocol": "GRR"}, AGE], protected=None)
    del draft["protocol"]
    *_, problem = manifest_problems(draft)
    assert problem.field == "attributes[1].protocol"
    assert problem.message.startswith("attributes[1] is sensitive and names no protocol")


def test_repeated_names_are_found_all_and_in_bounds():
    problems = found(make_draft(attributes=[AGE] * 256, protected=None))
    assert 1 < len(problems) <= MOST_PROBLEMS
    assert {part for part, _ in problems} == {"name"}


@pytest.mark.parametrize(
    "change",
    [
        {"title": None},
        {"protocol": "XYZ"},
        {"submission": 5},
        {"minimum_batch": True},
        {"population": 3},
        {"description": "\u202ex"},
        {"epsilon": 10**5000},
    ],
)
def test_the_first_problem_is_that_for_which_publishing_refuses(change: dict[str, Any]):
    draft = make_draft(**change)
    with pytest.raises(InvalidParameter) as refusal:
        Manifest.from_dict(draft).resolve()
    problem = manifest_problems(draft)[0]
    assert (problem.field, problem.message) == (refusal.value.field, str(refusal.value))


def test_scores_that_have_categories_too_are_one_problem():
    question = {"name": "scores", "role": "sensitive", "scale": "nps", "range": [0, 10]}
    draft = make_draft(attributes=[{**question, "categories": ["a", "b"]}], protected=None)
    assert found(draft) == [("categories", 0)]


def test_a_survey_without_a_protocol_is_told_so_once():
    """Guards: each of its sensitive questions was a fault, and one line repaired them all."""
    draft = make_draft(attributes=[AGE, {**AGE, "name": "second"}], protected=None)
    del draft["protocol"]
    (problem,) = manifest_problems(draft)
    assert "give the survey a protocol, such as SS" in problem.message
