"""Kept results of a survey's version: models, audits, regressions; and what may be trained.

The result of an audit or a regression is its job's; a model has a card and a file besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response

from hushpoll_server.api.models.common import Answer, Strict, VersionPath
from hushpoll_server.api.models.kept_results import (
    AuditList,
    AuditPath,
    LearnerList,
    ModelAnswer,
    ModelPath,
    RegressionList,
    RegressionPath,
    RunList,
)
from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.endpoint import current_grant, json_answer, log_act, services
from hushpoll_server.jobs.learners import learners as learners_of
from hushpoll_server.services.people.actions import LOOKED
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.services.services import Services
from hushpoll_shared.jobs.analyses import Regress
from hushpoll_shared.jobs.job import KeptJob
from hushpoll_shared.jobs.training import Fairness, Train


def _routes(
    job: type[KeptJob],
    results: Callable[[Services], KeptResults[Any]],
    answer: type[Answer],
    path: type[Strict],
) -> Routes:
    """Return the routes that list the results of a kind, and that delete one.

    `answer`, a list, is a model with one field, and so is `path`, whose field is the result's id.
    """
    noun = job.kept.noun
    api = Routes(f"{noun}s")
    (listed,), (id_field,) = answer.model_fields, path.model_fields

    def list_all(path: VersionPath) -> Response:
        parts = services()
        row = parts.surveys.version(path.name, path.version)
        entries = results(parts).list_for(current_grant().actor, row)
        return json_answer(answer.model_validate({listed: entries}))

    def delete(path: Any) -> Response:
        grant, service = current_grant(), results(services())
        found, _ = service.covered(getattr(path, id_field), grant)
        service.delete(found, grant, actor=grant.actor)
        return Response(status=204)

    list_all.__name__, list_all.__doc__ = f"list_{noun}s", job.kept.listing
    delete.__name__, delete.__doc__ = f"delete_{noun}", job.kept.deletion
    delete.__annotations__["path"] = path
    api.operation("GET", f"{VERSION}/{noun}s", answer, scope="read", act=f"{LOOKED}{noun}s")(
        list_all
    )
    api.operation(
        "DELETE", f"/{noun}s/<{id_field}>", None, 409, scope=job.scope, act=f"deleted-{noun}"
    )(delete)
    return api


models = _routes(Train, lambda parts: parts.models, RunList, ModelPath)
audits = _routes(Fairness, lambda parts: parts.audits, AuditList, AuditPath)
regressions = _routes(Regress, lambda parts: parts.regressions, RegressionList, RegressionPath)


@models.operation("GET", f"{VERSION}/learners", LearnerList, 501, scope="read")
def learners(path: VersionPath) -> Response:
    """List the learners, which of them may run on the version's records here, and why not others.

    Each parameter has its type, its closed interval on this server, and its default.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    return json_answer(LearnerList.model_validate(learners_of(parts, row)))


@models.operation(
    "GET", "/models/<model_id>", ModelAnswer, 409, 501, scope="read", act="looked-at-models"
)
def show_model(path: ModelPath) -> Response:
    """Read a model's card."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    answer = ModelAnswer(id=job.id, card=parts.models.card(job))
    log_act(row)
    return json_answer(answer, nulls=True)


@models.operation(
    "GET",
    "/models/<model_id>/file",
    file_of("What `hushpoll train --out` writes, as a ZIP.", ["application/zip"]),
    409,
    501,
    scope="read",
    act="fetched-train",
)
def model_file(path: ModelPath) -> Response:
    """Fetch a model as a ZIP: unzip it, and `hushpoll predict` reads the folder."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    answer = Response(parts.jobs.result(job), mimetype=job.media_type)
    log_act(row, subject=job.id)
    answer.headers["Content-Length"] = str(job.size)
    answer.headers["Content-Disposition"] = f'attachment; filename="{job.file_name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer
