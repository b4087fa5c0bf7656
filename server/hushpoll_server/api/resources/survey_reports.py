"""Reports of a survey's results, as files, and results that are published to everybody."""

from __future__ import annotations

from typing import Literal

from flask import Response, request
from pydantic import Field

from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.errors import Refused
from hushpoll_server.http.bodies import Parameters, model_of
from hushpoll_server.http.endpoint import Answered, current_grant, file_answer, log_act, services
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.files.report import FORMS
from hushpoll_shared.estimators import CONFIDENCES
from hushpoll_shared.jobs.files import ReportChoices
from hushpoll_shared.wire.documents.results import PublicResultsList, PublishedResultsDocument


class ReportQuery(Parameters):
    """What a report shows, and the form of its file."""

    attributes: str = Field(
        "",
        max_length=2_000,
        description="Names of attributes, with commas between them; by default all of them.",
    )
    cross: str = Field(
        "",
        max_length=1_000,
        description="Cross-tables: pairs of attributes, the rows' first, with a colon within a "
        "pair and commas between pairs.",
    )
    estimator: Literal["unbiased", "projected", "shrunk"] = Field(
        "unbiased", description="All but unbiased have no interval."
    )
    confidence: float = Field(
        0.95, ge=CONFIDENCES[0], le=CONFIDENCES[1], description="Of the intervals."
    )
    fairness: bool = Field(True, description="Whether finished audits of fairness are shown.")

    trend: bool = Field(
        False,
        description="Whether questions are shown beside earlier versions that ask them with the "
        "same answers.",
    )

    results: str = Field(
        "",
        max_length=4_000,
        description="What else is shown, with commas between: each as the name of its route and, "
        "after a question mark, its parameters as an address has them, such as "
        "`independence?a=age&b=gender`. A comma within is written `%2C`. A statistic that "
        "compares two versions is in no report.",
    )

    regressions: str = Field(
        "",
        max_length=400,
        description="Ids of kept regressions, with commas between them; `GET .../regressions` "
        "lists them.",
    )

    language: Literal["en", "de", "fr", "es"] = Field(
        "en",
        description="Of its words. Other results and regressions have words in `en` alone.",
    )

    format: Literal["html", "pdf", "bundle"] = Field(
        "html",
        description="`html` and `pdf` are one file to read and to print. `bundle` is a ZIP with "
        "the manifest, the counts, figures and tables, from which `hushpoll report --from` makes "
        "the same report.",
    )

    def asked(self) -> dict[str, object]:
        """Return the choices as ``Choices.of`` takes them."""
        return {
            "attributes": _words(self.attributes, ","),
            "cross_tables": [_words(pair, ":") for pair in _words(self.cross, ",")],
            "estimator": self.estimator,
            "confidence": self.confidence,
            "fairness": self.fairness,
            "trend": self.trend,
            "results": _words(self.results, ","),
            "regressions": _words(self.regressions, ","),
            "language": self.language,
        }


def _words(text: str, separator: str) -> list[str]:
    return [word.strip() for word in text.split(separator)] if text else []


class PublicationChoices(model_of(ReportChoices)):  # type: ignore[misc]  # made while running
    """What is published, and whether of a survey that still runs."""

    so_far: bool = Field(
        False,
        strict=True,
        description="Whether a version that still runs may be published: its randomised questions "
        "alone.",
    )


api = Routes("survey_reports", VERSION, tag="analysis")


@api.operation(
    "GET",
    "/report",
    409,
    410,
    501,
    503,
    answer=file_of("A report as one file.", [form.media_type for form in FORMS.values()]),
    scope="read",
    act="looked-at-report",
)
def report(row: VersionRow, query: ReportQuery) -> Response:
    """Make a report of the last release: methods, guarantee, estimates, fairness, limits.

    It depends on nothing that is not released, and is the same each time until the next release. A
    report of more than 24 charts is made by the job `report`.
    """
    parts = services()
    choices = parts.survey_reports.choices(row, may_export=True, **query.asked())
    file = parts.survey_reports.file(row, choices, query.format, may_export=True)
    log_act(row)
    return file_answer(file.body, file.media_type, file.name)


@api.operation(
    "POST",
    "/public-results",
    409,
    410,
    503,
    scope="publish",
    status=201,
    nulls=True,
    act="published-results",
)
def publish_results(
    row: VersionRow, body: PublicationChoices
) -> Answered[PublishedResultsDocument]:
    """Publish chosen results of a version, for everybody and without sign-in.

    The page and its files are kept as they are now, until they are taken back or published again.
    The version is closed, or with `so_far` it still runs and the chosen questions are randomised.
    They have audits of the chosen questions alone. Small groups by answers in clear are merged, as
    `warnings` says. The token needs the scope `read` as well.
    """
    parts = services()
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
    return Answered(publication, headers={"Location": request.script_root + publication["address"]})


@api.operation("GET", "/public-results", scope="read", nulls=True)
def list_public_results(row: VersionRow) -> PublicResultsList:
    """List the publications of a version, also those that were taken back."""
    parts = services()
    return {"publications": parts.public_results.history(row)}


@api.operation("DELETE", "/public-results", scope="publish", act="took-results-back")
def take_results_back(row: VersionRow) -> None:
    """Take published results back: their address answers 410, and their files are deleted."""
    parts = services()
    parts.public_results.take_back(row)
    log_act(row)
