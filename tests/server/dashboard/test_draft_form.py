"""A manifest as a form's fields and back: what is known is edited, what is not known is kept."""

from __future__ import annotations

import copy
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given as drawn
from hypothesis import settings
from hypothesis import strategies as st

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.dashboard.drafts import translation_fields
from hushpoll_server.dashboard.drafts.controls import FormTable, moment_of
from hushpoll_server.dashboard.drafts.editing import changed
from hushpoll_server.dashboard.drafts.form import SURVEY_FORM, Form, form_of, manifest_of
from hushpoll_server.dashboard.drafts.question_fields import QUESTION, items_of
from hushpoll_server.dashboard.drafts.translation_fields import names_of_items, open_tables
from hushpoll_shared.drafts.attribute_fields import ATTRIBUTE, TRANSLATED_ATTRIBUTE, TRANSLATION
from hushpoll_shared.drafts.fields import TIME, ManifestField, list_of, names, text
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.drafts.survey_fields import SURVEY
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.samples import sample_manifest
from hushpoll_shared.spelling.labels import trimmed
from sample_survey import make_draft

VECTORS = Path(__file__).parents[2] / "vectors" / "manifests.json"
VALID = [entry["draft"] for entry in json.loads(VECTORS.read_text("utf-8"))["manifests"]]
SCORES = {"name": "scores", "role": "sensitive", "range": [0, 10], "scale": "nps"}
EVERYTHING: dict[str, Any] = {
    "name": "every-field",
    "version": 7,
    "title": "Every field",
    "description": "Two\nlines.",
    "operator": "Institute of Public Health",
    "purpose": "We plan opening hours.",
    "thanks": "Thank you!\nResults come in May.",
    "logo": {"image": "0a" * 32, "alt": "Coat of arms"},
    "language": "en",
    "shared_device": True,
    "epsilon": 2.5,
    "split": {"weights": {"health": 2, "scores": 0.5, "income": "1"}},
    "protocol": "SS",
    "submission": "token",
    "release": "weekly",
    "minimum_batch": 500,
    "opens": "2027-01-31T09:00:00Z",
    "closes": "2027-02-28T18:00:30Z",
    "attributes": [
        {
            "name": "health",
            "role": "sensitive",
            "question": "How is your health?",
            "categories": ["Good", "Fair", "Bad"],
            "missing": "Prefer not to say",
            "section": "Health",
            "scale": "ordinal",
            "ends": ["very good", "very bad"],
            "help": "In the last year.\nOf all kinds.",
            "protocol": "OUE",
        },
        {**SCORES, "section": "Work"},
        {
            "name": "income",
            "role": "target",
            "categories": ["low", "high"],
            "positive": "high",
            "shuffle": {},
            "section": "Work",
            "protocol": "GRR",
        },
    ],
    "pairs": [["health", "income"], ["scores", "health"]],
    "protected": {"attribute": "health", "privileged": "Good", "unprivileged": ["Fair", "Bad"]},
    "translations": {
        "de": {
            "title": "Jedes Feld",
            "description": "Zwei\nZeilen.",
            "purpose": "Wir planen Sprechzeiten.",
            "thanks": "Danke!\nErgebnisse kommen im Mai.",
            "logo": "Wappen",
            "sections": {"Health": "Gesundheit", "Work": "Arbeit"},
            "attributes": {
                "health": {
                    "question": "Wie geht es Ihnen?",
                    "ends": ["sehr gut", "sehr schlecht"],
                    "help": "Im letzten Jahr.\nIn jeder Hinsicht.",
                    "categories": ["Gut", "Mittel", "Schlecht"],
                    "missing": "Keine Angabe",
                }
            },
        }
    },
    "population": {"health": {"weights": {"Good": 8, "Fair": 1, "Bad": 1}}},
}
TOGETHER: dict[str, Any] = {
    **{name: EVERYTHING[name] for name in ("version", "title", "epsilon", "protocol")},
    "name": "together",
    "attributes": [
        {"name": name, "role": "sensitive", "categories": ["no", "yes"]} for name in "abcdef"
    ],
    "together": [
        {"name": "own", "attributes": ["a", "b"], "protocol": "OUE"},
        {"name": "of-survey", "attributes": ["d", "c", "e"]},
    ],
}
FOLLOW_UP: dict[str, Any] = {
    **{name: EVERYTHING[name] for name in ("version", "title", "epsilon", "protocol")},
    "name": "follow-up",
    "attributes": [
        {"name": "a", "role": "sensitive", "categories": ["no", "now and then", "yes"]},
        {
            "name": "b",
            "role": "sensitive",
            "categories": ["x", "y"],
            "ask_if": {"a": ["now and then", "yes"]},
        },
    ],
}
SELECT_ALL: dict[str, Any] = {
    **{name: EVERYTHING[name] for name in ("version", "title", "epsilon", "protocol")},
    "name": "select-all",
    "attributes": [
        {
            "name": name,
            "role": "sensitive",
            "categories": ["a", "b", "c"],
            "select": select,
            **want,
        }
        for name, select, want in (
            ("some", {"at_least": 1, "at_most": 2}, {"want": "pairs"}),
            ("any", {}, {}),
            ("none", {"at_most": 1}, {}),
        )
    ],
}
NUMBERS: dict[str, Any] = {
    **{name: EVERYTHING[name] for name in ("version", "title", "epsilon")},
    "protocol": "GRR",
    "name": "numbers",
    "language": "en",
    "attributes": [
        {
            "name": name,
            "role": "sensitive",
            "number": {"low": 0, "high": 5000, **more},
        }
        for name, more in {
            "a": {"unit": "euros"},
            "b": {"unit": "euros", "for": "quantiles"},
            "c": {},
            "d": {"anchors": [0, 100, 5000]},
        }.items()
    ],
    "translations": {"de": {"title": "Z", "attributes": {"a": {"unit": "Euro"}}}},
}
MATRIX: dict[str, Any] = {
    **{name: EVERYTHING[name] for name in ("version", "title", "epsilon", "protocol")},
    "name": "matrix",
    "language": "en",
    "split": {"weights": {"drinks": 2, "tram": 1, "pool": 1}},
    "attributes": [
        {
            "name": name,
            "role": "sensitive",
            "categories": ["no", "yes"],
            "question": f"{name}?",
            "items": [{"name": one, "question": f"A {one}: it"} for one in items],
            **together,
        }
        for name, items, together in (
            ("drinks", ("wine", "beer"), {"together": True}),
            ("town", ("tram", "pool"), {}),
        )
    ],
    "translations": {
        "de": {
            "title": "Tabellen",
            "attributes": {
                "drinks": {"question": "Was?", "categories": ["nein", "ja"]},
                "wine": {"question": "Wein"},
                "beer": {"question": "Bier"},
                "town": {"question": "Wo?"},
                "tram": {"question": "Bahn"},
                "pool": {"question": "Bad"},
            },
        }
    },
}
ODD = [
    *(
        {"attributes": [{"name": "a", "role": "plain", "items": items, "together": together}]}
        for items, together in (
            ("b", True),
            ([{"name": "b"}], True),
            ([{"name": "b: c", "question": "x"}], False),
            ([{"name": "b", "question": "x "}, 5], True),
            ([{"name": "b", "question": "x"}], "yes"),
        )
    ),
    {"attributes": [{"name": "a", "role": "plain", "select": 5, "want": "all"}]},
    {"attributes": [{"name": "a", "role": "plain", "select": {"at_most": "2", "later": 1}}]},
    *(
        {"attributes": [{"name": "a", "role": "plain", "ask_if": condition}]}
        for condition in ("b", {"a": ["x"], "b": []}, {"b": [1]})
    ),
    {"translations": "de"},
    {"translations": {"de": 5, "fr": {"title": ["x"], "later": 1, "sections": {"none": "x"}}}},
    {"translations": {"de": {"attributes": {"none": {"question": "x"}, "a": {"later": None}}}}},
    {"shared_device": "yes", "opens": "soon", "closes": "2027-02-31T00:00:00Z"},
    {"attributes": "none"},
    {"attributes": [5]},
    {"title": {"en": "Work", "de": "Arbeit"}},
    {"split": {"weights": {"nobody": 1}}},
    {"split": "weights"},
    {"release": "now", "version": [1]},
    {"together": "both"},
    {"together": [{"name": "a, b", "attributes": ["x"]}, {"name": "c", "attributes": ["x", 5]}]},
    {"together": [{"name": "a", "attributes": ["x", "y"], "later": 1}]},
    {"protected": {"attribute": "gender", "privileged": [None], "unprivileged": "x"}},
    {"protected": "gender"},
    {"pairs": "both"},
    {"pairs": [["a", "b"], ["a, b", "c"]]},
    {"pairs": [["a", 5]]},
    {"later": {"kept": [None, 1.5, True]}},
    {"attributes": [{"name": "a", "role": "other", "categories": ["x\ny"], "range": ["1", 2]}]},
    {"attributes": [{"name": "a", "role": "plain", "categories": "x", "later": [1]}]},
    {"attributes": [{"name": "a", "role": "plain", "categories": [f"c{n}" for n in range(501)]}]},
]


