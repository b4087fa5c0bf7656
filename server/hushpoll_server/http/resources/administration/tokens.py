"""Tokens: of analysts, with scopes, and of respondents, for a single report; and invitations."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import current_grant, endpoint, json_answer, services
from hushpoll_server.http.models.administration.tokens import (
    InvitationsAnswer,
    MailPreviewAnswer,
    MailPreviewsAnswer,
    MailPreviewsBody,
    RespondentTokensAnswer,
    RespondentTokensBody,
    RotateAnswer,
    RotateBody,
    TokenAnswer,
    TokenBody,
    TokenList,
    TokenPath,
    TokenSummary,
)
from hushpoll_server.http.models.common import SurveyPath, VersionPath
from hushpoll_server.http.openapi import BEARER, Routes, problems
from hushpoll_server.jobs.parameters import people_of
from hushpoll_server.services.surveys.access import IssuedToken
from hushpoll_server.services.surveys.surveys import timestamp
from hushpoll_shared.wire.documents import NewToken

api = Routes("tokens", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="tokens")])


@api.post(
    "/surveys/<name>/tokens",
    responses={201: RespondentTokensAnswer, **problems(401, 403, 404, 422)},
    security=BEARER,
)
@endpoint("publish")
def issue_respondent_tokens(path: SurveyPath, body: RespondentTokensBody) -> Response:
    """Issue single-use tokens for the respondents of a token survey.

    Each is worth one report to any version of the survey. Only hashes are stored.
    """
    parts = services()
    row = parts.surveys.latest(path.name)
    if parts.surveys.published(row).submission != "token":
        raise Refused(
            "invalid-request",
            f"{row.name} version {row.version} has submission "
            f"{parts.surveys.published(row).submission!r} and takes no such tokens; publish a "
            "version with submission 'token'",
            field="submission",
        )
    _check_count(body.count)
    tokens = parts.access.issue_to_respondents(row, body.count)
    parts.actions.record(
        current_grant().actor,
        "issued-respondent-tokens",
        survey=row.name,
        subject=str(body.count),
    )
    return json_answer(RespondentTokensAnswer(tokens=tokens), 201)


@api.post(
    "/surveys/<name>/versions/<int:version>/invitations",
    responses={201: InvitationsAnswer, **problems(401, 403, 404, 410, 422)},
    security=BEARER,
)
@endpoint("publish")
def issue_invitations(path: VersionPath, body: RespondentTokensBody) -> Response:
    """Issue invitations to a version with submission `invited`, one for each respondent.

    Each is redeemed once, for one report to this version. Only hashes are stored.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    parts.invitations.check_invited(row)
    _check_count(body.count)
    invitations = parts.invitations.issue(row, body.count)
    parts.actions.record(
        current_grant().actor,
        "issued-invitations",
        survey=row.name,
        version=row.version,
        subject=str(body.count),
    )
    return json_answer(InvitationsAnswer(invitations=invitations), 201)


@api.post(
    "/surveys/<name>/versions/<int:version>/mail-previews",
    responses={200: MailPreviewsAnswer, **problems(401, 403, 404, 422)},
    security=BEARER,
)
@endpoint("publish")
def preview_mails(path: VersionPath, body: MailPreviewsBody) -> Response:
    """Show the mails that invite or remind one person, in each language; nothing is sent.

    It needs no mail server. The person is made up.
    """
    parts = services()
    row = parts.surveys.version(path.name, path.version)
    people = people_of(body.people, parts.surveys.published(row).languages)
    previews = parts.mailing.preview(row, body.own_texts(), reminder=body.reminder, people=people)
    mails = [MailPreviewAnswer(**asdict(preview)) for preview in previews]
    return json_answer(MailPreviewsAnswer(mails=mails))


@api.post(
    "/tokens",
    responses={201: TokenAnswer, **problems(401, 403, 422)},
    security=BEARER,
)
@endpoint("admin", every_survey=True)
def issue_token(body: TokenBody) -> Response:
    """Issue a bearer token with scopes out of submit, publish, read, train, admin."""
    parts = services()
    issued = parts.access.issue(
        body.scopes, label=body.label, expires_in=body.expires_in, surveys=body.surveys
    )
    parts.actions.record(current_grant().actor, "issued-token", subject=issued.id)
    return json_answer(TokenAnswer(**_issued(issued, body.scopes)), 201)


@api.get("/tokens", responses={200: TokenList, **problems(401, 403)}, security=BEARER)
@endpoint("admin", every_survey=True)
def list_tokens() -> Response:
    """List every bearer token, the oldest first. The server has no secrets to show."""
    access = services().access
    tokens = [
        TokenSummary(
            id=row.id,
            label=row.label,
            scopes=sorted(row.scopes),
            state=access.state(row).value,
            issued_at=_moment(row.issued_at),
            expires_at=_moment(row.expires_at),
            replaced_by=row.replaced_by,
            surveys=None if row.surveys is None else sorted(row.surveys),
            last_used=row.last_used,
        )
        for row in access.all()
    ]
    return json_answer(TokenList(tokens=tokens))


@api.post(
    "/tokens/<token_id>/rotate",
    responses={201: RotateAnswer, **problems(400, 401, 403, 404, 415, 422)},
    security=BEARER,
)
@endpoint("admin", every_survey=True)
def rotate_token(path: TokenPath, body: RotateBody) -> Response:
    """Replace a bearer token by a new one with the same scopes and label.

    The old one stays valid for `overlap_seconds`, so that its bearers can change over. Only an
    administrator may: a thief of a token must not be able to outlive its revocation.
    """
    rotation = services().access.rotate(
        path.token_id, overlap_seconds=body.overlap_seconds, expires_in=body.expires_in
    )
    if rotation is None:
        raise _unknown()
    services().actions.record(current_grant().actor, "rotated-token", subject=path.token_id)
    answer = RotateAnswer(
        **_issued(rotation.issued, rotation.scopes),
        replaces=path.token_id,
        replaced_until=timestamp(rotation.replaced_until),
    )
    return json_answer(answer, 201)


@api.delete("/tokens/<token_id>", responses={204: None, **problems(401, 403, 404)}, security=BEARER)
@endpoint("admin", every_survey=True)
def revoke_token(path: TokenPath) -> Response:
    """Revoke a bearer token by its public id."""
    if not services().access.revoke(path.token_id):
        raise _unknown()
    services().actions.record(current_grant().actor, "revoked-token", subject=path.token_id)
    return Response(status=204)


def _check_count(count: int) -> None:
    most = services().settings.max_tokens
    if count > most:
        raise Refused(
            "invalid-request",
            f"count is {count}, outside [1, {most}]; ask several times",
            field="count",
        )


def _issued(issued: IssuedToken, scopes: Iterable[str]) -> NewToken:
    return {
        "token": issued.token,
        "id": issued.id,
        "scopes": sorted(set(scopes)),
        "expires_at": _moment(issued.expires_at),
    }


def _moment(seconds: int | None) -> str | None:
    return None if seconds is None else timestamp(seconds)


def _unknown() -> Refused:
    return Refused("not-found", "no token has this id; it is the middle part of the token")
