"""Reports of a survey's results, as files."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import current_grant, endpoint, services
from hushpoll_server.http.models.common import VersionPath
from hushpoll_server.http.models.survey_reports import ReportQuery
from hushpoll_server.http.openapi import BEARER, problems
from hushpoll_server.reports.report import FORMS

api = APIBlueprint(
    "survey_reports",
    __name__,
    url_prefix="/api/v1/surveys/<name>/versions/<int:version>",
    abp_tags=[Tag(name="analysis")],
    abp_security=BEARER,
)


@api.get(
    "/report",
    responses={
        200: {
            "description": "A report as one file.",
            "content": {
                form.media_type: {"schema": {"type": "string", "format": "binary"}}
                for form in FORMS.values()
            },
        },
        **problems(401, 403, 404, 409, 410, 422, 501, 503),
    },
)
@endpoint("read")
def report(path: VersionPath, query: ReportQuery) -> Response:
    """Make a report of the last release: methods, guarantee, estimates, fairness, limits.

    It depends on nothing that is not released, and is the same each time until the next release. A
    report of more than 24 charts is made by the job `report`.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    choices = parts.survey_reports.choices(row, **query.asked())
    file = parts.survey_reports.file(row, choices, query.format)
    parts.actions.looked(current_grant().actor, "report", row.name, row.version)
    answer = Response(file.body, mimetype=file.media_type)
    answer.headers["Content-Disposition"] = f'attachment; filename="{file.name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer
