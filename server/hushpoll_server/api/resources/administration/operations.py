"""How the server does: load, sealing, disk and jobs, for those who operate it; its metrics.

``GET /metrics`` is there where ``metrics_token`` is set. It has a token of its own that is compared
in memory: it has to work while the database, where all other tokens are, is away, and a program
that reads metrics should be able to read nothing else. It is not part of the API's document.
"""

from __future__ import annotations

import hmac

from flask import Blueprint, Response, request

from hushpoll_server.api.routes import Routes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.metrics import Metrics
from hushpoll_server.services.surveys.access import bearer
from hushpoll_shared.wire.documents.administration import OperationsDocument

api = Routes("operations")


@api.operation("GET", "/operations", scope="admin")
def operations() -> OperationsDocument:
    """Return how the server does as a whole; nothing in it is about one survey."""
    return services().operations.look()


def metrics_route(metrics: Metrics, token: str) -> Blueprint:
    """Return the route that gives metrics to a program with the token."""
    pages = Blueprint("metrics", __name__)

    @pages.get("/metrics")
    def read() -> Response:
        secret = bearer(request.headers.get("Authorization")) or ""
        if not hmac.compare_digest(secret.encode(), token.encode()):
            raise Refused(
                "unauthorized",
                "this needs the server's metrics_token; send it as 'Authorization: Bearer <token>'",
                field="Authorization",
            )
        text, media_type = metrics.exposition()
        return Response(text, content_type=media_type, headers={"Cache-Control": "no-store"})

    return pages
