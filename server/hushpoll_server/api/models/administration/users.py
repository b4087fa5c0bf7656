"""Requests and answers about the people who sign in to the dashboard."""

from __future__ import annotations

from pydantic import Field

from hushpoll_server.api.models.common import Answer, Strict

_SURVEY = "A survey's name, or `*` for every survey."
_ROLE = "`reader`, `analyst`, `editor` or `admin`; each includes those before it."


class UserPath(Strict):
    """A user by name."""

    user: str = Field(description="The user's name.")


class RolePath(UserPath):
    """A user's role in a survey."""

    survey: str = Field(description=_SURVEY)


class UserBody(Strict):
    """A user to add."""

    name: str = Field(
        description="1 to 64 letters, digits and `. _ @ + -`; the first is a letter or a digit."
    )
    password: str | None = Field(None, description="12 to 1024 characters.")
    provider: bool = Field(
        False,
        description="Whether the user signs in at the OpenID Connect provider, without a password: "
        "then `name` is what the provider tells at the first sign-in.",
    )
    roles: dict[str, str] = Field(
        default_factory=dict, description=f"Roles by survey. {_SURVEY} {_ROLE}"
    )


class RoleBody(Strict):
    """A role to give."""

    role: str = Field(description=_ROLE)


class PasswordBody(Strict):
    """A password to set."""

    password: str = Field(description="12 to 1024 characters.")


class UserAnswer(Answer):
    """A user, without the password, which the server does not have."""

    name: str
    provider: bool = Field(
        description="Whether the user signs in at the OpenID Connect provider, without a password."
    )
    roles: dict[str, str] = Field(description=f"By survey. {_SURVEY}")


class UserList(Answer):
    """Every user, by name."""

    users: list[UserAnswer]


class ActionsQuery(Strict):
    """Which lines of the action log."""

    limit: int = Field(100, ge=1, le=1000, description="At most so many, the newest first.")
    survey: str | None = Field(
        None, pattern=r"^[a-z0-9_-]{1,64}$", description="Of one survey alone."
    )


class ActionLine(Answer):
    """One line of the action log."""

    at: str = Field(description="UTC.")
    actor: str = Field(description="`user:NAME`, `token:PUBLIC_ID` or `command-line`.")
    act: str = Field(description="Its code.")
    words: str = Field(description="The act in plain words, which may change between releases.")
    survey: str | None = None
    version: int | None = None
    subject: str | None = Field(
        None, description="A further name: a user, a token's public id, a job's id, a format."
    )


class ActionList(Answer):
    """Lines of the action log, the newest first."""

    actions: list[ActionLine]
