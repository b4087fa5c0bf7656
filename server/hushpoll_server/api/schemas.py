"""Queries and results of `hushpoll_shared.queries` as pydantic's models, for checks and OpenAPI."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from functools import cache
from typing import Any, Final, Literal, get_args, get_origin, get_type_hints

from pydantic import BaseModel, Field, create_model

from hushpoll_server.api.models.common import Answer, TableQuery
from hushpoll_server.api.models.results import Pending, VersionResult
from hushpoll_server.http.bodies import field_of
from hushpoll_shared.qualifying.domains import Where
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.querying.documents import alternatives
from hushpoll_shared.querying.query import Parameter, Query
from hushpoll_shared.querying.result import Result


def parameters_of(query: type[Query[Any]]) -> type[TableQuery]:
    """Return the parameters of a query's route; those that queries share stand first."""
    ordered = sorted(query.parameters(), key=lambda parameter: not parameter.common)
    named: dict[str, Any] = {parameter.name: _parameter(parameter) for parameter in ordered}
    return create_model(
        f"{query.__name__}Query", __base__=TableQuery, __doc__=query.__doc__, **named
    )


def _parameter(parameter: Parameter) -> tuple[Any, Any]:
    kind: Any = Literal[parameter.choices] if parameter.choices else parameter.kind
    return (kind | None if parameter.default is None else kind), field_of(parameter)


def answer_of(query: type[Query[Any]]) -> type[BaseModel]:
    """Return the documented form of a query's result."""
    members = _members(query.result_type)
    base: type[BaseModel] = Answer
    if not query.compares:  # a comparison says of each side which version it is
        base = VersionResult
        place = 1 + list(members).index("n")
        items = list(members.items())
        members = dict([*items[:place], ("pending", (int | None, Pending)), *items[place:]])
    return _model(f"{query.__name__}Answer", base, query.result_type, members)


@cache
def row_model(kind: type) -> type[BaseModel]:
    """Return the documented form of a part of results."""
    return _model(getattr(kind, "schema", kind.__name__), Answer, kind, _members(kind))


def _model(
    name: str, base: type[BaseModel], kind: type, members: dict[str, Any]
) -> type[BaseModel]:
    return create_model(name, __base__=base, __doc__=kind.__doc__, **members)


def _members(kind: type) -> dict[str, Any]:
    hints = get_type_hints(kind)
    members = {
        member.name: (_documented(hints[member.name]), Field(**dict(member.metadata)))
        for member in fields(kind)
        if member.name != "about"  # which is `VersionResult`, or a member of the comparison
    }
    if issubclass(kind, Result):  # only an answer about a domain, or about options, has them
        told, options = members.pop("where")[1], members.pop("options")[1]
        del members["small_groups"]  # who has a token may export
        members["where"] = (Where, Field(default=None, description=told.description))
        texts = Field(default=None, description=options.description)
        members["options"] = (dict[str, str], texts)
    return members


def _documented(hint: Any) -> Any:
    (kind,), optional = alternatives(hint)
    if optional:
        return _documented(kind) | None
    if get_origin(kind) is tuple:
        return list[_documented(get_args(kind)[0])]  # type: ignore[misc]  # made while running
    return row_model(kind) if is_dataclass(kind) and isinstance(kind, type) else kind


RESULT_VERDICT: Final = row_model(Verdict)
"""The verdict of a result, as answers have it that are about no query."""
