"""Models: the trainings of a survey's version, cards, files, deletion; and what may be trained."""

from __future__ import annotations

from flask import Response

from hushpoll_server.http.endpoint import current_grant, endpoint, json_answer, services
from hushpoll_server.http.models.common import VersionPath
from hushpoll_server.http.models.models import (
    LearnerList,
    ModelAnswer,
    ModelPath,
    RunList,
)
from hushpoll_server.http.openapi import problems
from hushpoll_server.http.resources.kept_results import add_routes, routes_of
from hushpoll_server.jobs.learners import learners as learners_of
from hushpoll_server.services.results.models import Models

api = routes_of("model")
VERSION = "/surveys/<name>/versions/<int:version>"


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


@api.get(f"{VERSION}/learners", responses={200: LearnerList, **problems(401, 403, 404, 422, 501)})
@endpoint("read")
def learners(path: VersionPath) -> Response:
    """List the learners, which of them may run on the version's records here, and why not others.

    Each parameter has its type, its closed interval on this server, and its default.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    return json_answer(LearnerList.model_validate(learners_of(parts, row)))


@api.get(
    "/models/<model_id>", responses={200: ModelAnswer, **problems(401, 403, 404, 409, 422, 501)}
)
@endpoint("read")
def show_model(path: ModelPath) -> Response:
    """Read a model's card."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    answer = ModelAnswer(id=job.id, card=parts.models.card(job))
    parts.actions.looked(current_grant().actor, "models", row.name, row.version)
    return json_answer(answer, nulls=True)


@api.get(
    "/models/<model_id>/file",
    responses={
        200: {
            "description": "What `hushpoll train --out` writes, as a ZIP.",
            "content": {"application/zip": {"schema": {"type": "string", "format": "binary"}}},
        },
        **problems(401, 403, 404, 409, 422, 501),
    },
)
@endpoint("read")
def model_file(path: ModelPath) -> Response:
    """Fetch a model as a ZIP: unzip it, and `hushpoll predict` reads the folder."""
    parts = services()
    job, row = parts.models.covered(path.model_id, current_grant())
    answer = Response(parts.jobs.result(job), mimetype=job.media_type)
    parts.actions.record(
        current_grant().actor,
        "fetched-train",
        survey=row.name,
        version=row.version,
        subject=job.id,
    )
    answer.headers["Content-Length"] = str(job.size)
    answer.headers["Content-Disposition"] = f'attachment; filename="{job.file_name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer
