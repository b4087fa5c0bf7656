"""Requests and answers about tokens: of analysts and of respondents."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Strict
from hushpoll_server.http.bodies import body_of
from hushpoll_shared.jobs.collecting import PersonParameters, Remind


class TokenPath(Strict):
    """A bearer token by its public id."""

    token_id: str = Field(pattern=r"^[0-9a-f]{16}$", description="The token's public id.")


class RespondentTokensBody(Strict):
    """How many single-use tokens or invitations to issue."""

    count: int = Field(ge=1, le=1_000_000, strict=True)


class RespondentTokensAnswer(Answer):
    """Single-use tokens; they are shown once."""

    tokens: list[str]


class InvitationsAnswer(Answer):
    """Invitations; they are shown once."""

    invitations: list[str]


class MailPreviewsBody(body_of(Remind)):  # type: ignore[misc]  # made while running
    """Texts of mails to be shown, as the jobs `invite` and `remind` would be given them."""

    reminder: bool = Field(
        False, strict=True, description="Whether the mails are those of `remind`, not of `invite`."
    )
    people: list[body_of(PersonParameters)] = Field(  # type: ignore[valid-type]
        default_factory=list,
        max_length=100_000,
        description="Who would be invited: they are checked as `invite` does, and not stored.",
    )


class MailPreviewAnswer(Answer):
    """A mail as a person would get it."""

    language: str
    sender: str = Field(description="Empty while the server has no `mail_sender`.")
    recipient: str
    subject: str
    body: str = Field(description="Its link has no invitation that could be redeemed.")


class MailPreviewsAnswer(Answer):
    """A mail in each language that there is a text in."""

    mails: list[MailPreviewAnswer]


class TokenBody(Strict):
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


class TokenAnswer(Answer):
    """A bearer token; it is shown once."""

    token: str
    id: str
    scopes: list[str]
    expires_at: str | None = None


class TokenSummary(Answer):
    """A bearer token in the list, without its secret, which the server does not have."""

    id: str = Field(description="Its public id, the middle part of the token.")
    label: str
    scopes: list[str]
    state: Literal["valid", "replaced", "expired", "revoked"] = Field(
        description="`replaced`: it has a successor, and is valid until its overlap is over."
    )
    issued_at: str | None = Field(None, description="UTC; absent for tokens of an older release.")
    expires_at: str | None = Field(None, description="UTC; absent if it never expires.")
    replaced_by: str | None = Field(None, description="Public id of its successor.")
    surveys: list[str] | None = Field(
        None, description="Names of the surveys that it is for; absent if for every survey."
    )
    last_used: str | None = Field(
        None, description="Day of its last use, UTC, YYYY-MM-DD; absent if it was not used yet."
    )


class TokenList(Answer):
    """Every bearer token, the oldest first."""

    tokens: list[TokenSummary]


class RotateBody(Strict):
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


class RotateAnswer(TokenAnswer):
    """A token's successor; it is shown once."""

    replaces: str = Field(description="Public id of the old token.")
    replaced_until: str = Field(description="UTC; from then on the old token is refused.")
