"""The web origins whose pages may answer a survey; see ``ingest.application``."""

from __future__ import annotations

from flask import Response

from hushpoll_server.api.models.common import SurveyPath
from hushpoll_server.api.models.surveys import OriginsAnswer, OriginsBody
from hushpoll_server.api.routes import Routes
from hushpoll_server.http.endpoint import json_answer, services

api = Routes("origins", "/surveys", tag="surveys")


@api.operation("GET", "/<name>/origins", OriginsAnswer, scope="publish")
def list_origins(path: SurveyPath) -> Response:
    """List the web origins whose pages may answer the survey."""
    parts = services()
    row = parts.surveys.latest(path.name)
    return json_answer(OriginsAnswer(survey=row.name, origins=parts.origins.named(row.name)))


@api.operation("PUT", "/<name>/origins", OriginsAnswer, scope="publish", act="replaced-origins")
def replace_origins(path: SurveyPath, body: OriginsBody) -> Response:
    """Let pages of these web origins, and of no others, answer the survey, in all its versions.

    Browsers may remember what was allowed for ten minutes.
    """
    parts = services()
    row = parts.surveys.latest(path.name)
    origins = parts.origins.replace(row, body.origins)
    return json_answer(OriginsAnswer(survey=row.name, origins=origins))