def sent(form: Form) -> dict[str, str]:
    """The fields as a browser sends them, with its line ends."""
    given = {"questions": str(len(form.questions)), "s-kept": form.survey.kept_text}
    given |= {f"s-{name}": text for name, text in form.survey.texts.items()}
    for place, question in enumerate(form.questions):
        given |= {f"q{place}-{name}": text for name, text in question.texts.items()}
        given[f"q{place}-kept"] = question.kept_text
        given[f"q{place}-were"] = json.dumps(question.texts.get("categories", "").split("\n"))
        rows = names_of_items(items_of(question.texts.get("items", "")))
        given[f"q{place}-items-were"] = json.dumps(rows)
    given |= {"languages": str(len(form.languages)), "sections-were": json.dumps(form.sections)}
    for place, language in enumerate(form.languages):
        given |= {f"t{place}-language": language.code, f"t{place}-kept": language.kept_text}
        if not language.open:
            given[f"t{place}-words"] = language.closed_text
            continue
        # A field for each cell and for nothing else, as on the page.
        given |= {
            f"t{place}-{one.name}": language.texts.get(one.name, "") for one in language.cells
        }
    return {name: text.replace("\n", "\r\n") for name, text in given.items()}


SAMPLES = [
    *VALID,
    EVERYTHING,
    TOGETHER,
    FOLLOW_UP,
    SELECT_ALL,
    NUMBERS,
    MATRIX,
    parse_yaml(sample_manifest().encode()),
    make_draft(description="Two\nlines", opens="2026-01-01T00:00:00Z", operator="Ada"),
    make_draft(split="k-based", minimum_batch=7, submission="token", shared_device=False),
]


