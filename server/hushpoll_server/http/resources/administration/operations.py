"""How the server does: load, sealing, disk and jobs, for those who operate it."""

from __future__ import annotations

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import endpoint, json_answer, services
from hushpoll_server.http.models.administration.operations import OperationsAnswer
from hushpoll_server.http.openapi import BEARER, Routes, problems

api = Routes("operations", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="operations")])


@api.get("/operations", responses={200: OperationsAnswer, **problems(401, 403)}, security=BEARER)
@endpoint("admin", every_survey=True)
def operations() -> Response:
    """Return how the server does as a whole; nothing in it is about one survey."""
    return json_answer(OperationsAnswer(**services().operations.look()))
