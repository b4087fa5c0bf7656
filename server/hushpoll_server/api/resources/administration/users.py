"""The people who sign in to the dashboard, their roles, and the log of who did what."""

from __future__ import annotations

from pydantic import Field

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.api.routes import Routes
from hushpoll_server.errors import Refused
from hushpoll_server.http.bodies import Parameters
from hushpoll_server.http.endpoint import log_act, services
from hushpoll_server.services.people.act_words import act_words
from hushpoll_server.services.people.roles import check_published
from hushpoll_server.services.people.users import Member
from hushpoll_server.services.surveys.surveys import timestamp
from hushpoll_shared.wire.documents.administration import ActionList, UserDocument, UserList

_SURVEY = "A survey's name, or `*` for every survey."
_ROLE = "`reader`, `analyst`, `editor` or `admin`; each includes those before it."


class UserPath(Parameters):
    """A user by name."""

    user: str = Field(description="The user's name.")


class RolePath(UserPath):
    """A user's role in a survey."""

    survey: str = Field(description=_SURVEY)


class UserBody(Parameters):
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


class RoleBody(Parameters):
    """A role to give."""

    role: str = Field(description=_ROLE)


class PasswordBody(Parameters):
    """A password to set."""

    password: str = Field(description="12 to 1024 characters.")


class ActionsQuery(Parameters):
    """Which lines of the action log."""

    limit: int = Field(100, ge=1, le=1000, description="At most so many, the newest first.")
    survey: str | None = Field(
        None, pattern=r"^[a-z0-9_-]{1,64}$", description="Of one survey alone."
    )


api = Routes("users")


@api.operation("GET", "/users", scope="admin")
def list_users() -> UserList:
    """List every user with the roles that they have."""
    return {"users": [_answer(user) for user in services().users.all()]}


@api.operation("POST", "/users", 404, scope="admin", status=201, act="added-user")
def add_user(body: UserBody) -> UserDocument:
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
    return _answer(user)


@api.operation("DELETE", "/users/<user>", scope="admin", act="removed-user")
def remove_user(path: UserPath) -> None:
    """Remove a user, and end every session of theirs."""
    parts = services()
    _require(path.user)
    parts.users.remove(path.user)
    log_act(subject=path.user)


@api.operation("PUT", "/users/<user>/password", scope="admin", act="set-password")
def set_password(path: UserPath, body: PasswordBody) -> None:
    """Replace a user's password, and end every session of theirs."""
    parts = services()
    _require(path.user)
    parts.users.set_password(path.user, body.password)
    log_act(subject=path.user)


@api.operation("PUT", "/users/<user>/roles/<survey>", scope="admin", act="gave-role")
def give_role(path: RolePath, body: RoleBody) -> UserDocument:
    """Give a user a role in a survey, in place of the one that they have there."""
    parts = services()
    _require(path.user)
    _check_survey(path.survey)
    member = parts.users.set_role(path.user, path.survey, body.role)
    log_act(survey=path.survey, subject=path.user, kind=body.role)
    return _answer(member)


@api.operation("DELETE", "/users/<user>/roles/<survey>", scope="admin", act="gave-role-none")
def take_role(path: RolePath) -> UserDocument:
    """Take away a user's role in a survey."""
    parts = services()
    _require(path.user)
    member = parts.users.set_role(path.user, path.survey, None)
    log_act(survey=path.survey, subject=path.user)
    return _answer(member)


@api.operation("GET", "/actions", scope="admin")
def list_actions(query: ActionsQuery) -> ActionList:
    """List who looked at, exported, changed or deleted what; never what a respondent sent."""
    lines = services().actions.newest(query.limit, survey=query.survey)
    return {
        "actions": [
            {
                "at": timestamp(line.at),
                "actor": line.actor,
                "act": line.act,
                "words": act_words(line.act),
                "survey": line.survey,
                "version": line.version,
                "subject": line.subject,
            }
            for line in lines
        ]
    }


def _answer(user: Member) -> UserDocument:
    return {"name": user.name, "provider": user.provider, "roles": dict(user.roles)}


def _check_survey(survey: str) -> None:
    check_published(survey, {row.name for row in services().surveys.all()})


def _require(name: str) -> None:
    try:
        services().users.named(name)
    except InvalidParameter as error:
        raise Refused("not-found", str(error)) from None
