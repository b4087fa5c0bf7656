"""Matrices: what a draft's short form becomes, and which are refused."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import pytest

from hushpoll_protocols import InvalidParameter
from hushpoll_shared import Manifest, Published
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.survey.questions.matrices import matrix_of

SCALE = ["never", "monthly", "weekly"]
WORDS = {
    "title": "Getränke",
    "attributes": {
        "sex": {"question": "Geschlecht?"},
        "drinks": {"question": "Wie oft?", "categories": ["nie", "monatlich", "wöchentlich"]},
        "wine": {"question": "Wein"},
        "beer": {"question": "Bier"},
    },
}


def draft(**changes: Any) -> dict[str, Any]:
    drinks = {
        "name": "drinks",
        "role": "sensitive",
        "categories": SCALE,
        "question": "How often?",
        "items": [{"name": "wine", "question": "Wine"}, {"name": "beer", "question": "Beer"}],
        **changes,
    }
    return {
        "name": "drinks",
        "version": 1,
        "title": "Drinks",
        "epsilon": "3",
        "protocol": "SS",
        "language": "en",
        "attributes": [
            {"name": "sex", "role": "sensitive", "categories": ["f", "m"], "question": "Sex?"},
            {key: value for key, value in drinks.items() if value is not None},
        ],
    }


def published(document: dict[str, Any]) -> Published:
    survey = Manifest.from_dict(document).resolve()
    assert Published.from_json(survey.canonical).digest == survey.digest
    return survey


def test_items_are_attributes_with_the_answers_of_their_matrix() -> None:
    survey = published(draft(missing="not said", scale="ordinal", protocol="GRR"))
    assert survey.to_dict()["format"] == 2
    assert survey.to_dict()["matrices"] == [
        {"name": "drinks", "attributes": ["wine", "beer"], "question": "How often?"}
    ]
    assert [one.name for one in survey.attributes] == ["sex", "wine", "beer"]
    for name, text in (("wine", "Wine"), ("beer", "Beer")):
        item = survey.attribute(name)
        assert (item.question, item.protocol, item.scale) == (text, "GRR", "ordinal")
        assert item.domain == (*SCALE, "not said")
        assert matrix_of(survey.matrices, name) == survey.matrices[0]
    assert matrix_of(survey.matrices, "sex") is None


def test_items_alone_are_randomised_as_the_same_questions_without_a_matrix() -> None:
    document = draft()
    survey = published(document)
    alone = deepcopy(document)
    items = alone["attributes"][1].pop("items")
    common = {**alone["attributes"].pop(), "question": None}
    alone["attributes"] += [{**common, **item} for item in items]
    same = published(alone)
    assert same.to_dict()["format"] == 1
    assert same.layout.fields == survey.layout.fields
    assert same.budget == survey.budget


def test_items_together_are_one_block_of_the_matrix_s_name() -> None:
    survey = published(draft(together=True, protocol="GRR"))
    assert [block.name for block in survey.blocks] == ["sex", "drinks"]
    assert (survey.blocks[1].k, survey.blocks[1].oracle.name) == (9, "GRR")
    split = draft(together=True) | {"split": {"weights": {"sex": 1, "drinks": 2}}}
    assert str(published(split).budget["drinks"]) == "2"


def test_items_may_be_in_other_blocks_and_in_draws() -> None:
    together = draft() | {"together": [{"name": "pair", "attributes": ["sex", "wine"]}]}
    assert [block.name for block in published(together).blocks] == ["pair", "beer"]
    drawn = draft() | {"draws": [{"name": "one", "blocks": ["wine", "beer"], "answer": 1}]}
    assert published(drawn).attribute("beer").draw == "one"
    whole = draft(together=True) | {"answer": 1}
    assert published(whole).draws[0].blocks == ("sex", "drinks")


def test_a_matrix_may_be_a_follow_up_and_an_item_a_router() -> None:
    document = draft(ask_if={"sex": ["f"]})
    more = {"name": "why", "role": "sensitive", "range": [1, 3], "ask_if": {"beer": ["weekly"]}}
    document["attributes"].append(more)
    survey = published(document)
    assert survey.layout.code_answers({"sex": "m"}) == {"sex": 1, "wine": 3, "beer": 3, "why": 3}


@pytest.mark.parametrize("together", [None, True])
def test_a_draft_with_a_matrix_is_written_as_it_was_read(together: bool | None) -> None:
    document = draft(together=together, missing="x", range=[1, 3], categories=None)
    document["attributes"][1] |= {"protocol": "GRR", "section": "Habits"}
    words = deepcopy(WORDS)
    words["sections"] = {"Habits": "Gewohnheiten"}
    words["attributes"]["drinks"]["missing"] = "y"
    document["translations"] = {"de": words}
    read = Manifest.from_dict(document)
    written = read.to_dict()
    assert written["attributes"][1]["items"] == document["attributes"][1]["items"]
    assert written["attributes"][1].get("together") == together
    assert written["attributes"][1]["protocol"] == "GRR"
    assert written["translations"] == {"de": words}
    assert "matrices" not in written
    assert Manifest.from_dict(written) == read


def test_a_translation_has_the_answers_at_the_matrix_and_the_text_at_each_item() -> None:
    survey = published(draft() | {"translations": {"de": WORDS}})
    german = survey.wording("de")
    assert german.matrices == ("Wie oft?",)
    assert german.questions == ("Geschlecht?", "Wein", "Bier")
    assert german.domains[1] == german.domains[2] == ("nie", "monatlich", "wöchentlich")
    assert survey.wording("en").matrices == ("How often?",)
    assert published(draft(question=None)).wording().matrices == ("drinks",)


ITEM = {"name": "wine", "question": "Wine"}
PATH = "attributes[drinks]"


@pytest.mark.parametrize(
    ("changes", "field", "words"),
    [
        ({"items": []}, f"{PATH}.items", "has 0 entries; a matrix has 2 items or more"),
        ({"items": [ITEM]}, f"{PATH}.items", "leave items out"),
        ({"items": {"wine": "Wine"}}, f"{PATH}.items", "is no list"),
        ({"items": ["Wine", "Beer"]}, f"{PATH}.items[0]", "a mapping with a name and a question"),
        ({"items": [ITEM, {"name": "beer"}]}, f"{PATH}.items[1].question", "has no question"),
        ({"items": [ITEM, {**ITEM, "name": "a b"}]}, f"{PATH}.items[1].name", "a b"),
        ({"items": [ITEM, ITEM]}, f"{PATH}.items[1].name", "another of its items.*rename one"),
        ({"items": [ITEM, {**ITEM, "name": "drinks"}]}, f"{PATH}.items[1].name", "the matrix"),
        ({"items": [ITEM, {"name": "b", "question": 3}]}, f"{PATH}.items[1].question", "is a text"),
        ({"items": [ITEM, {"name": "b", "question": "a "}]}, f"{PATH}.items[1].question", "a "),
        ({"items": [ITEM, {**ITEM, "name": "sex"}]}, "attributes[sex].name", "two entries named"),
        (
            {"items": [ITEM, {**ITEM, "name": "b", "categories": ["no", "yes"]}]},
            f"{PATH}.items[1].categories",
            "unknown key 'categories'; the keys are name, question",
        ),
        ({"select": {}}, f"{PATH}.select", "has items and select.*leave select out"),
        ({"number": {"low": 1, "high": 3}, "categories": None}, f"{PATH}.number", "has items and"),
        ({"role": "target"}, f"{PATH}.role", "is the target and has items"),
        ({"role": "plain", "together": True}, f"{PATH}.together", "leave together out"),
        ({"together": "yes"}, f"{PATH}.together", "it is true.*or false"),
        ({"items": None, "together": True}, f"{PATH}.together", "the question has no items"),
        ({"categories": ["x", "x"]}, f"{PATH}.categories", "twice"),
        (
            {"ask_if": {"wine": ["weekly"]}},
            "attributes[drinks].ask_if",
            "names wine, an item of the same matrix",
        ),
    ],
)
def test_a_matrix_that_cannot_be_is_refused(
    changes: dict[str, Any], field: str, words: str
) -> None:
    with pytest.raises(InvalidParameter, match=rf"(?s){words}") as caught:
        Manifest.from_dict(draft(**changes))
    assert caught.value.field == field


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"together": [{"name": "b", "attributes": ["sex", "drinks"]}]}, "together[b].attributes"),
        ({"pairs": [["sex", "drinks"]]}, "pairs"),
        (
            {"protected": {"attribute": "drinks", "privileged": "a", "unprivileged": "b"}},
            "protected.attribute",
        ),
    ],
)
def test_a_matrix_where_a_question_is_named_is_refused_with_its_items(
    changes: dict[str, Any], field: str
) -> None:
    with pytest.raises(InvalidParameter, match=r"drinks, a matrix.*wine, beer") as caught:
        Manifest.from_dict(draft() | changes)
    assert caught.value.field == field


def test_a_matrix_as_a_router_is_refused_with_its_items() -> None:
    document = draft()
    more = {"name": "why", "role": "sensitive", "range": [1, 3], "ask_if": {"drinks": ["weekly"]}}
    document["attributes"].append(more)
    with pytest.raises(InvalidParameter, match=r"names drinks, a matrix.*wine, beer") as caught:
        Manifest.from_dict(document)
    assert caught.value.field == "attributes[why].ask_if"


def test_an_item_of_two_matrices_is_refused() -> None:
    document = draft()
    document["attributes"].append({**document["attributes"][1], "name": "more"})
    with pytest.raises(InvalidParameter, match=r"two entries named wine.*rename one"):
        Manifest.from_dict(document)


@pytest.mark.parametrize(
    ("path", "value", "field"),
    [
        (["attributes", "drinks", "question"], None, "attributes[drinks].question"),
        (["attributes", "wine", "question"], None, "attributes[wine].question"),
        (["attributes", "wine", "categories"], ["a", "b", "c"], "attributes[wine].categories"),
        (["attributes", "drinks", "unit"], "l", "attributes[drinks].unit"),
        (["matrices"], {"drinks": "Wie?"}, "matrices"),
    ],
)
def test_a_translation_of_a_matrix_that_is_not_whole_is_refused(
    path: list[str], value: object, field: str
) -> None:
    words: Any = deepcopy(WORDS)
    place = words
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    with pytest.raises(InvalidParameter) as caught:
        Manifest.from_dict(draft() | {"translations": {"de": words}})
    assert caught.value.field == f"translations[de].{field}"


def test_all_problems_of_matrices_are_told_at_once() -> None:
    document = draft(items=[ITEM, {"name": "wine", "question": "W"}], together=True)
    document["attributes"][0]["categories"] = ["f", "f"]
    found = [(one.field, one.position) for one in manifest_problems(document)]
    assert found == [("attributes[sex].categories", 0), (f"{PATH}.items[1].name", 1)]
    weak = draft(together=True, categories=[f"c{place}" for place in range(300)])
    assert [one.field for one in manifest_problems(weak)] == ["together[drinks].attributes"]
    twice = draft()
    twice["attributes"].append({"name": "beer", "role": "sensitive", "range": [1, 2]})
    assert [(one.field, one.position) for one in manifest_problems(twice)] == [
        ("attributes[beer].name", 2)
    ]
