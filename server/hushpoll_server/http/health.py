"""Whether the server can do its work."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.errors import Refused
from hushpoll_server.http import models
from hushpoll_server.http.answers import json_answer
from hushpoll_server.http.endpoint import endpoint
from hushpoll_server.http.openapi import problems
from hushpoll_server.services.collector import collector

api = APIBlueprint("health", __name__, abp_tags=[Tag(name="operations")])


@api.get("/health", responses={200: models.Health, **problems(503)})
@endpoint()
def health() -> Response:
    """Answer 200 if the database answers."""
    try:
        collector().database.ping()
    except Exception as error:
        raise Refused(
            "unavailable", "the database does not answer; try again", retry_after=5
        ) from error
    return json_answer({"status": "ok"})