def test_manifest_of_the_samples_has_every_field_that_an_author_may_write():
    words = EVERYTHING["translations"]["de"]
    # Draws, and their shorthand, have a test among those of drafts.
    assert set(EVERYTHING) | {"together", "draws", "answer", "always"} == names(SURVEY)
    assert form_of(TOGETHER).survey.texts["together"] == "own: a, b | OUE\nof-survey: d, c, e"
    assert form_of(TOGETHER).survey.kept == {}
    assert form_of(EVERYTHING).survey.texts["pairs"] == "health, income\nscores, health"
    several = (
        FOLLOW_UP["attributes"][1],
        SELECT_ALL["attributes"][0],
        NUMBERS["attributes"][0],
        MATRIX["attributes"][0],
    )
    assert set().union(*EVERYTHING["attributes"], *several) == names(ATTRIBUTE)
    texts = form_of(SELECT_ALL).questions[0].texts
    assert (texts["select"], texts["at_least"], texts["at_most"]) == ("pairs", "1", "2")
    assert [one.kept for one in form_of(SELECT_ALL).questions] == [{}, {}, {}]
    numbers = form_of(NUMBERS).questions
    assert [one.texts["amount"] for one in numbers] == ["mean", "quantiles", "mean", ""]
    assert [one.texts.get("unit") for one in numbers] == ["euros", "euros", "", None]
    (german,) = form_of(NUMBERS).languages
    (cell,) = [one for one in german.cells if one.name == "q0-unit"]
    assert (cell.original, cell.needed, german.texts["q0-unit"]) == ("euros", False, "Euro")
    # Named anchors are written as YAML, and stay where a form is sent.
    assert [set(one.kept) for one in numbers] == [set(), set(), set(), {"number"}]
    matrix = form_of(MATRIX)
    assert matrix.questions[0].texts["items"] == "wine: A wine: it\nbeer: A beer: it"
    assert [one.texts["rows"] for one in matrix.questions] == ["block", ""]
    assert [one.kept for one in (*matrix.questions, *matrix.languages)] == [{}, {}, {}]
    follow_up = form_of(FOLLOW_UP).questions[1]
    assert (follow_up.texts["router"], follow_up.texts["after"]) == ("a", "now and then\nyes")
    assert follow_up.kept == {}
    assert set(words) == names(TRANSLATION)
    assert {*words["attributes"]["health"], "unit"} == names(TRANSLATED_ATTRIBUTE)
    logo = {"logo": EVERYTHING["logo"], "population": EVERYTHING["population"]}
    assert form_of(EVERYTHING).survey.kept == logo
    assert [one.kept for one in form_of(EVERYTHING).questions] == [{}, {}, {}]
    assert form_of(EVERYTHING).languages[0].kept == {}


