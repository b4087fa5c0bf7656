from __future__ import annotations

import json

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.importing.formats import import_bytes
from hushpoll_shared.importing.report import report_text
from hushpoll_shared.importing.surveyjs import read_surveyjs

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
        "smokes", "daily", "drugs", "nps", "share", "care",
    ]  # fmt: skip
    assert attributes["smokes"]["categories"] == ["No", "Yes"]
    assert attributes["daily"]["ask_if"] == {"smokes": ["Yes"]}
    assert attributes["daily"]["number"] == {"low": 1, "high": 80}
    assert attributes["drugs"]["categories"] == ["Alcohol", "Cannabis", "Other"]
    assert attributes["drugs"]["select"] == {"at_most": 2}
    assert attributes["nps"]["scale"] == "nps"
    assert attributes["share"]["number"] == {"low": 0, "high": 100}
    assert attributes["care"]["question"] == "How is"
    assert attributes["care"]["items"] == [
        {"name": "care_doctor", "question": "doctor"},
        {"name": "care_nurse", "question": "nurse"},
    ]
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
        "care_doctor": "taken",
        "care_nurse": "taken",
        "p": "dropped",
        "inner": "dropped",
        "net": "dropped",
    }
    text = report_text(made)
    assert text.startswith("11 questions in the file: 5 taken, 2 changed, 0 to be decided, 4")
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


def of(*elements, **more):
    made = import_bytes(json.dumps({"elements": elements, **more}).encode(), name="s.json")
    assert manifest_problems(made.manifest) == ()
    return made


FIRST = {"type": "radiogroup", "name": "first", "choices": ["a", "b"], "isRequired": True}


@pytest.mark.parametrize(
    ("element", "name", "outcome", "words"),
    [
        ({"type": "comment"}, "q", "dropped", "free text"),
        ({"type": "text", "inputType": "email"}, "q", "dropped", "free text"),
        ({"type": "expression", "expression": "1"}, "q", "dropped", "computed"),
        ({"type": "html", "html": "x"}, "q", "dropped", "asks nothing"),
        ({"type": "ranking", "choices": [1, 2]}, "q", "dropped", "first choice"),
        ({"type": "matrixdynamic", "columns": [{"name": "c"}]}, "q", "dropped", "number of rows"),
        ({"type": "custom"}, "q", "dropped", "'custom' has no form"),
        ({"type": "dropdown", "choicesByUrl": {"url": "u"}}, "q", "dropped", "choicesByUrl"),
        ({"type": "dropdown", "choicesMin": 1, "choicesMax": 5, "choicesStep": 2}, "q", "taken",
         ""),
        ({"type": "imagepicker", "choices": ["x", "y"]}, "q", "changed", "pictures"),
        ({"type": "checkbox", "choices": ["x", "x", {"text": "?"}, "y"]}, "q", "changed",
         "1 of its choices have no value"),
        ({"type": "checkbox", "choices": ["x", "x", "y"]}, "q", "changed", "'x' stand more"),
        ({"type": "tagbox", "choices": ["x", "y"], "hasSelectAll": True}, "q", "changed",
         "'hasSelectAll'"),
        ({"type": "radiogroup", "choices": [1, 2], "hasComment": True}, "q", "changed", "comment"),
        ({"type": "radiogroup", "choices": [1, 2], "readOnly": True}, "q", "changed", "'readOnly'"),
        ({"type": "radiogroup", "choices": [1, 2], "colCount": 2}, "q", "taken", ""),
        ({"type": "boolean", "validators": [{"type": "expression"}]}, "q", "changed", "checks"),
        ({"type": "multipletext", "items": [{"name": "i"}]}, "q_i", "dropped", "free text"),
        ({"type": "multipletext", "items": [{"name": "i", "inputType": "number", "min": 0,
          "max": 9}]}, "q_i", "changed", "field of 'q'"),
        ({"type": "matrixdropdown", "rows": ["r"], "choices": [1, 2], "columns": [{"name": "c"}]},
         "q_r_c", "changed", "row of the table 'q_c'"),
        ({"type": "matrixdropdown", "rows": ["r"], "columns": [{"name": "c", "cellType": "text"}]},
         "q_r_c", "dropped", "free text"),
        ({"type": "flowpanel", "elements": [{"type": "boolean", "name": "in"}]}, "in", "taken", ""),
        ({"type": "custom", "elements": [{"type": "boolean", "name": "in"}]}, "in", "dropped",
         "'custom', which is dropped"),
        ({"type": "paneldynamic", "templateElements": [{"type": "boolean", "name": "in"}]}, "in",
         "dropped", "repeats"),
    ],
    ids=range(24),
)  # fmt: skip
def test_each_construct_is_taken_or_reported(element, name, outcome, words):
    found = {one.question: one for one in of(FIRST, {"name": "q", **element}).entries}
    one = found[name]
    required = "may be skipped" in " ".join(one.messages)
    assert one.outcome == outcome, one
    assert words in " ".join(one.messages)
    assert not required


