"""Answers of routes: the documents of `hushpoll_shared.wire.documents` as pydantic's models.

A document is declared once, as a ``TypedDict`` for both sides, or as a result's dataclass. Its
model is made when it is first needed: the API's document shows it, and it refuses an answer with
members that are not declared.
"""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import (
    Annotated,
    Any,
    NotRequired,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    is_typeddict,
)

from pydantic import BaseModel, ConfigDict, Field, create_model

from hushpoll_shared.querying.documents import alternatives
from hushpoll_shared.spelling.json_values import Facts, JsonMembers, JsonObject


class Answer(BaseModel):
    """What a route answers: it has the documented members and no others."""

    model_config = ConfigDict(extra="forbid")


def checked_document(kind: Any, document: Any, *, nulls: bool) -> JsonMembers:
    """Return a document as JSON has it; one with members that its kind does not have is refused.

    Members that are None are left out, unless `nulls`: then those that were given are null.
    """
    answer = answer_model(kind).model_validate(document)
    return answer.model_dump(exclude_none=not nulls, exclude_unset=nulls)


@cache
def answer_model(kind: Any) -> type[Answer]:
    """Return the model of a document, which is a ``TypedDict``."""
    members: dict[str, Any] = {name: _member(hint) for name, hint in kind.__annotations__.items()}
    name = kind.__name__.replace("Document", "Answer")
    return create_model(name, __base__=Answer, __doc__=kind.__doc__, **members)


def _member(hint: Any) -> tuple[Any, Any]:
    """Return a member's type and field; one that may be missing is null by default."""
    kind, facts = _told(hint)
    kind = documented(kind)
    return (kind | None if facts.get("default", kind) is None else kind), Field(**facts)


def _told(hint: Any) -> tuple[Any, dict[str, Any]]:
    """Return a member's type, and what is declared with it as arguments of a field."""
    if get_origin(hint) is NotRequired:
        kind, facts = _told(get_args(hint)[0])
        return kind, {"default": None} | facts
    (inner, *others), optional = alternatives(hint)
    if others or get_origin(inner) is not Annotated:
        return hint, {}
    inner, *told = get_args(inner)
    kind, facts = _told(inner)
    for fact in told:
        if isinstance(fact, str):
            facts["description"] = fact
        elif isinstance(fact, Facts):
            facts |= {"pattern": fact.pattern, "examples": fact.example and [fact.example]}
            facts |= {} if fact.default is None else {"default": fact.default}
        else:  # the type that is documented
            kind, optional = fact, optional or alternatives(kind)[1]
    return (kind | None if optional else kind), facts


def documented(hint: Any) -> Any:
    """Return a type as pydantic takes it: lists for tuples, models for documents.

    A document all of whose members may be missing is a free object.
    """
    if hint == JsonObject or (is_typeddict(hint) and not hint.__required_keys__):
        return dict[str, object]
    kinds, optional = alternatives(hint)
    if optional or len(kinds) > 1:
        return Union[(*map(documented, kinds), *((None,) if optional else ()))]
    origin, inner = get_origin(hint), get_args(hint)
    if origin in (tuple, list):
        return list[documented(inner[0])]  # type: ignore[misc]  # made while running
    if origin is dict:
        return dict[documented(inner[0]), documented(inner[1])]  # type: ignore[misc]
    if is_typeddict(hint):
        return answer_model(hint)
    return row_model(hint) if is_dataclass(hint) and isinstance(hint, type) else hint


@cache
def row_model(kind: Any) -> type[Answer]:
    """Return the model of a part of results, which is a dataclass."""
    name = getattr(kind, "schema", kind.__name__)
    return create_model(name, __base__=Answer, __doc__=kind.__doc__, **row_members(kind))


def row_members(kind: Any, *without: str) -> dict[str, Any]:
    """Return the types and fields of a dataclass, but for some."""
    hints = get_type_hints(kind)
    return {
        member.name: (documented(hints[member.name]), Field(**dict(member.metadata)))
        for member in fields(kind)
        if member.name not in without
    }