@pytest.mark.parametrize("manifest", SAMPLES, ids=lambda manifest: manifest["name"])
def test_a_manifest_that_is_sent_back_is_the_same(manifest: dict[str, Any]):
    given = sent(form_of(manifest))
    assert manifest_of(given, before=manifest) == manifest
    again = manifest_of(given)
    assert Manifest.from_dict(again).resolve() == Manifest.from_dict(manifest).resolve()
    assert again.get("population") == manifest.get("population")


# A survey is refused if a text has an end that nobody sees, such as a variation selector.
TEXT = st.text(st.characters(exclude_categories=("C", "Z")), min_size=1, max_size=4).filter(
    lambda text: trimmed(text) == text
)
CATEGORIES = st.lists(TEXT, min_size=2, max_size=4, unique=True)


@st.composite
def translated(draw: st.DrawFn) -> dict[str, Any]:
    """A manifest whose questions, sections and translations are of any kind."""
    questions: list[dict[str, Any]] = []
    words: dict[str, Any] = {}
    for place in range(draw(st.integers(1, 3))):
        question = {"name": f"q{place}", "role": "sensitive", "categories": draw(CATEGORIES)}
        for member in draw(st.sets(st.sampled_from(["question", "missing", "section", "help"]))):
            question[member] = draw(TEXT)
        if draw(st.booleans()):
            question["ends"] = [draw(TEXT), draw(TEXT)]
        if draw(st.booleans()):
            question["shuffle"] = draw(
                st.sampled_from([{}, {"last": 1}, {"last": 0}, {"later": 1}])
            )
        questions.append(question)
        members = {"question": TEXT, "missing": TEXT, "categories": CATEGORIES, "later": TEXT}
        members |= {"help": TEXT, "ends": st.lists(TEXT, min_size=1, max_size=2)}
        chosen = draw(st.sets(st.sampled_from(sorted(members))))
        words[f"q{place}"] = {member: draw(members[member]) for member in chosen} | {"x": None}
    sections = draw(st.dictionaries(TEXT, TEXT, max_size=2))
    sections |= {one["section"]: draw(TEXT) for one in questions if "section" in one}
    translation = {"title": draw(TEXT), "attributes": words, "sections": sections}
    return {"name": "a", "attributes": questions, "translations": {"de": translation, "fr": {}}}


