"""Refused requests in words: the field, its value and the remedy, and nothing of pydantic's own."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Literal

import pytest
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator
from pydantic_core import core_schema

from hushpoll_server.api.resources import drafts, plans, surveys, weighting
from hushpoll_server.api.resources.administration import tokens
from hushpoll_server.http.bodies import model_of
from hushpoll_server.http.wording import WANTED, form_of, words_of
from hushpoll_shared.jobs.registry import all_jobs

ROOT = Path(__file__).resolve().parents[3]
Word = Annotated[str, Field(min_length=1, max_length=3)]


class Asked(BaseModel):
    model_config = ConfigDict(extra="forbid")

    n: int = Field(1, ge=1, le=9, strict=True)
    share: float = Field(0.5, gt=0, lt=1, allow_inf_nan=False)
    form: Literal["csv", "json"] = "csv"
    words: list[Word] = Field(default_factory=list, max_length=2)
    either: dict[str, int | float | Word] = Field(default_factory=dict)
    raw: bool = False
    even: int = 0
    draft: str = Field("0" * 16, pattern=r"^[0-9a-f]{16}$")
    name: str = Field("a", pattern=r"^[a-z0-9_-]{1,64}$")
    kind: str = Field("seal", pattern=r"^(seal|train)$")

    @field_validator("even")
    @classmethod
    def check_even(cls, value: int) -> int:
        if value % 2:
            raise ValueError(f"it is odd; give {value + 1}")
        return value


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"n": "x"}, "n is 'x'; give a whole number"),
        ({"n": 0}, "n is 0; give at least 1"),
        ({"n": 10}, "n is 10; give at most 9"),
        ({"share": 0}, "share is 0; give more than 0"),
        ({"share": "a lot"}, "share is 'a lot'; give a number"),
        ({"share": float("nan")}, "share is nan; give a finite number"),
        ({"form": "xls"}, "form is 'xls'; give 'csv' or 'json'"),
        ({"words": "x"}, "words is 'x'; give a list"),
        ({"words": ["", "x"]}, "words.0 is ''; give at least 1 characters"),
        ({"words": ["long"]}, "words.0 is 'long'; give at most 3 characters"),
        ({"words": ["a", "b", "c"]}, "words is ['a', 'b', 'c']; give at most 2 entries"),
        ({"words": [5]}, "words.0 is 5; give a text, in quotes"),
        (
            {"either": {"x": [1]}},
            "either.x is [1]; give a whole number or a number or a text, in quotes",
        ),
        ({"raw": 7}, "raw is 7; give true or false"),
        ({"odd": 1}, "odd is 1; there is no such field; leave it out"),
        ({"even": 3}, "even is 3; it is odd; give 4"),
        ({"draft": "1"}, "draft is '1'; give 16 characters out of 0-9 and a-f"),
        ({"name": "A b"}, "name is 'A b'; give 1 to 64 characters out of a-z, 0-9, _ and -"),
        ({"kind": "fold"}, "kind is 'fold'; give seal or train"),
        ([], "body is []; give an object"),
    ],
)
def test_a_refused_field_is_told_in_words(body, words):
    with pytest.raises(ValidationError) as error:
        Asked.model_validate(body)
    assert words_of(error.value) == (words.split(" is ")[0], words)


def patterns(schema):
    """Yield the patterns of a JSON Schema, wherever they are in it."""
    if isinstance(schema, dict):
        if isinstance(schema.get("pattern"), str):
            yield schema["pattern"]
        for part in schema.values():
            yield from patterns(part)
    elif isinstance(schema, list):
        for part in schema:
            yield from patterns(part)


def test_no_request_is_refused_with_a_raw_pattern():
    document = json.loads((ROOT / "docs/reference/openapi.json").read_text())
    found = set(patterns(document))
    assert len(found) > 3
    assert [pattern for pattern in found if pattern in form_of(pattern)] == []


def kinds_of_errors(schema, found):
    """Collect the types of errors that a model's schema can give, by the kinds of its parts."""
    by_kind = {
        "int": {"int_type", "int_parsing", "int_from_float", "int_parsing_size"},
        "float": {"float_type", "float_parsing", "finite_number"},
        "str": {"string_type", "string_unicode"},
        "bool": {"bool_type", "bool_parsing"},
        "dict": {"dict_type", "too_long", "too_short"},
        "list": {"list_type", "too_long", "too_short"},
        "literal": {"literal_error"},
        "model-field": {"missing"},
        "model-fields": {"model_type", "extra_forbidden", "model_attributes_type"},
    }
    limits = {
        "ge": "greater_than_equal",
        "gt": "greater_than",
        "le": "less_than_equal",
        "lt": "less_than",
        "pattern": "string_pattern_mismatch",
    }
    if isinstance(schema, dict):
        found |= by_kind.get(str(schema.get("type")), set())
        found |= {error for key, error in limits.items() if schema.get(key) is not None}
        if schema.get("type") == "str" and "max_length" in schema:
            found |= {"string_too_long", "string_too_short"}
        for part in schema.values():
            kinds_of_errors(part, found)
    elif isinstance(schema, list | tuple):
        for part in schema:
            kinds_of_errors(part, found)
    return found


def test_every_error_that_a_request_can_give_has_words():
    """A new kind of check in a request's model fails here until it has words."""
    bodies: list[type[BaseModel]] = [model_of(job) for job in all_jobs().values()]
    asked = bodies + [
        model
        for module in (drafts, plans, surveys, tokens, weighting)
        for model in vars(module).values()
        if isinstance(model, type) and issubclass(model, BaseModel) and model is not BaseModel
    ]
    found: set[str] = set()
    for model in asked:
        schema: core_schema.CoreSchema = model.__pydantic_core_schema__
        kinds_of_errors(schema, found)
    assert len(found) > 15
    assert found - set(WANTED) == set()
