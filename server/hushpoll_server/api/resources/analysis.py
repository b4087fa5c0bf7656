"""What an analyst reads of a version beside results: records, counts, an overview."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from flask import Response
from pydantic import Field

from hushpoll_server.api.openapi import file_of
from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.http.bodies import Parameters, model_of
from hushpoll_server.http.endpoint import file_answer, log_act, services
from hushpoll_server.services.results.exports import MEDIA_TYPES
from hushpoll_server.services.surveys.surveys import timestamp
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.survey_reports.sheets.codebook import MEDIA_TYPES as CODEBOOKS
from hushpoll_server.survey_reports.sheets.codebook import codebook, codebook_file
from hushpoll_shared.jobs.files import Export as ExportJob
from hushpoll_shared.wire.documents.results import OverviewDocument
from hushpoll_shared.wire.documents.surveys import CountsDocument, DeletionDocument

api = Routes("analysis", VERSION)
if TYPE_CHECKING:
    ExportParameters = Any
else:
    ExportParameters = model_of(ExportJob)


class CodebookQuery(Parameters):
    """The form of a codebook."""

    format: Literal["json", "md", "html"] = Field("json", description="Of the file.")


@api.operation(
    "GET",
    "/records",
    409,
    410,
    503,
    answer=file_of("A file of records.", MEDIA_TYPES.values()),
    scope="read",
    act="exported",
)
def records(row: VersionRow, query: ExportParameters) -> Response:
    """Export every record of the last release, shuffled and without ids.

    Refused before the first release, and below the survey's minimum batch. Of a survey that
    releases immediately, reports that wait to be sealed are left out.
    """
    parts = services()
    export = parts.exports.export(row, **query.model_dump())
    log_act(row, subject=f"{query.format} {query.content}")
    return file_answer(export.blocks, export.media_type, export.name, export.size)


@api.operation("DELETE", "/records", 409, scope="admin", act="deleted-records")
def delete_records(row: VersionRow) -> DeletionDocument:
    """Delete the records of a version that takes no more reports, for good.

    Its estimates and the cross-tables whose counts are kept are still given, and its ids are kept
    to refuse replays. Exports that jobs have made are deleted too.
    """
    parts = services()
    log_act(row)  # before the deletion, so that none is without its line
    deletion = parts.retention.delete(row)
    return {
        "survey": row.name,
        "version": row.version,
        "deleted": deletion.records,
        "deleted_at": timestamp(deletion.at),
    }


@api.operation("GET", "/counts", scope="read", nulls=True, act="looked-at-counts")
def counts(row: VersionRow) -> CountsDocument:
    """Count the version's reports: stored, waiting to be sealed, sealed, and refused by reason.

    Of a survey that releases on a schedule all are as they were at the last release, until it is
    over. Numbers of single days are given of the days before a daily release, and of a survey that
    releases immediately, but never where respondents need tokens. What is stored is counted
    exactly. Duplicates and refusals are counted apart from any
    upload; a crash may lose the counts of its last second.
    """
    parts = services()
    log_act(row)
    return {
        "survey": row.name,
        "version": row.version,
        "digest": row.digest,
        "state": parts.surveys.state(row).value,
        **parts.quality.account(row),
    }


@api.operation(
    "GET",
    "/codebook",
    answer=file_of("The codebook.", CODEBOOKS.values()),
    scope="read",
    act="looked-at-codebook",
)
def codebook_of_version(row: VersionRow, query: CodebookQuery) -> Response:
    """Give every question in every language: block, protocol, law, how to de-bias, shares.

    Shares are those of the last release; before the first there are none.
    """
    parts = services()
    log_act(row)
    shares = parts.analysis.shares(row, may_export=True)
    document = codebook(parts.surveys.published(row), shares)
    name = f"{row.name}-{row.version}-codebook.{query.format}"
    return file_answer(codebook_file(document, query.format), CODEBOOKS[query.format], name)


@api.operation("GET", "/overview", scope="read", nulls=True, act="looked-at-overview")
def overview(row: VersionRow) -> OverviewDocument:
    """Show a version at a glance: questions, guarantee, state, counts, warnings, tokens left."""
    parts = services()
    log_act(row)
    return parts.overviews.overview(row)