@settings(max_examples=60, deadline=None)
@drawn(translated(), st.lists(st.booleans(), min_size=2, max_size=2))
def test_a_form_that_is_sent_back_as_it_was_changes_nothing(
    manifest: dict[str, Any], opened: list[bool]
):
    form = form_of(manifest)
    for language, is_open in zip(form.languages, opened, strict=True):
        language.open = is_open
    given = sent(form)
    assert manifest_of(given, before=manifest) == manifest
    assert form_of(manifest_of(given)) == form_of(manifest)


@pytest.mark.parametrize("change", ODD)
def test_what_a_form_cannot_show_is_kept_as_it_is(change: dict[str, Any]):
    manifest = {"name": "work", "title": "Work", "version": 3, "attributes": []} | change
    assert manifest_of(sent(form_of(manifest)), before={}) == manifest
    assert manifest_of(sent(form_of(manifest))) == manifest


def test_changed_fields_change_the_manifest_and_nothing_else():
    manifest = make_draft(later=1, split={"weights": {"gender": 2, "age": 1, "country": "1.5"}})
    manifest["attributes"][1]["later"] = 2
    given = sent(form_of(manifest))
    given |= {"s-title": " New ", "q0-categories": " A \r\n\r\nB\r\n", "q2-low": "", "q2-high": ""}
    given |= {"q2-categories": "x\r\ny", "s-version": "x", "q1-weight": "3"}
    changes = manifest_of(given)
    assert (changes["title"], changes["version"], changes["later"]) == ("New", "x", 1)
    assert changes["attributes"][0]["categories"] == ["A", "B"]
    assert changes["attributes"][1]["later"] == 2
    assert changes["attributes"][2] == {
        "name": "country", "role": "sensitive", "protocol": "SS", "categories": ["x", "y"],
    }  # fmt: skip
    assert changes["split"] == {"weights": {"gender": "2", "age": "3", "country": "1.5"}}


def test_rows_of_a_table_keep_their_words_and_get_names():
    def words(changes: dict[str, str], act: str = "save") -> tuple[Any, Any]:
        given = sent(form_of(MATRIX)) | changes
        document = changed(manifest_of(given), act, given)[0]
        return document["attributes"][0], document["translations"]["de"]["attributes"]

    moved = words({"q0-items": "beer: Beer\r\nwine: Wine"})
    assert [one["name"] for one in moved[0]["items"]] == ["beer", "wine"]
    assert moved[1] == MATRIX["translations"]["de"]["attributes"]
    renamed = words({"q0-items": "red: Wine\r\nbeer: Beer"})[1]
    assert (renamed["red"], "wine" in renamed) == ({"question": "Wein"}, False)
    assert words({"q0-items": "Red wine\r\nbeer: Beer"})[0]["items"] == [
        {"name": "red-wine", "question": "Red wine"},
        {"name": "beer", "question": "Beer"},
    ]
    assert words({"q0-items": "茶\r\nbeer: Beer"})[0]["items"][0] == {"name": "", "question": "茶"}
    alone = words({"q0-items": "", "q0-rows": ""})
    assert not {"items", "together"} & set(alone[0])
    assert "wine" not in alone[1]
    assert set(words({}, "remove-0")[1]) == {"town", "tram", "pool"}


