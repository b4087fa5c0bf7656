from __future__ import annotations

import json

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.importing.formats import import_bytes
from hushpoll_shared.importing.report_text import report_text

SURVEY = {
    "title": {"default": "Health", "de": "Gesundheit"},
    "locale": "en",
    "triggers": [{"type": "complete"}],
    "pages": [
        {
            "title": "You",
            "elements": [
                {
                    "type": "boolean",
                    "name": "smokes",
                    "title": {"default": "Do you smoke?", "de": "Rauchen Sie?"},
                    "isRequired": True,
                },
                {
                    "type": "text",
                    "inputType": "number",
                    "name": "daily",
                    "title": "How many a day?",
                    "min": 1,
                    "max": 80,
                    "visibleIf": "{smokes} = true",
                    "isRequired": True,
                },
                {"type": "comment", "name": "why", "title": "Why?"},
            ],
        },
        {
            "elements": [
                {
                    "type": "panel",
                    "title": "Use",
                    "elements": [
                        {
                            "type": "checkbox",
                            "name": "drugs",
                            "choices": [{"value": 1, "text": "Alcohol"}, "Cannabis"],
                            "showNoneItem": True,
                            "showOtherItem": True,
                            "maxSelectedChoices": 2,
                        },
                        {"type": "rating", "name": "nps", "rateMin": 0, "rateMax": 10},
                        {"type": "slider", "name": "share", "isRequired": True},
                        {
                            "type": "matrix",
                            "name": "care",
                            "title": "How is",
                            "columns": ["bad", "good"],
                            "rows": ["doctor", "nurse"],
                            "isAllRowRequired": True,
                        },
                        {"type": "paneldynamic", "name": "p", "templateElements": [
                            {"type": "boolean", "name": "inner"}]},
                        {"type": "radiogroup", "name": "net", "choicesByUrl": {"url": "x"}},
                    ],
                }
            ]
        },
    ],
}  # fmt: skip


@pytest.fixture(scope="module")
def made():
    made = import_bytes(json.dumps(SURVEY).encode(), name="health.json")
    assert manifest_problems(made.manifest) == ()
    return made


def test_questions_become_attributes_with_codes_sections_and_follow_ups(made):
    attributes = {one["name"]: one for one in made.manifest["attributes"]}
    assert list(attributes) == [
        "smokes", "daily", "drugs", "nps", "share", "care_doctor", "care_nurse",
    ]  # fmt: skip
    assert attributes["smokes"]["categories"] == ["No", "Yes"]
    assert attributes["daily"]["ask_if"] == {"smokes": ["Yes"]}
    assert attributes["daily"]["number"] == {"low": 1, "high": 80}
    assert attributes["drugs"]["categories"] == ["Alcohol", "Cannabis", "Other"]
    assert attributes["drugs"]["select"] == {"at_most": 2}
    assert attributes["nps"]["scale"] == "nps"
    assert attributes["share"]["number"] == {"low": 0, "high": 100}
    assert attributes["care_nurse"]["question"] == "care_nurse: nurse" or (
        attributes["care_nurse"]["question"] == "How is: nurse"
    )
    assert [attributes[name].get("section") for name in ("smokes", "nps")] == ["You", "Use"]
    codes = {one.question: one.codes for one in made.entries}
    assert codes["drugs"] == ("1", "Cannabis", "other")
    assert codes["smokes"] == ("false", "true")


def test_texts_of_another_language_are_a_translation(made):
    german = made.manifest["translations"]["de"]
    assert german["title"] == "Gesundheit"
    assert german["attributes"]["smokes"]["question"] == "Rauchen Sie?"
    assert any(text.startswith("In 'de' ") for text in made.survey)


def test_every_question_is_in_the_report(made):
    outcomes = {one.question: str(one.outcome) for one in made.entries}
    assert outcomes == {
        "smokes": "taken",
        "daily": "taken",
        "why": "dropped",
        "drugs": "changed",
        "nps": "taken",
        "share": "changed",
        "care_doctor": "changed",
        "care_nurse": "changed",
        "p": "dropped",
        "inner": "dropped",
        "net": "dropped",
    }
    text = report_text(made)
    assert text.startswith("11 questions in the file: 3 taken, 4 changed, 0 to be decided, 4")
    assert all(one.question in text for one in made.entries)
    assert "Its triggers are left out." in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 80


def test_what_is_nested_too_deeply_is_refused():
    inner = {"type": "boolean", "name": "x"}
    for _ in range(28):
        inner = {"type": "panel", "elements": [inner]}
    with pytest.raises(InvalidParameter, match="nested more than 25 deep"):
        import_bytes(json.dumps({"elements": [inner]}).encode(), name="deep.json")


@pytest.mark.parametrize(
    "element",
    [
        7,
        {"type": "radiogroup"},
        {"type": "radiogroup", "name": 7},
        {"type": "radiogroup", "name": "x", "choices": {"a": 1}},
        {"type": "radiogroup", "name": "x", "choices": [None, [], {"value": {}}]},
        {"type": "rating", "name": "x", "rateMin": "a", "rateMax": 0},
        {"type": "text", "inputType": "number", "name": "x", "min": "=today()", "max": []},
        {"type": "matrix", "name": "x", "rows": "a", "columns": None},
        {"type": [], "name": "x"},
        {"type": "boolean", "name": "x", "visibleIf": 7, "title": [1]},
        {"type": "boolean", "name": "x", "visible": False},
    ],
)
def test_odd_questions_are_taken_or_named_and_never_an_error_of_ours(element):
    good = {"type": "boolean", "name": "good"}
    made = import_bytes(json.dumps({"elements": [good, element]}).encode(), name="odd.json")
    assert manifest_problems(made.manifest) == ()
    assert len(made.entries) == 2
