"""The people who sign in to the dashboard, their roles, and the log of who did what."""

from __future__ import annotations

from flask import Response
from pydantic import Field

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.api.models.common import Answer, Strict
from hushpoll_server.api.routes import Routes
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import json_answer, log_act, services
from hushpoll_server.services.people.act_words import act_words
from hushpoll_server.services.people.roles import check_published
from hushpoll_server.services.people.users import Member
from hushpoll_server.services.surveys.surveys import timestamp

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


api = Routes("users")


@api.operation("GET", "/users", UserList, scope="admin")
def list_users() -> Response:
    """List every user with the roles that they have."""
    return json_answer(UserList(users=[_answer(user) for user in services().users.all()]))


@api.operation("POST", "/users", UserAnswer, 404, scope="admin", status=201, act="added-user")
def add_user(body: UserBody) -> Response:
    """Add a user. The password is kept as an argon2id hash; a user of the provider has none."""
    parts = services()
    for survey in body.roles:
        _check_survey(survey)
    if body.provider != (body.password is None):
        raise InvalidParameter(
            "password goes with a user who signs in with it; give a password, or provider true and "
            "no password",
            field="password",
        )
    user = parts.users.add(body.name, body.password, body.roles)
    log_act(subject=user.name)
    return json_answer(_answer(user), 201)


@api.operation("DELETE", "/users/<user>", None, scope="admin", act="removed-user")
def remove_user(path: UserPath) -> Response:
    """Remove a user, and end every session of theirs."""
    parts = services()
    _require(path.user)
    parts.users.remove(path.user)
    log_act(subject=path.user)
    return Response(status=204)


@api.operation("PUT", "/users/<user>/password", None, scope="admin", act="set-password")
def set_password(path: UserPath, body: PasswordBody) -> Response:
    """Replace a user's password, and end every session of theirs."""
    parts = services()
    _require(path.user)
    parts.users.set_password(path.user, body.password)
    log_act(subject=path.user)
    return Response(status=204)


@api.operation("PUT", "/users/<user>/roles/<survey>", UserAnswer, scope="admin", act="gave-role")
def give_role(path: RolePath, body: RoleBody) -> Response:
    """Give a user a role in a survey, in place of the one that they have there."""
    parts = services()
    _require(path.user)
    _check_survey(path.survey)
    member = parts.users.set_role(path.user, path.survey, body.role)
    log_act(survey=path.survey, subject=path.user, kind=body.role)
    return json_answer(_answer(member))


@api.operation(
    "DELETE", "/users/<user>/roles/<survey>", UserAnswer, scope="admin", act="gave-role-none"
)
def take_role(path: RolePath) -> Response:
    """Take away a user's role in a survey."""
    parts = services()
    _require(path.user)
    member = parts.users.set_role(path.user, path.survey, None)
    log_act(survey=path.survey, subject=path.user)
    return json_answer(_answer(member))


@api.operation("GET", "/actions", ActionList, scope="admin")
def list_actions(query: ActionsQuery) -> Response:
    """List who looked at, exported, changed or deleted what; never what a respondent sent."""
    lines = services().actions.newest(query.limit, survey=query.survey)
    shown = [
        ActionLine(
            at=timestamp(line.at),
            actor=line.actor,
            act=line.act,
            words=act_words(line.act),
            survey=line.survey,
            version=line.version,
            subject=line.subject,
        )
        for line in lines
    ]
    return json_answer(ActionList(actions=shown))


def _answer(user: Member) -> UserAnswer:
    return UserAnswer(name=user.name, provider=user.provider, roles=dict(user.roles))


def _check_survey(survey: str) -> None:
    check_published(survey, {row.name for row in services().surveys.all()})


def _require(name: str) -> None:
    try:
        services().users.named(name)
    except InvalidParameter as error:
        raise Refused("not-found", str(error)) from None
