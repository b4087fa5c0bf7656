"""Tokens: of analysts, with scopes, and of respondents, for a single report."""

from __future__ import annotations

from flask import Response
from flask_openapi3.blueprint import APIBlueprint
from flask_openapi3.models.tag import Tag

from hushpoll_server.errors import Refused
from hushpoll_server.http import models
from hushpoll_server.http.answers import json_answer
from hushpoll_server.http.endpoint import endpoint
from hushpoll_server.http.openapi import BEARER, problems
from hushpoll_server.services.access import hash_token, respondent_tokens
from hushpoll_server.services.collector import collector
from hushpoll_shared.clock import format_timestamp

api = APIBlueprint("tokens", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="tokens")])


@api.post(
    "/surveys/<name>/tokens",
    responses={201: models.RespondentTokensAnswer, **problems(401, 403, 404, 422)},
    security=BEARER,
)
@endpoint("publish")
def issue_respondent_tokens(path: models.SurveyPath, body: models.RespondentTokensBody) -> Response:
    """Issue single-use tokens for the respondents of a token survey.

    Each is worth one report to any version of the survey. Only hashes are stored.
    """
    parts = collector()
    row = parts.surveys.latest(path.name)
    if parts.surveys.published(row).submission != "token":
        raise Refused(
            "invalid-request",
            f"{row.name} version {row.version} has submission 'open' and takes no tokens; publish "
            "a version with submission 'token'",
            field="submission",
        )
    if body.count > parts.settings.max_tokens:
        raise Refused(
            "invalid-request",
            f"count is {body.count}, outside [1, {parts.settings.max_tokens}]; ask several times",
            field="count",
        )
    tokens = respondent_tokens(body.count)
    parts.tokens.add_respondents(row.survey_id, [hash_token(token) for token in tokens])
    return json_answer({"tokens": tokens}, 201)


@api.post(
    "/tokens",
    responses={201: models.TokenAnswer, **problems(401, 403, 422)},
    security=BEARER,
)
@endpoint("admin")
def issue_token(body: models.TokenBody) -> Response:
    """Issue a bearer token with scopes out of submit, publish, read, train, admin."""
    parts = collector()
    issued = parts.access.issue(body.scopes, label=body.label, expires_in=body.expires_in)
    answer = {"token": issued.token, "id": issued.id, "scopes": sorted(set(body.scopes))}
    if issued.expires_at is not None:
        answer["expires_at"] = format_timestamp(parts.surveys.moment(issued.expires_at))
    return json_answer(answer, 201)


@api.delete("/tokens/<token_id>", responses={204: None, **problems(401, 403, 404)}, security=BEARER)
@endpoint("admin")
def revoke_token(path: models.TokenPath) -> Response:
    """Revoke a bearer token by its public id."""
    if not collector().access.revoke(path.token_id):
        raise Refused("not-found", "no token has this id; it is the middle part of the token")
    return Response(status=204)
