"""What an analyst reads about two questions together: conditional shares, tests of independence."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.http.endpoint import current_grant, endpoint, json_answer, services
from hushpoll_server.http.models.common import VersionPath
from hushpoll_server.http.models.relations import (
    ConditionalSharesAnswer,
    ConditionalSharesQuery,
    IndependenceAnswer,
    IndependenceQuery,
)
from hushpoll_server.http.openapi import BEARER, problems

api = APIBlueprint(
    "relations",
    __name__,
    url_prefix="/api/v1/surveys/<name>/versions/<int:version>",
    abp_tags=[Tag(name="analysis")],
    abp_security=BEARER,
)

REFUSALS = problems(401, 403, 404, 409, 410, 422, 503)


@api.get("/conditional-shares", responses={200: ConditionalSharesAnswer, **REFUSALS})
@endpoint("read")
def conditional_shares(path: VersionPath, query: ConditionalSharesQuery) -> Response:
    """Estimate the shares of one attribute's categories within each category of another.

    Each has its confidence set (Fieller's). Of a group that may be empty, as far as the records
    tell, the set has no bound: these reports cannot conclude.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.relations.conditional_shares(row, **query.model_dump())
    parts.actions.looked(current_grant().actor, "conditional-shares", row.name, row.version)
    return json_answer(ConditionalSharesAnswer.model_validate(answer), nulls=True)


@api.get("/independence", responses={200: IndependenceAnswer, **REFUSALS})
@endpoint("read")
def independence(path: VersionPath, query: IndependenceQuery) -> Response:
    """Test whether two attributes are independent, with the noise of perturbed ones allowed for.

    It has no interval. The answer says how strong a dependence such a survey would find.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    answer = parts.relations.independence(row, query.a, query.b, alpha=query.alpha)
    parts.actions.looked(current_grant().actor, "independence", row.name, row.version)
    return json_answer(IndependenceAnswer.model_validate(answer), nulls=True)
