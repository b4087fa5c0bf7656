"""Kept results of a survey's version: models, audits, regressions; and what may be trained.

The result of an audit or a regression is its job's; a model has a card and a file besides.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from flask import Response
from pydantic import Field

from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.bodies import Parameters
from hushpoll_server.http.endpoint import current_grant, file_answer, log_act, services
from hushpoll_server.jobs.learners import learners as learners_of
from hushpoll_server.services.people.actions import LOOKED
from hushpoll_server.services.results.kept_results import KeptResults
from hushpoll_server.services.services import Services
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.jobs.analyses import Regress
from hushpoll_shared.jobs.job import KeptJob
from hushpoll_shared.jobs.training import Fairness, Train
from hushpoll_shared.wire.documents.kept_results import (
    AuditList,
    LearnerList,
    ModelDocument,
    RegressionList,
    RunList,
)


class ModelPath(Parameters):
    """A model by the id of the job that trained it."""

    model_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The id of the job `train`.")


class AuditPath(Parameters):
    """An audit by the id of its job."""

    audit_id: str = Field(pattern=r"^[0-9a-f]{32}$", description="The id of the job `fairness`.")


class RegressionPath(Parameters):
    """A regression by the id of its job."""

    regression_id: str = Field(
        pattern=r"^[0-9a-f]{32}$", description="The id of the job `regress`."
    )


def _routes(
    job: type[KeptJob],
    results: Callable[[Services], KeptResults[Any]],
    answer: Any,
    path: type[Parameters],
) -> Routes:
    """Return the routes that list the results of a kind, and that delete one.

    `answer`, a list, is a document with one member, and `path` has one field, the result's id.
    """
    noun = job.kept.noun
    api = Routes(f"{noun}s")
    (listed,), (id_field,) = answer.__annotations__, path.model_fields

    def list_all(row: VersionRow) -> Any:
        parts = services()
        return {listed: results(parts).list_for(current_grant().actor, row)}

    def delete(path: Any) -> None:
        grant, service = current_grant(), results(services())
        found, _ = service.covered(getattr(path, id_field), grant)
        service.delete(found, grant, actor=grant.actor)

    list_all.__name__, list_all.__doc__ = f"list_{noun}s", job.kept.listing
    delete.__name__, delete.__doc__ = f"delete_{noun}", job.kept.deletion
    list_all.__annotations__["return"], delete.__annotations__["path"] = answer, path
    api.operation("GET", f"{VERSION}/{noun}s", scope="read", act=f"{LOOKED}{noun}s")(list_all)
    api.operation("DELETE", f"/{noun}s/<{id_field}>", 409, scope=job.scope, act=f"deleted-{noun}")(
        delete
    )
    return api


models = _routes(Train, lambda parts: parts.models, RunList, ModelPath)
audits = _routes(Fairness, lambda parts: parts.audits, AuditList, AuditPath)
regressions = _routes(Regress, lambda parts: parts.regressions, RegressionList, RegressionPath)


@models.operation("GET", f"{VERSION}/learners", 501, scope="read")
def learners(row: VersionRow) -> LearnerList:
    """List the learners, which of them may run on the version's records here, and why not others.

    Each parameter has its type, its closed interval on this server, and its default.
    """
    parts = services()
    return learners_of(parts, row)


@models.operation(
    "GET",
    "/models/<model_id>",
    409,
    501,
    scope="read",
    nulls=True,
    act="looked-at-models",
)
def show_model(path: ModelPath) -> ModelDocument:
    """Read a model's card."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    card = parts.models.card(job)
    log_act(row)
    return {"id": job.id, "card": card}


@models.operation(
    "GET",
    "/models/<model_id>/file",
    409,
    501,
    answer=file_of("What `hushpoll train --out` writes, as a ZIP.", ["application/zip"]),
    scope="read",
    act="fetched-train",
)
def model_file(path: ModelPath) -> Response:
    """Fetch a model as a ZIP: unzip it, and `hushpoll predict` reads the folder."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    blocks = parts.jobs.result(job)
    log_act(row, subject=job.id)
    return file_answer(blocks, str(job.media_type), str(job.file_name), job.size)
