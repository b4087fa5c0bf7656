"""Asking for a job by a form: its parameters checked, the job added, and the act recorded."""

from __future__ import annotations

from types import UnionType
from typing import Annotated, Any, Final, Literal, NamedTuple, Union, get_args, get_origin

from flask import request
from pydantic import ValidationError

from hushpoll_server.dashboard.frame import dashboard, member, number_in
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.http.wording import words_of
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.jobs.learners import learners
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject


def ask_for(row: VersionRow, kind_name: str, values: JsonObject) -> JobRow:
    """Ask for a job in the name of the user of this request, by the parameters of its kind.

    Raises
    ------
    Refused
        ``invalid-request``, naming the field; what the kind's own check refuses, with
        `InvalidParameter`.
    """
    kind = KINDS[kind_name]
    try:
        parameters = kind.parameters.model_validate(values)
    except ValidationError as error:
        field, words = words_of(error)
        raise Refused("invalid-request", words, field=field) from None
    return kind.ask(services(), row, parameters, by=member().id, actor=member().actor)


_PARSED: Final = {int: int, float: float, str: str}


def given_in_form(kind_name: str) -> JsonMembers:
    """Return what a form says of a job's parameters, read as the kind declares them.

    Lists and mappings are left to the view, and what is empty is left out.
    """
    given: JsonMembers = {}
    for name, declared in KINDS[kind_name].parameters.model_fields.items():
        text, types = request.form.get(name, ""), _types_of(declared.annotation)
        if not text.strip():
            continue
        if bool in types:
            given[name] = True
        elif parse := next((_PARSED[one] for one in types if one in _PARSED), None):
            given[name] = text if parse is str else number_in(name, text.strip(), parse)
    return given


@dashboard.app_template_global()
def declared(kind_name: str, name: str) -> Declared:
    """Return what a label says of a job's parameter."""
    field = KINDS[kind_name].parameters.model_fields[name]
    (least,) = (one.ge for one in field.metadata if hasattr(one, "ge"))
    (most,) = (one.le for one in field.metadata if hasattr(one, "le"))
    return Declared(field.get_default(), f"[{least:,}, {most:,}]")


class Declared(NamedTuple):
    """The default of a number, and the interval that it lies in."""

    default: Any
    interval: str


def _types_of(annotation: Any) -> tuple[Any, ...]:
    """Return the types of an annotation; of words to choose from, text."""
    if get_origin(annotation) is Annotated:
        return _types_of(get_args(annotation)[0])
    if get_origin(annotation) in (Union, UnionType):
        return tuple(one for part in get_args(annotation) for one in _types_of(part))
    return (str,) if get_origin(annotation) is Literal else (annotation,)


def learners_in_form(row: VersionRow) -> dict[str, Any]:
    """Return what a form has in which a learner is chosen; None, and what the server lacks."""
    try:
        known = learners(services(), row)
    except Refused as refusal:
        if refusal.code != "missing-extra":
            raise
        return {"form": None, "missing": refusal.detail}
    pairs = [(one["name"], f"{one['name']}: {one['description']}") for one in known["encodings"]]
    return {"form": {**known, "encodings": pairs}}
