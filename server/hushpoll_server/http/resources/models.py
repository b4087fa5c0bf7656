"""Models: the trainings of a survey's version, cards, files, deletion; and what may be trained."""

from __future__ import annotations

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import current_grant, endpoint, json_answer, services
from hushpoll_server.http.models.common import VersionPath
from hushpoll_server.http.models.models import (
    LearnerList,
    ModelAnswer,
    ModelPath,
    RunList,
)
from hushpoll_server.http.openapi import BEARER, Routes, problems
from hushpoll_server.jobs.learners import learners as learners_of
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.jobs import JobRow

api = Routes(
    "models", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="models")], abp_security=BEARER
)
VERSION = "/surveys/<name>/versions/<int:version>"


@api.get(f"{VERSION}/models", responses={200: RunList, **problems(401, 403, 404, 422)})
@endpoint("read")
def list_models(path: VersionPath) -> Response:
    """List the newest 200 trainings of a version; those that are done have a model.

    A training is asked for as a job, `jobs/train`. Its model is kept until it is deleted.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    parts.actions.looked(current_grant().actor, "models", row.name, row.version)
    return json_answer(RunList.model_validate({"runs": parts.models.runs(row)}))


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
    job, row = _covered(path)
    parts = services()
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
    job, row = _covered(path)
    parts = services()
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


@api.delete("/models/<model_id>", responses={204: None, **problems(401, 403, 404, 409, 422)})
@endpoint("train")
def delete_model(path: ModelPath) -> Response:
    """Delete a training that has ended, with its model.

    For the token that asked for it, and for administrators.
    """
    job, row = _covered(path)
    parts = services()
    parts.models.delete(job, current_grant())
    parts.actions.record(
        current_grant().actor,
        "deleted-model",
        survey=row.name,
        version=row.version,
        subject=job.id,
    )
    return Response(status=204)


def _covered(path: ModelPath) -> tuple[JobRow, VersionRow]:
    """Return a training and its version; refuse one of a survey that the token is not for."""
    parts = services()
    job = parts.models.find(path.model_id)
    row = parts.surveys.by_id(job.version_id)
    current_grant().require_survey(row.name)
    return job, row