def test_questions_are_added_moved_and_removed():
    manifest: dict[str, Any] = {"attributes": [{"name": name} for name in ("question-3", "b")]}

    def names(act: str) -> tuple[list[str], str]:
        document, shown = changed(manifest, act)
        return [one["name"] for one in document["attributes"]], shown

    assert names("add") == (["question-3", "b", "question-4"], "q2")
    assert names("up-1") == (["b", "question-3"], "q0")
    assert names("down-0") == (["b", "question-3"], "q1")
    assert names("up-0") == (["question-3", "b"], "q0")
    assert names("down-1") == (["question-3", "b"], "q1")
    assert names("remove-1") == (["question-3"], "q0")
    for act in ("save", "remove-2", "up-x", "down-99999", ""):
        assert names(act) == (["question-3", "b"], "")
    assert changed({"attributes": [{}] * 256}, "add")[1] == ""
    assert changed({"attributes": "x"}, "add") == ({"attributes": "x"}, "")


@pytest.mark.parametrize("kept", ["{", "5", "[" * 100_000])
def test_a_form_that_was_tampered_with_keeps_nothing(kept: str):
    assert manifest_of({"s-kept": kept, "s-name": "x", "questions": "-1"}) == {
        "name": "x",
        "attributes": [],
    }


@pytest.fixture(params=["open", "closed"])
def words_after(request: pytest.FixtureRequest) -> Callable[..., dict[str, Any]]:
    """The German words of the manifest with every field, after fields of its form were changed."""

    def words_after(changes: dict[str, str], act: str = "save") -> dict[str, Any]:
        form = form_of(EVERYTHING)
        form.languages[0].open = request.param == "open"
        given = sent(form) | changes
        return changed(manifest_of(given), act, given)[0]["translations"]["de"]

    return words_after


def test_translations_stay_with_what_they_translate(words_after: Callable[..., dict[str, Any]]):
    german = EVERYTHING["translations"]["de"]
    renamed = words_after({"q0-name": "state"})
    assert renamed["attributes"] == {"state": german["attributes"]["health"]}
    assert words_after({}, "down-0") == german
    assert "attributes" not in words_after({}, "remove-0")
    assert words_after({}, "remove-2") == german
    for lines, answers in (
        ("Bad\nGood\nFair", ["Schlecht", "Gut", "Mittel"]),
        ("Best\nGood\nFair\nBad", ["", "Gut", "Mittel", "Schlecht"]),
        ("Good\nBad", ["Gut", "Schlecht"]),
        ("Good\nSo so\nBad", ["Gut", "Mittel", "Schlecht"]),
    ):
        words = words_after({"q0-categories": lines})["attributes"]["health"]
        assert words["categories"] == answers, lines
    numbers = words_after({"q0-categories": "", "q0-low": "1", "q0-high": "5"})
    assert "categories" not in numbers["attributes"]["health"]
    sections = words_after({"q1-section": "Score"})["sections"]
    assert sections == {"Health": "Gesundheit", "Work": "Arbeit"}
    sections = words_after({"q1-section": "Job", "q2-section": "Job"})["sections"]
    assert sections == {"Health": "Gesundheit", "Job": "Arbeit"}


def test_tables_of_translations_are_all_open_or_one_that_is_asked_for_or_lacks_texts():
    places = [f"Place {number}" for number in range(20)]
    questions = [{"name": f"q{n}", "role": "sensitive", "categories": places} for n in range(7)]
    words = {"title": "x", "attributes": {f"q{n}": {"categories": places} for n in range(7)}}
    manifest = {"name": "a", "title": "A", "attributes": questions}

    def open_of(languages: dict[str, Any], code: str = "") -> list[str]:
        form = form_of({**manifest, "translations": languages})
        open_tables(form.languages, code)
        return [language.code for language in form.languages if language.open]

    assert open_of({}) == []
    assert open_of({"de": words, "fr": {}}) == ["de", "fr"]
    three = {"de": words, "fr": words, "nl": words}
    assert open_of(three) == open_of(three, "xx") == ["de"]
    assert open_of(three, "nl") == ["nl"]
    assert open_of({**three, "fr": {}}) == ["fr"]
    assert open_of({**three, "fr": {}}, "de") == ["de"]
    assert changed({"translations": three}, "open-nl") == ({"translations": three}, "t2")
    assert changed({"translations": three}, "open-xx")[1] == ""
    assert changed({"translations": "x"}, "open-x")[1] == ""


