"""A declared document becomes the answer of its route: members, texts and types, once said."""

from typing import Annotated, Literal, NotRequired, TypedDict, is_typeddict

import pytest
from flask import Flask
from pydantic import ValidationError

from hushpoll_server.http.answers import answer_model, checked_document
from hushpoll_server.http.endpoint import Answered, Operation, answer_of, checked
from hushpoll_server.web_application import OPERATIONS
from hushpoll_shared.spelling.json_values import Facts, JsonObject
from hushpoll_shared.wire.documents.plans import PairPlan

Colour = Annotated[str, "In words.", Facts(pattern="^[a-z]+$", example="red")]


class Lace(TypedDict, total=False):
    length: float | None


class ShoeDocument(TypedDict):
    """A shoe."""

    colour: Colour
    lined: Annotated[Colour | None, "Null without a lining."]
    size: Annotated[NotRequired[int], "European."]
    worn: Annotated[NotRequired[bool], Facts(default=False)]
    laces: dict[str, Lace]
    free: JsonObject


class PairDocument(TypedDict):
    """Two shoes."""

    kind: Annotated[str, Literal["left and right", "two left"]]
    shoes: list[ShoeDocument]


def shoe(**more):
    return {"colour": "red", "lined": None, "laces": {}, "free": {}} | more


def test_the_model_says_what_the_document_declares():
    schema = answer_model(ShoeDocument).model_json_schema()
    assert (schema["title"], schema["description"]) == ("ShoeAnswer", "A shoe.")
    assert schema["required"] == ["colour", "lined", "laces", "free"]
    assert schema["additionalProperties"] is False
    members = schema["properties"]
    assert members["colour"] == {
        "description": "In words.",
        "examples": ["red"],
        "pattern": "^[a-z]+$",
        "title": "Colour",
        "type": "string",
    }
    text = {"type": "string", "pattern": "^[a-z]+$"}
    assert members["lined"]["anyOf"] == [text, {"type": "null"}]
    assert members["lined"]["description"] == "Null without a lining."
    assert members["size"]["anyOf"] == [{"type": "integer"}, {"type": "null"}]
    assert (members["size"]["default"], members["size"]["description"]) == (None, "European.")
    assert (members["worn"]["default"], members["worn"]["type"]) == (False, "boolean")


def test_documents_in_documents_have_models_and_free_ones_are_objects():
    schema = answer_model(PairDocument).model_json_schema()
    assert schema["properties"]["kind"]["enum"] == ["left and right", "two left"]
    assert schema["properties"]["shoes"]["items"] == {"$ref": "#/$defs/ShoeAnswer"}
    members = schema["$defs"]["ShoeAnswer"]["properties"]
    assert members["free"]["type"] == "object"
    assert members["laces"]["additionalProperties"] == {
        "additionalProperties": True,
        "type": "object",
    }
    pair = answer_model(PairPlan).model_json_schema()
    assert pair["properties"]["verdict"]["anyOf"][0] == {"$ref": "#/$defs/ResultVerdict"}


@pytest.mark.parametrize(
    "document",
    [
        shoe(heel=1),
        {"colour": "red"},
        shoe(size="wide"),
        shoe(colour="Red 7"),
        shoe(laces={"a": 1}),
    ],
    ids=["undeclared", "missing", "type", "pattern", "nested"],
)
def test_an_answer_that_is_not_what_was_declared_is_refused(document):
    with pytest.raises(ValidationError):
        checked_document(ShoeDocument, document, nulls=False)


def test_members_that_are_none_are_left_out_or_null():
    document = shoe(size=None, laces={"a": {"length": None}})
    left_out = {"colour": "red", "laces": {"a": {"length": None}}, "free": {}, "worn": False}
    assert checked_document(ShoeDocument, document, nulls=False) == left_out
    assert checked_document(ShoeDocument, document, nulls=True) == document


def a_shoe() -> ShoeDocument:
    return shoe()


def a_made_shoe() -> Answered[ShoeDocument]:
    return Answered(shoe(), headers={"Location": "/shoes/1"}, etag="7")


def no_shoe() -> None:
    return None


def answered(view, method="GET", **headers):
    operation = Operation("view", method, "/", (), None, answer_of(view), 201)
    with Flask("shop").test_request_context(method=method, headers=headers):
        return checked(operation, view)()


def test_a_view_answers_the_document_that_it_returns():
    answer = answered(a_shoe)
    assert (answer.status_code, answer.get_json()["colour"]) == (201, "red")
    assert answer.headers["Cache-Control"] == "no-store"
    made = answered(a_made_shoe)
    assert (made.status_code, made.headers["Location"], made.get_etag()[0]) == (
        201,
        "/shoes/1",
        "7",
    )
    nothing = answered(no_shoe)
    assert (nothing.status_code, nothing.get_data()) == (204, b"")


def test_a_document_that_is_known_is_not_sent_again():
    assert answered(a_made_shoe, **{"If-None-Match": '"7"'}).status_code == 304
    assert answered(a_made_shoe, **{"If-None-Match": '"6"'}).status_code == 201
    assert answered(a_made_shoe, "PUT", **{"If-None-Match": '"7"'}).status_code == 201


def test_every_document_of_a_route_has_a_model():
    kinds = [operation.answer for operation in OPERATIONS if is_typeddict(operation.answer)]
    assert len(kinds) > 30
    for kind in kinds:
        assert set(answer_model(kind).model_fields) == set(kind.__annotations__)