@pytest.mark.parametrize(
    ("condition", "asked"),
    [
        ("{first} anyof ['a']", ["a"]),
        ("{first} notcontains 'a'", ["b"]),
        ("!({first} = 'a')", ["b"]),
        ("not ({first} = 'b') and {first} notempty", ["a"]),
        ("{first} <> 'a' or {first} == 'b'", ["b"]),
        ("'b' = {first}", ["b"]),
    ],
)
def test_conditions_of_every_form_become_follow_ups(condition, asked):
    made = of(FIRST, {"type": "boolean", "name": "q", "visibleIf": condition})
    (question,) = [one for one in made.manifest["attributes"] if one["name"] == "q"]
    assert question["ask_if"] == {"first": asked}


def test_a_row_of_a_matrix_can_be_asked_about():
    matrix = {"type": "matrix", "name": "m", "rows": ["r"], "columns": [1, 2],
              "isAllRowRequired": True}  # fmt: skip
    made = of(matrix, {"type": "boolean", "name": "q", "visibleIf": "{m.r} = 2"})
    assert made.manifest["attributes"][1]["ask_if"] == {"m_r": ["2"]}


def test_values_of_yes_and_no_are_the_file_s_codes():
    glad = {"type": "boolean", "name": "glad", "valueTrue": "yes", "valueFalse": 0,
            "isRequired": True}  # fmt: skip
    made = of(glad, {"type": "boolean", "name": "why", "visibleIf": "{glad} = 'yes'"})
    assert made.entries[0].codes == ("0", "yes")
    assert made.manifest["attributes"][1]["ask_if"] == {"glad": ["Yes"]}


def test_limits_in_checks_are_limits_and_descriptions_are_help():
    checks = [{"type": "numeric", "minValue": 18, "maxValue": 99}]
    counts = [{"type": "answercount", "minCount": 1, "maxCount": 2}]
    made = of(
        {"type": "text", "inputType": "number", "name": "age", "max": 120, "validators": checks,
         "isRequired": True, "description": {"default": "In years.", "de": "In Jahren."}},
        {"type": "checkbox", "name": "many", "choices": ["a", "b", "c"], "validators": counts},
        locale="en",
    )  # fmt: skip
    age, many = made.manifest["attributes"]
    assert age["number"] == {"low": 18, "high": 99}
    assert age["help"] == "In years."
    assert made.manifest["translations"]["de"]["attributes"]["age"]["help"] == "In Jahren."
    assert many["select"] == {"at_least": 1, "at_most": 2}
    assert [one.outcome for one in made.entries] == ["taken", "taken"]


def test_a_language_of_choices_alone_is_kept_and_settings_are_named():
    choices = [{"value": 1, "text": {"default": "One", "de": "Eins"}}, 2]
    made = of({**FIRST, "choices": choices}, locale="en", questionsOrder="random", logo="x",
              pages=[{"description": "d", "elements": []}])  # fmt: skip
    german = made.manifest["translations"]["de"]["attributes"]["first"]
    assert german["categories"] == ["Eins", "2"]
    assert "Its settings 'questionsOrder' are left out." in made.survey
    assert any("logo is left out: give the image itself" in one for one in made.survey)
    assert any("The description of page 1 is left out: 'd'." in one for one in made.survey)
    alone = of(FIRST, locale="en", title={"default": "T", "de": "Titel"})
    assert "In 'de' the file has titles alone, which are left out." in alone.survey


