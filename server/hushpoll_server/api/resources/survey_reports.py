"""Reports of a survey's results, as files, and results that are published to everybody."""

from __future__ import annotations

from flask import Response, request

from hushpoll_server.api.models.common import VersionPath
from hushpoll_server.api.models.survey_reports import (
    PublicationChoices,
    PublicResultsAnswer,
    PublicResultsList,
    PublishedResultsAnswer,
    ReportQuery,
)
from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import current_grant, json_answer, log_act, services
from hushpoll_server.survey_reports.files.report import FORMS

api = Routes("survey_reports", VERSION, tag="analysis")


@api.operation(
    "GET",
    "/report",
    file_of("A report as one file.", [form.media_type for form in FORMS.values()]),
    409,
    410,
    501,
    503,
    scope="read",
    act="looked-at-report",
)
def report(path: VersionPath, query: ReportQuery) -> Response:
    """Make a report of the last release: methods, guarantee, estimates, fairness, limits.

    It depends on nothing that is not released, and is the same each time until the next release. A
    report of more than 24 charts is made by the job `report`.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    choices = parts.survey_reports.choices(row, may_export=True, **query.asked())
    file = parts.survey_reports.file(row, choices, query.format, may_export=True)
    log_act(row)
    answer = Response(file.body, mimetype=file.media_type)
    answer.headers["Content-Disposition"] = f'attachment; filename="{file.name}"'
    answer.headers["Cache-Control"] = "no-store"
    return answer


@api.operation(
    "POST",
    "/public-results",
    PublishedResultsAnswer,
    409,
    410,
    503,
    scope="publish",
    status=201,
    act="published-results",
)
def publish_results(path: VersionPath, body: PublicationChoices) -> Response:
    """Publish chosen results of a version, for everybody and without sign-in.

    The page and its files are kept as they are now, until they are taken back or published again.
    The version is closed, or with `so_far` it still runs and the chosen questions are randomised.
    They have audits of the chosen questions alone. Small groups by answers in clear are merged, as
    `warnings` says. The token needs the scope `read` as well.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    asked = body.model_dump(exclude={"so_far"})
    choices = parts.survey_reports.choices(row, may_export=False, **asked)
    parts.public_results.require_publishable(row, choices, so_far=body.so_far)
    if not current_grant().allows("read"):
        raise Refused(
            "forbidden",
            "publishing results needs a token of scope 'read' as well, since it shows them; ask "
            "an administrator for another",
            field="Authorization",
            scope="read",
        )
    publication = parts.public_results.publish(
        row, choices, actor=current_grant().actor, so_far=body.so_far
    )
    log_act(row)
    return json_answer(
        PublishedResultsAnswer.model_validate(publication),
        201,
        {"Location": request.script_root + publication["address"]},
        nulls=True,
    )


@api.operation("GET", "/public-results", PublicResultsList, scope="read")
def list_public_results(path: VersionPath) -> Response:
    """List the publications of a version, also those that were taken back."""
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    publications = [
        PublicResultsAnswer.model_validate(publication)
        for publication in parts.public_results.history(row)
    ]
    return json_answer(PublicResultsList(publications=publications), nulls=True)


@api.operation("DELETE", "/public-results", None, scope="publish", act="took-results-back")
def take_results_back(path: VersionPath) -> Response:
    """Take published results back: their address answers 410, and their files are deleted."""
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    parts.public_results.take_back(row)
    log_act(row)
    answer = Response(status=204)
    answer.headers["Cache-Control"] = "no-store"
    return answer
