"""Regressions: those of a survey's version, what each found, deletion."""

from __future__ import annotations

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import current_grant, endpoint, json_answer, services
from hushpoll_server.http.models.common import VersionPath
from hushpoll_server.http.models.regressions import RegressionList, RegressionPath
from hushpoll_server.http.openapi import BEARER, Routes, problems

api = Routes(
    "regressions",
    __name__,
    url_prefix="/api/v1",
    abp_tags=[Tag(name="regressions")],
    abp_security=BEARER,
)


@api.get(
    "/surveys/<name>/versions/<int:version>/regressions",
    responses={200: RegressionList, **problems(401, 403, 404, 422)},
)
@endpoint("read")
def list_regressions(path: VersionPath) -> Response:
    """List the newest 200 regressions of a version; those that are done say what they found.

    A regression is asked for as a job, `jobs/regress`, and its result is the job's. It is kept
    until it is deleted.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    parts.actions.looked(current_grant().actor, "regressions", row.name, row.version)
    found = {"regressions": parts.regressions.history(row)}
    return json_answer(RegressionList.model_validate(found))


@api.delete(
    "/regressions/<regression_id>", responses={204: None, **problems(401, 403, 404, 409, 422)}
)
@endpoint("read")
def delete_regression(path: RegressionPath) -> Response:
    """Delete a regression that has ended, with its result.

    For the token that asked for it, and for administrators.
    """
    parts = services()
    job = parts.regressions.find(path.regression_id)
    row = parts.surveys.by_id(job.version_id)
    current_grant().require_survey(row.name)
    parts.regressions.delete(job, current_grant())
    parts.actions.record(
        current_grant().actor,
        "deleted-regression",
        survey=row.name,
        version=row.version,
        subject=job.id,
    )
    return Response(status=204)