@pytest.mark.parametrize("words", ["{", "5", '{"title": 5, "kept": "{}"}', '{"title": "\\ud800"}'])
def test_words_of_a_closed_table_that_were_tampered_with_are_no_translation(words: str):
    given = sent(form_of(EVERYTHING)) | {"t0-words": words}
    for name in [name for name in given if name.startswith("t0-") and name != "t0-words"]:
        if name != "t0-language":
            del given[name]
    assert manifest_of(given)["translations"] == {"de": {}}


def test_empty_cells_are_not_translated_and_counted():
    def words_after(changes: dict[str, str]) -> dict[str, Any]:
        given = sent(form_of(EVERYTHING)) | changes
        return manifest_of(given)["translations"]["de"]

    cells = [f"t0-{cell.name}" for cell in form_of(EVERYTHING).languages[0].cells]
    language = form_of(EVERYTHING).languages[0]
    assert (language.needed, language.lacking, language.as_they_are) == (11, 0, 1)
    emptied = words_after(dict.fromkeys(cells, ""))
    assert emptied == {}
    language = form_of({**EVERYTHING, "translations": {"de": emptied}}).languages[0]
    assert (language.needed, language.lacking, language.as_they_are) == (11, 11, 2)
    part = words_after({"t0-q0-a1": ""})["attributes"]["health"]
    assert part["categories"] == ["Gut", "", "Schlecht"]
    # What the survey no longer has is shown, so that its translation is emptied and not lost.
    german = words_after({"s-description": ""})
    assert german["description"] == "Zwei\nZeilen."
    without = {key: value for key, value in EVERYTHING.items() if key != "description"}
    names = [cell.name for cell in form_of(without).languages[0].cells]
    assert names[:2] == ["title", "description"]


def test_long_lists_are_translated_line_by_line():
    manifest = copy.deepcopy(EVERYTHING)
    places = [f"Place {number}" for number in range(40)]
    manifest["attributes"][0] = {"name": "place", "role": "sensitive", "categories": places}
    manifest["translations"] = {"de": {"attributes": {"place": {"categories": ["", "Ort 1"]}}}}
    form = form_of(manifest)
    assert form.languages[0].texts["q0-answers"] == "\nOrt 1"
    assert manifest_of(sent(form))["translations"] == manifest["translations"]
    words = manifest_of(sent(form) | {"t0-q0-answers": "\r\n".join(map(str, range(40)))})
    answers = words["translations"]["de"]["attributes"]["place"]["categories"]
    assert answers == [str(number) for number in range(40)]


def test_languages_come_and_go():
    manifest, shown = changed(EVERYTHING, "add-language", {"new-language": " pt-BR "})
    assert list(manifest["translations"]) == ["de", "pt-BR"]
    assert shown == "t1"
    assert list(changed(manifest, "drop-de")[0]["translations"]) == ["pt-BR"]
    assert "translations" not in changed(EVERYTHING, "drop-de")[0]
    assert changed(EVERYTHING, "drop-pt-BR") == (EVERYTHING, "")
    # A translation that is no table has no place on the page, and the button names its own.
    odd = {**manifest, "translations": {"fr": "no table", **manifest["translations"]}}
    assert list(changed(odd, "drop-de")[0]["translations"]) == ["fr", "pt-BR"]
    for tag, words in (
        ("", "no language is named"),
        ("en", "the language of the survey itself"),
        ("de", "translated already"),
        ("German", "a language is written as de"),
    ):
        with pytest.raises(InvalidParameter, match=words) as caught:
            changed(EVERYTHING, "add-language", {"new-language": tag})
        assert caught.value.field == "new-language"


