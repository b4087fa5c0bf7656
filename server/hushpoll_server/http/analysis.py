"""What an analyst reads: estimates, cross-tables, records, counts."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.http import models
from hushpoll_server.http.answers import json_answer
from hushpoll_server.http.endpoint import endpoint
from hushpoll_server.http.openapi import BEARER, problems
from hushpoll_server.services.collector import collector
from hushpoll_shared.wire import RECORDS_MEDIA_TYPE

api = APIBlueprint(
    "analysis",
    __name__,
    url_prefix="/api/v1/surveys/<name>/versions/<int:version>",
    abp_tags=[Tag(name="analysis")],
    abp_security=BEARER,
)


@api.get(
    "/estimates", responses={200: models.EstimatesAnswer, **problems(401, 403, 404, 409, 422, 503)}
)
@endpoint("read")
def estimates(path: models.VersionPath, query: models.ConfidenceQuery) -> Response:
    """Estimate the frequencies of every attribute, with standard errors and intervals.

    Unbiased values: one may fall outside [0, 1]. Refused below the survey's minimum batch.
    """
    parts = collector()
    row = parts.surveys.version(path.name, path.version)
    return json_answer(parts.analysis.estimates(row, confidence=query.confidence))


@api.get(
    "/cross-tables",
    responses={200: models.CrossTableAnswer, **problems(401, 403, 404, 409, 422, 503)},
)
@endpoint("read")
def cross_tables(path: models.VersionPath, query: models.CrossTableQuery) -> Response:
    """Estimate the shares of the population in each pair of categories of two attributes.

    Refused below the survey's minimum batch.
    """
    parts = collector()
    row = parts.surveys.version(path.name, path.version)
    return json_answer(
        parts.analysis.cross_table(row, query.a, query.b, confidence=query.confidence)
    )


@api.get(
    "/records",
    responses={
        200: {
            "description": "A file of records.",
            "content": {RECORDS_MEDIA_TYPE: {"schema": {"type": "string", "format": "binary"}}},
        },
        **problems(401, 403, 404, 409, 503),
    },
)
@endpoint("read")
def records(path: models.VersionPath) -> Response:
    """Export every record, shuffled and without ids.

    Refused below the survey's minimum batch.
    """
    parts = collector()
    row = parts.surveys.version(path.name, path.version)
    export = parts.analysis.export(row)
    return Response(
        export.blocks,
        mimetype=RECORDS_MEDIA_TYPE,
        headers={
            "Content-Length": str(export.size),
            "Content-Disposition": f'attachment; filename="{row.name}-{row.version}.records"',
            "Cache-Control": "no-store",
        },
    )


@api.get("/counts", responses={200: models.CountsAnswer, **problems(401, 403, 404)})
@endpoint("read")
def counts(path: models.VersionPath) -> Response:
    """Count the version's reports: taken, waiting to be folded, sealed, and refused by reason.

    What is stored is counted exactly. Duplicates and refusals are counted apart from any upload;
    a crash may lose the counts of its last second.
    """
    parts = collector()
    row = parts.surveys.version(path.name, path.version)
    inbox, sealed = parts.segments.counts(row.id)
    refused = parts.tallies.totals(row.id)
    return json_answer(
        {
            "survey": row.name,
            "version": row.version,
            "digest": row.digest,
            "state": parts.surveys.state(row).value,
            "accepted": inbox + sealed,
            "inbox": inbox,
            "sealed": sealed,
            "duplicate": refused.pop("duplicate", 0),
            "rejected": refused,
        }
    )
