"""Asking for a job by a form: its parameters checked, the job added, and the act recorded."""

from __future__ import annotations

from typing import Any, Final, NamedTuple

from flask import request
from pydantic import ValidationError

from hushpoll_server.dashboard.frame import dashboard, member, number_in
from hushpoll_server.errors import Refused
from hushpoll_server.http.bodies import model_of
from hushpoll_server.http.endpoint import services
from hushpoll_server.http.wording import words_of
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.jobs.learners import learners
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.querying.query import parameters_of
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
        given = model_of(kind.declared).model_validate(values).given()
    except ValidationError as error:
        field, words = words_of(error)
        raise Refused("invalid-request", words, field=field) from None
    return kind.ask(services(), row, given, by=member().id, actor=member().actor)


_PARSED: Final = {int: int, float: float, str: str}


def given_in_form(kind_name: str) -> JsonMembers:
    """Return what a form says of a job's parameters, read as the kind declares them.

    Lists and mappings are left to the view, and what is empty is left out.
    """
    given: JsonMembers = {}
    for one in parameters_of(KINDS[kind_name].declared):
        text = request.form.get(one.name, "")
        if not text.strip():
            continue
        if one.kind is bool:
            given[one.name] = True
        elif one.kind in _PARSED:
            parse = _PARSED[one.kind]
            given[one.name] = text if parse is str else number_in(one.name, text.strip(), parse)
    return given


@dashboard.app_template_global()
def declared(kind_name: str, name: str) -> Declared:
    """Return what a label says of a job's parameter."""
    (said,) = (one for one in parameters_of(KINDS[kind_name].declared) if one.name == name)
    return Declared(said.default, f"[{said.least:,}, {said.most:,}]")


class Declared(NamedTuple):
    """The default of a number, and the interval that it lies in."""

    default: Any
    interval: str


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
