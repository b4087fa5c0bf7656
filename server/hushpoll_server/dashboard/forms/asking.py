"""Asking for a job by a form: its parameters checked, the job added, and the act recorded."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from hushpoll_server.dashboard.frame import member
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.http.wording import words_of
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.jobs.learners import learners
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow
from hushpoll_shared.spelling.json_values import JsonObject


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
