"""Tokens: of analysts, with scopes, and of respondents, for a single report; and invitations."""

from __future__ import annotations

from collections.abc import Iterable

from pydantic import Field

from hushpoll_server.api.routes import VERSION, Routes
from hushpoll_server.errors import Refused
from hushpoll_server.http.bodies import Parameters, model_of
from hushpoll_server.http.endpoint import SurveyPath, log_act, services
from hushpoll_server.jobs.mailing import mail_texts, people_of
from hushpoll_server.services.surveys.access import IssuedToken
from hushpoll_server.services.surveys.surveys import timestamp
from hushpoll_server.store.catalogue import VersionRow
from hushpoll_shared.jobs.collecting import PersonParameters, Remind
from hushpoll_shared.survey.terms import INVITED, TOKEN
from hushpoll_shared.wire.documents.administration import (
    InvitationsDocument,
    MailPreviewsDocument,
    RespondentTokensDocument,
    RotateDocument,
    TokenDocument,
    TokenList,
)


class TokenPath(Parameters):
    """A bearer token by its public id."""

    token_id: str = Field(pattern=r"^[0-9a-f]{16}$", description="The token's public id.")


class RespondentTokensBody(Parameters):
    """How many single-use tokens or invitations to issue."""

    count: int = Field(ge=1, le=1_000_000, strict=True)


class MailPreviewsBody(model_of(Remind)):  # type: ignore[misc]  # made while running
    """Texts of mails to be shown, as the jobs `invite` and `remind` would be given them."""

    reminder: bool = Field(
        False, strict=True, description="Whether the mails are those of `remind`, not of `invite`."
    )
    people: list[model_of(PersonParameters)] = Field(  # type: ignore[valid-type]
        default_factory=list,
        max_length=100_000,
        description="Who would be invited: they are checked as `invite` does, and not stored.",
    )


class TokenBody(Parameters):
    """A bearer token to issue."""

    scopes: list[str] = Field(min_length=1, max_length=8)
    label: str = Field("", max_length=200)
    expires_in: int | None = Field(
        None, ge=1, le=315_360_000, strict=True, description="Seconds; never by default."
    )
    surveys: list[str] | None = Field(
        None,
        min_length=1,
        max_length=100,
        description="Names of the surveys that it is for, published or not; every survey by "
        "default. Such a token manages no tokens, whatever its scopes.",
    )


class RotateBody(Parameters):
    """How a bearer token is replaced."""

    overlap_seconds: int = Field(
        86_400,
        ge=0,
        le=2_592_000,
        strict=True,
        description="For how long the old token stays valid beside the new one.",
    )
    expires_in: int | None = Field(
        None,
        ge=1,
        le=315_360_000,
        strict=True,
        description="Seconds after which the new token expires; by default when the old one would.",
    )


api = Routes("tokens")


@api.operation(
    "POST",
    "/surveys/<name>/tokens",
    scope="publish",
    status=201,
    act="issued-respondent-tokens",
)
def issue_respondent_tokens(
    path: SurveyPath, body: RespondentTokensBody
) -> RespondentTokensDocument:
    """Issue single-use tokens for the respondents of a token survey.

    Each is worth one report to any version of the survey. Only hashes are stored.
    """
    parts = services()
    row = parts.surveys.latest(path.name)
    parts.surveys.require_submission(row, TOKEN)
    _check_count(body.count)
    tokens = parts.access.issue_to_respondents(row, body.count)
    log_act(survey=row.name, subject=str(body.count))
    return {"tokens": tokens}


@api.operation(
    "POST",
    f"{VERSION}/invitations",
    410,
    scope="publish",
    status=201,
    act="issued-invitations",
)
def issue_invitations(row: VersionRow, body: RespondentTokensBody) -> InvitationsDocument:
    """Issue invitations to a version with submission `invited`, one for each respondent.

    Each is redeemed once, for one report to this version. Only hashes are stored.
    """
    parts = services()
    parts.surveys.require_submission(row, INVITED)
    _check_count(body.count)
    invitations = parts.invitations.issue(row, body.count)
    log_act(row, subject=str(body.count))
    return {"invitations": invitations}


@api.operation("POST", f"{VERSION}/mail-previews", scope="publish")
def preview_mails(row: VersionRow, body: MailPreviewsBody) -> MailPreviewsDocument:
    """Show the mails that invite or remind one person, in each language; nothing is sent.

    It needs no mail server. The person is made up.
    """
    parts = services()
    given = body.as_json()
    people = people_of(given["people"], parts.surveys.published(row).languages)
    texts = mail_texts(given["texts"])
    mails = parts.mailing.preview(row, texts, reminder=given["reminder"], people=people)
    return {"mails": mails}


@api.operation("POST", "/tokens", scope="admin", status=201, act="issued-token")
def issue_token(body: TokenBody) -> TokenDocument:
    """Issue a bearer token with scopes out of submit, publish, read, train, admin."""
    parts = services()
    issued = parts.access.issue(
        body.scopes, label=body.label, expires_in=body.expires_in, surveys=body.surveys
    )
    log_act(subject=issued.id)
    return _issued(issued, body.scopes)


@api.operation("GET", "/tokens", scope="admin")
def list_tokens() -> TokenList:
    """List every bearer token, the oldest first. The server has no secrets to show."""
    access = services().access
    return {
        "tokens": [
            {
                "id": row.id,
                "label": row.label,
                "scopes": sorted(row.scopes),
                "state": access.state(row).value,
                "issued_at": _moment(row.issued_at),
                "expires_at": _moment(row.expires_at),
                "replaced_by": row.replaced_by,
                "surveys": None if row.surveys is None else sorted(row.surveys),
                "last_used": row.last_used,
            }
            for row in access.all()
        ]
    }


@api.operation(
    "POST",
    "/tokens/<token_id>/rotate",
    scope="admin",
    status=201,
    act="rotated-token",
)
def rotate_token(path: TokenPath, body: RotateBody) -> RotateDocument:
    """Replace a bearer token by a new one with the same scopes and label.

    The old one stays valid for `overlap_seconds`, so that its bearers can change over. Only an
    administrator may: a thief of a token must not be able to outlive its revocation.
    """
    rotation = services().access.rotate(
        path.token_id, overlap_seconds=body.overlap_seconds, expires_in=body.expires_in
    )
    if rotation is None:
        raise _unknown()
    log_act(subject=path.token_id)
    return {
        **_issued(rotation.issued, rotation.scopes),
        "replaces": path.token_id,
        "replaced_until": timestamp(rotation.replaced_until),
    }


@api.operation("DELETE", "/tokens/<token_id>", scope="admin", act="revoked-token")
def revoke_token(path: TokenPath) -> None:
    """Revoke a bearer token by its public id."""
    if not services().access.revoke(path.token_id):
        raise _unknown()
    log_act(subject=path.token_id)


def _check_count(count: int) -> None:
    most = services().settings.max_tokens
    if count > most:
        raise Refused(
            "invalid-request",
            f"count is {count}, outside [1, {most}]; ask several times",
            field="count",
        )


def _issued(issued: IssuedToken, scopes: Iterable[str]) -> TokenDocument:
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
