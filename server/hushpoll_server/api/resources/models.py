"""Models: the trainings of a survey's version, cards, files, deletion; and what may be trained."""

from __future__ import annotations

from flask import Response

from hushpoll_server.api.models.common import VersionPath
from hushpoll_server.api.models.models import (
    LearnerList,
    ModelAnswer,
    ModelPath,
    RunList,
)
from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.resources.kept_results import add_routes
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.endpoint import current_grant, json_answer, log_act, services
from hushpoll_server.jobs.learners import learners as learners_of
from hushpoll_server.services.results.models import Models

api = Routes("models")

add_routes(
    api,
    Models,
    lambda parts: parts.models,
    RunList,
    ModelPath,
    list_text=(
        "List the newest 200 trainings of a version; those that are done have a model.\n\n"
        "A training is asked for as a job, `jobs/train`. Its model is kept until it is deleted."
    ),
    delete_text=(
        "Delete a training that has ended, with its model.\n\n"
        "For the token that asked for it, and for administrators."
    ),
)


@api.operation("GET", f"{VERSION}/learners", LearnerList, 501, scope="read")
def learners(path: VersionPath) -> Response:
    """List the learners, which of them may run on the version's records here, and why not others.

    Each parameter has its type, its closed interval on this server, and its default.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    return json_answer(LearnerList.model_validate(learners_of(parts, row)))


@api.operation(
    "GET", "/models/<model_id>", ModelAnswer, 409, 501, scope="read", act="looked-at-models"
)
def show_model(path: ModelPath) -> Response:
    """Read a model's card."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    answer = ModelAnswer(id=job.id, card=parts.models.card(job))
    log_act(row)
    return json_answer(answer, nulls=True)


@api.operation(
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
