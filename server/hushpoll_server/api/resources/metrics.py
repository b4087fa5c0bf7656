"""``GET /metrics``, where ``metrics_token`` is set.

It has a token of its own that is compared in memory: it has to work while the database, where all
other tokens are, is away, and a program that reads metrics should be able to read nothing else. The
route is not part of the API's document.
"""

from __future__ import annotations

import hmac

from flask import Blueprint, Response, request

from hushpoll_server.errors import Refused
from hushpoll_server.metrics import Metrics


def blueprint(metrics: Metrics, token: str) -> Blueprint:
    """Return the route that gives metrics to a program with the token."""
    pages = Blueprint("metrics", __name__)

    @pages.get("/metrics")
    def read() -> Response:
        scheme, _, secret = request.headers.get("Authorization", "").partition(" ")
        same = hmac.compare_digest(secret.strip().encode(), token.encode())
        if scheme.lower() != "bearer" or not same:
            raise Refused(
                "unauthorized",
                "this needs the server's metrics_token; send it as 'Authorization: Bearer <token>'",
                field="Authorization",
            )
        text, media_type = metrics.exposition()
        return Response(text, content_type=media_type, headers={"Cache-Control": "no-store"})

    return pages
