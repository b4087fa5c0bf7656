"""A declared job becomes the body of its route: types, bounds, sizes and sentences, once said."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, ClassVar, Literal, get_args

import pytest
from pydantic import ValidationError

from hushpoll_server.http.bodies import model_of
from hushpoll_server.http.wording import words_of
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_shared.jobs.job import Job, Size, Word
from hushpoll_shared.jobs.registry import all_jobs
from hushpoll_shared.querying import query
from hushpoll_shared.wire.documents.jobs import JobName


@dataclass(frozen=True, kw_only=True)
class Rank(Job):
    """Ask a worker to rank the categories of attributes."""

    name: ClassVar[str] = "rank"
    scope: ClassVar[str] = "read"
    words: ClassVar[str] = "a ranking"
    body: ClassVar[str] = "What is ranked."

    attributes: Annotated[tuple[Word, ...], Size(1, 3)] = query.parameter("Attributes.")
    order: Literal["up", "down"] = query.parameter("Of the categories.", "down")
    share: float | None = query.parameter("That is left out.", None, above=0, below=1)
    seed: int = query.parameter("Of ties.", 0, least=0, most=9, strict=True)


def test_the_body_has_what_the_job_declares():
    schema = model_of(Rank).model_json_schema()
    assert (schema["title"], schema["description"]) == ("RankParameters", "What is ranked.")
    assert schema["required"] == ["attributes"]
    assert schema["properties"]["attributes"] == {
        "description": "Attributes.",
        "items": {"maxLength": 64, "minLength": 1, "type": "string"},
        "maxItems": 3,
        "minItems": 1,
        "title": "Attributes",
        "type": "array",
    }
    assert schema["properties"]["order"]["enum"] == ["up", "down"]
    assert schema["properties"]["share"]["anyOf"][0] == {
        "exclusiveMaximum": 1,
        "exclusiveMinimum": 0,
        "type": "number",
    }


@pytest.mark.parametrize(
    ("body", "words"),
    [
        ({"attributes": []}, "attributes is []; give at least 1 entry"),
        ({"attributes": ["age"], "share": 1}, "share is 1; give less than 1"),
        ({"attributes": ["age"], "seed": "1"}, "seed is '1'; give a whole number"),
        ({"attributes": ["age"], "top": 1}, "top is 1; there is no such field; leave it out"),
    ],
)
def test_a_body_is_refused_by_its_field(body, words):
    with pytest.raises(ValidationError) as error:
        model_of(Rank).model_validate(body)
    assert words_of(error.value)[1] == words


def test_a_body_becomes_the_job():
    given = model_of(Rank).model_validate({"attributes": ["age"]}).as_json()
    assert given == {"attributes": ["age"], "order": "down", "seed": 0}
    assert Rank.of_json(given) == Rank(attributes=("age",))


def test_every_declared_job_has_its_work():
    assert set(KINDS) == set(all_jobs()) == set(get_args(JobName))
    assert all(KINDS[name].declared is all_jobs()[name] for name in all_jobs())