def test_weights_of_a_removed_question_go_with_it():
    assert changed(EVERYTHING, "remove-1")[0]["split"] == {"weights": {"health": 2, "income": "1"}}


def test_pairs_of_a_removed_question_go_with_it():
    assert changed(EVERYTHING, "remove-1")[0]["pairs"] == [["health", "income"]]
    assert "pairs" not in changed(EVERYTHING, "remove-0")[0]
    marked = {"name": "a", "attributes": [], "pairs": []}
    assert manifest_of(sent(form_of(marked)) | {"s-pairs": "a, b"})["pairs"] == [["a", "b"]]


def test_moments_are_read_as_a_browser_writes_them():
    given = {"s-opens": "2027-01-31T09:00", "s-closes": "2027-02-28T18:00:30"}
    manifest = manifest_of(given)
    assert manifest["opens"] == "2027-01-31T09:00:00Z"
    assert manifest["closes"] == "2027-02-28T18:00:30Z"
    assert moment_of("2027-01-31T09:00:00Z") == "2027-01-31T09:00:00"
    assert moment_of("2027-02-31T09:00:00Z") is None
    assert moment_of("soon") is None


def declared(form, **more):
    """A field that a later release might add to the manifest's table."""
    said = dict.fromkeys(("allowed", "meaning", "reason", "example"), "x")
    return ManifestField(name="added", form=form, label="Added", **said, **more)


@pytest.mark.parametrize(
    ("form", "more", "kind", "member", "told"),
    [
        (text(50), {}, "text", "Ada", "Ada"),
        (text(50, lines=True), {}, "lines", "Ada\nBob", "Ada\nBob"),
        ({"type": "integer"}, {}, "numeric", 7, "7"),
        ({"type": "string", "pattern": TIME}, {}, "moment", "2027-01-31T09:00:30Z",
         "2027-01-31T09:00:30Z"),
        (list_of(text(50)), {}, "list", ["Ada", "Bob"], "Ada\nBob"),
        ({"type": "boolean"}, {"called": {"": "no", "on": "yes"}}, "switch", True, "on"),
        ({"type": "string", "enum": ["a", "b"]}, {"called": {"a": "first"}}, "choice", "b", "b"),
    ],
)  # fmt: skip
def test_a_field_of_the_table_is_read_and_written_by_its_declaration(
    monkeypatch, form, more, kind, member, told
):
    (control,) = FormTable.of([declared(form, **more)], rest="period").controls.values()
    assert control.kind == kind
    monkeypatch.setitem(SURVEY_FORM.controls, "added", control)
    shown = form_of({"name": "a", "attributes": [], "added": member})
    assert (shown.survey.texts["added"], "added" in shown.survey.kept) == (told, False)
    assert manifest_of(sent(shown))["added"] == member
    # A value of another type travels as it is.
    odd = {"name": "a", "attributes": [], "added": {"odd": 1}}
    assert form_of(odd).survey.kept["added"] == {"odd": 1}
    assert manifest_of(sent(form_of(odd))) == odd


def test_a_word_that_the_table_gets_has_a_cell_in_each_translation(monkeypatch):
    entry = declared(text(50, lines=True))
    monkeypatch.setattr(translation_fields, "WORDS", [*translation_fields.WORDS, entry])
    (control,) = FormTable.of([entry], rest="more").controls.values()
    monkeypatch.setitem(QUESTION.controls, "added", control)
    manifest = {
        "name": "a",
        "attributes": [{"name": "q", "role": "sensitive", "added": "One"}],
        "translations": {"de": {"attributes": {"q": {"added": "Eins"}}}},
    }
    form = form_of(manifest)
    (cell,) = (one for one in form.languages[0].cells if one.name == "q0-added")
    assert (cell.label, cell.original, cell.long) == ("Added", "One", True)
    assert manifest_of(sent(form)) == manifest
    assert form_of(manifest | {"translations": {"de": {}}}).languages[0].lacking == 1
