"""How the server does: load, sealing, disk and jobs, for those who operate it."""

from __future__ import annotations

from flask import Response

from hushpoll_server.api.models.administration.operations import OperationsAnswer
from hushpoll_server.api.routes import Routes
from hushpoll_server.http.endpoint import json_answer, services

api = Routes("operations")


@api.operation("GET", "/operations", OperationsAnswer, scope="admin")
def operations() -> Response:
    """Return how the server does as a whole; nothing in it is about one survey."""
    return json_answer(OperationsAnswer(**services().operations.look()))
