"""Reports: submitted one by one or as a batch."""

from __future__ import annotations

from flask import Response, request
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.http import models
from hushpoll_server.http.answers import json_answer
from hushpoll_server.http.endpoint import arriving_body, endpoint, read_json, unsupported
from hushpoll_server.http.openapi import REF, body_of, problems
from hushpoll_server.services.collector import Collector, collector
from hushpoll_server.store.reports import Outcome
from hushpoll_shared.wire import JSON_MEDIA_TYPE, REPORTS_MEDIA_TYPE

api = APIBlueprint(
    "reports", __name__, url_prefix="/api/v1/surveys", abp_tags=[Tag(name="reports")]
)


@api.post(
    "/<name>/reports",
    responses={
        201: models.ReportAnswer,
        200: {
            "description": "A report that was here before, or what became of a batch.",
            "content": {
                JSON_MEDIA_TYPE: {
                    "schema": {
                        "oneOf": [
                            models.ReportAnswer.model_json_schema(),
                            models.BulkAnswer.model_json_schema(ref_template=REF),
                        ]
                    }
                }
            },
        },
        **problems(400, 401, 403, 404, 409, 410, 413, 415, 422, 503),
    },
    openapi_extensions=body_of(
        {
            JSON_MEDIA_TYPE: models.ReportBody.model_json_schema(),
            REPORTS_MEDIA_TYPE: {"type": "string", "format": "binary"},
        }
    ),
)
@endpoint()
def submit(path: models.SurveyPath) -> Response:
    """Submit one report as JSON, or a batch with a token of scope `submit`.

    Answered only once it is stored durably: 201 for a new report, 200 for one that was here.
    A token survey takes one single-use token per report, as a bearer token, and no batches.
    """
    parts = collector()
    if request.mimetype == JSON_MEDIA_TYPE:
        return _one(parts, path.name)
    if request.mimetype == REPORTS_MEDIA_TYPE:
        return _batch(parts, path.name)
    raise unsupported(JSON_MEDIA_TYPE, REPORTS_MEDIA_TYPE)


def _one(parts: Collector, name: str) -> Response:
    document = read_json(limit=parts.settings.max_json_bytes)
    outcome = parts.ingest.take_json(name, document, request.headers.get("Authorization"))
    return json_answer({"status": outcome.value}, 201 if outcome is Outcome.ACCEPTED else 200)


def _batch(parts: Collector, name: str) -> Response:
    parts.access.require(request.headers.get("Authorization"), "submit")
    with arriving_body() as pieces:
        outcome = parts.batches.take(name, pieces)
    rejected = [models.RejectedReport(**vars(one)) for one in outcome.rejected]
    return json_answer(
        models.BulkAnswer(accepted=outcome.accepted, duplicate=outcome.duplicate, rejected=rejected)
    )
