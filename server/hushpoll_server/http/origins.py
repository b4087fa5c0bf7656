"""Cross-origin requests (CORS): which web pages may fetch a survey and send its reports.

None may by default. A publisher names origins per survey; they are no part of the manifest, whose
digest they would change. Only the routes of respondents take part. What is sent with credentials
of a browser does not exist here: there are no cookies.
"""

from __future__ import annotations

from typing import Final

from flask import Flask, Response, request
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.http import models
from hushpoll_server.http.answers import json_answer
from hushpoll_server.http.endpoint import endpoint
from hushpoll_server.http.openapi import BEARER, problems
from hushpoll_server.logs import get_logger
from hushpoll_server.services.collector import collector

log = get_logger(__name__)

RESPONDENT_METHODS: Final = {
    "surveys.fetch_survey": "GET, HEAD",
    "surveys.fetch_version": "GET, HEAD",
    "reports.submit": "POST",
}
# Content-Type for JSON, Authorization for a respondent's single-use token.
ALLOWED_HEADERS: Final = "Authorization, Content-Encoding, Content-Type, If-None-Match"
EXPOSED_HEADERS: Final = "ETag, Retry-After, X-Request-Id"
# How long a browser may remember the answer, and with it an origin that is named no more.
PREFLIGHT_SECONDS: Final = 600

api = APIBlueprint(
    "origins", __name__, url_prefix="/api/v1/surveys", abp_tags=[Tag(name="surveys")]
)


@api.get(
    "/<name>/origins",
    responses={200: models.OriginsAnswer, **problems(401, 403, 404)},
    security=BEARER,
)
@endpoint("publish")
def list_origins(path: models.SurveyPath) -> Response:
    """List the web origins whose pages may answer the survey."""
    parts = collector()
    row = parts.surveys.latest(path.name)
    return json_answer({"name": row.name, "origins": parts.origins.named(row.name)})


@api.put(
    "/<name>/origins",
    responses={200: models.OriginsAnswer, **problems(400, 401, 403, 404, 413, 415, 422)},
    security=BEARER,
)
@endpoint("publish")
def replace_origins(path: models.SurveyPath, body: models.OriginsBody) -> Response:
    """Let pages of these web origins, and of no others, answer the survey, in all its versions.

    Browsers may remember what was allowed for ten minutes.
    """
    parts = collector()
    row = parts.surveys.latest(path.name)
    return json_answer({"name": row.name, "origins": parts.origins.replace(row, body.origins)})


def register(app: Flask) -> None:
    """Tell browsers, with the answers of the respondents' routes, which pages may read them."""
    app.after_request(_finish)


def _finish(answer: Response) -> Response:
    methods = RESPONDENT_METHODS.get(request.endpoint or "")
    if methods is None:
        return answer
    # With every report, so not by way of the library's set of names, unless there is one already.
    if "Vary" in answer.headers:
        answer.vary.add("Origin")
    else:
        answer.headers["Vary"] = "Origin"
    origin = request.headers.get("Origin")
    if origin is None or not _allowed((request.view_args or {}).get("name", ""), origin):
        return answer
    answer.headers["Access-Control-Allow-Origin"] = origin
    if request.method == "OPTIONS" and "Access-Control-Request-Method" in request.headers:
        answer.headers["Access-Control-Allow-Methods"] = methods
        answer.headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        answer.headers["Access-Control-Max-Age"] = str(PREFLIGHT_SECONDS)
    else:
        answer.headers["Access-Control-Expose-Headers"] = EXPOSED_HEADERS
    return answer


def _allowed(name: str, origin: str) -> bool:
    try:
        return collector().origins.allows(name, origin)
    except Exception as error:  # the answer stands, though no other page can read it
        log.error("origins-unknown", error=type(error).__name__)
        return False