MARK = "aMemberThatNobodyKnows"
EVERYTHING = {
    "title": "All",
    "description": {"default": "What it is about.", "de": "Worum es geht."},
    "completedHtml": "<h3>Thank you</h3><p>See <b>you</b> &amp; all.</p><script>x()</script>",
    "triggers": [{"type": "complete"}],
    "calculatedValues": [{"name": "v"}],
    "pages": [
        {"name": "p1", "title": "One", "description": "Of page one", "elements": [
            {"type": "panel", "name": "inner", "title": "In it", "elements": [
                {"type": "radiogroup", "name": "a", "title": {"default": "A?", "de": "A de?"},
                 "choices": [{"value": 1, "text": "One"}, {"value": 2}],
                 "choicesOrder": "random", "showOtherItem": True, "isRequired": True},
                {"type": "checkbox", "name": "b", "choices": ["x", {"value": "y"}], "validators": [
                    {"type": "answercount", "maxCount": 1}, {"type": "expression"}]},
            ]},
            {"type": "rating", "name": "c", "rateMin": 1, "rateMax": 5, "isRequired": True,
             "minRateDescription": {"default": "bad", "de": "schlecht"},
             "maxRateDescription": "good", "rateType": "stars"},
            {"type": "rating", "name": "d", "rateValues": [{"value": "u"}, "v"],
             "minRateDescription": "alone"},
            {"type": "text", "inputType": "number", "name": "e", "min": 0, "max": 200, "step": 5},
            {"type": "slider", "name": "f"},
            {"type": "imagepicker", "name": "g", "choices": [{"value": "i", "imageLink": "x"},
                                                             {"value": "j"}]},
            {"type": "matrix", "name": "h", "rows": [{"value": "r"}, "s"],
             "columns": [{"value": "bad"}, "good"], "rowsOrder": "random"},
            {"type": "matrixdropdown", "name": "k", "rows": ["r", {"value": "s"}],
             "columns": [{"name": "m", "choices": [{"value": 1}, 2]},
                         {"name": "n", "cellType": "boolean"}]},
            {"type": "multipletext", "name": "o", "items": [
                {"name": "i", "inputType": "number", "min": 1, "max": 3}]},
            {"type": "boolean", "name": "q", "valueTrue": "t"},
        ]},
        {"title": "Nothing here", "elements": []},
    ],
}  # fmt: skip
TEXTS = ("title", "description", "minRateDescription", "triggers", "calculatedValues")


def places(value, path=()):
    """The path of each object of a survey that is no text in several languages."""
    if isinstance(value, dict):
        yield path
        for key, inner in value.items():
            if key not in TEXTS:
                yield from places(inner, (*path, key))
    elif isinstance(value, list):
        for place, inner in enumerate(value):
            yield from places(inner, (*path, place))


def test_a_member_that_nobody_knows_is_named_wherever_it_stands():
    paths = list(places(EVERYTHING))
    assert len(paths) > 25
    for path in paths:
        survey = json.loads(json.dumps(EVERYTHING))
        found = survey
        for key in path:
            found = found[key]
        found[MARK] = "something"
        read = read_surveyjs(survey, name="all.json")
        notes = [note for part in read.parts for note in getattr(part, "notes", ())]
        whole = found.get("type") == "expression"  # a check that is left out as a whole
        assert whole or MARK in " ".join((*read.notes, *notes)), path


def test_what_a_manifest_has_is_taken_and_the_rest_of_a_survey_is_named():
    made = import_bytes(json.dumps(EVERYTHING).encode(), name="all.json")
    assert manifest_problems(made.manifest) == ()
    assert made.manifest["description"] == "What it is about."
    assert made.manifest["thanks"] == "Thank you\nSee you & all."
    attributes = {one["name"]: one for one in made.manifest["attributes"]}
    assert attributes["a"]["shuffle"] == {"last": 1}
    assert attributes["c"]["ends"] == ["bad", "good"]
    assert attributes["h"]["shuffle"] == {}
    assert attributes["k_m"]["items"][1] == {"name": "k_s_m", "question": "s"}
    german = made.manifest["translations"]["de"]
    assert german["description"] == "Worum es geht."
    assert german["attributes"]["c"]["ends"] == ["schlecht", "good"]
    said = " ".join(made.survey)
    for words in (
        "triggers", "calculated values", "'Of page one'", "'One' stands above it", "'rateType' (1)",
        "page 2 is left out: no question stands there", "without its tags of HTML",
    ):  # fmt: skip
        assert words in said, words
    messages = {one.question: " ".join(one.messages) for one in made.entries}
    assert "checks of an answer are left out: 'expression'" in messages["b"]
    assert "one end of its scale are left out: 'alone'" in messages["d"]
    assert "steps of 5 are left out" in messages["e"]


def test_matrix_keeps_its_description_and_the_order_of_its_rows():
    made = import_bytes(
        json.dumps(
            {
                "elements": [
                    {
                        "type": "matrix",
                        "name": "trust",
                        "description": {"default": "Think of May.", "de": "Im Mai."},
                        "rowOrder": "random",
                        "columns": ["low", "high"],
                        "rows": [{"value": "press"}, {"value": "police"}],
                    }
                ]
            }
        ).encode(),
        name="form.json",
    )
    (trust,) = made.manifest["attributes"]
    assert (trust["help"], trust["shuffle"]) == ("Think of May.", {})
    assert made.manifest["translations"]["de"]["attributes"]["trust"]["help"] == "Im Mai."
    assert manifest_problems(made.manifest) == ()
    assert not any("left out" in said for one in made.entries for said in one.messages)
