"""Whether the process is alive, and whether it can do its work."""

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

RETRY_AFTER_SECONDS = 5

api = APIBlueprint("health", __name__, abp_tags=[Tag(name="operations")])


@api.get("/health", responses={200: models.Health})
@endpoint()
def health() -> Response:
    """Answer 200 as long as the process answers at all; nothing else is looked at.

    For a supervisor that restarts what hangs: a database that is away is no reason to restart.
    """
    return json_answer({"status": "ok"})


@api.get("/ready", responses={200: models.Ready, **problems(503)})
@endpoint()
def ready() -> Response:
    """Answer 200 if reports can be taken: for a load balancer.

    Otherwise 503 with `reasons`, a list of codes and words: `database` (no answer), `schema`
    (another version than this program's), `writing` (nothing can be stored, such as on a full disk,
    while reading goes on), `writer` (its thread has ended), `queue` (full), `stopping`.
    """
    reasons = collector().readiness.reasons()
    if reasons:
        raise Refused(
            "unavailable",
            "; ".join(one.detail for one in reasons),
            retry_after=RETRY_AFTER_SECONDS,
            reasons=[vars(one) for one in reasons],
        )
    return json_answer({"status": "ready"})
