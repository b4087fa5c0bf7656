"""The web origins whose pages may answer a survey; see ``ingest.application``."""

from __future__ import annotations

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import endpoint, json_answer, services
from hushpoll_server.http.models.common import SurveyPath
from hushpoll_server.http.models.surveys import OriginsAnswer, OriginsBody
from hushpoll_server.http.openapi import BEARER, Routes, problems

api = Routes("origins", __name__, url_prefix="/api/v1/surveys", abp_tags=[Tag(name="surveys")])


@api.get(
    "/<name>/origins",
    responses={200: OriginsAnswer, **problems(401, 403, 404)},
    security=BEARER,
)
@endpoint("publish")
def list_origins(path: SurveyPath) -> Response:
    """List the web origins whose pages may answer the survey."""
    parts = services()
    row = parts.surveys.latest(path.name)
    return json_answer(OriginsAnswer(survey=row.name, origins=parts.origins.named(row.name)))


@api.put(
    "/<name>/origins",
    responses={200: OriginsAnswer, **problems(400, 401, 403, 404, 413, 415, 422)},
    security=BEARER,
)
@endpoint("publish")
def replace_origins(path: SurveyPath, body: OriginsBody) -> Response:
    """Let pages of these web origins, and of no others, answer the survey, in all its versions.

    Browsers may remember what was allowed for ten minutes.
    """
    parts = services()
    row = parts.surveys.latest(path.name)
    origins = parts.origins.replace(row, body.origins)
    return json_answer(OriginsAnswer(survey=row.name, origins=origins))
