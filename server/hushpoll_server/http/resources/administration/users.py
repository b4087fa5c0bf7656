"""The people who sign in to the dashboard, their roles, and the log of who did what."""

from __future__ import annotations

from flask import Response
from flask_openapi3.models.tag import Tag

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import current_grant, endpoint, json_answer, services
from hushpoll_server.http.models.administration.users import (
    ActionLine,
    ActionList,
    ActionsQuery,
    PasswordBody,
    RoleBody,
    RolePath,
    UserAnswer,
    UserBody,
    UserList,
    UserPath,
)
from hushpoll_server.http.openapi import BEARER, Routes, problems
from hushpoll_server.services.people.act_words import act_words
from hushpoll_server.services.people.roles import check_published
from hushpoll_server.services.people.users import Member
from hushpoll_server.services.surveys.surveys import timestamp

api = Routes("users", __name__, url_prefix="/api/v1", abp_tags=[Tag(name="users")])

_CHANGES = problems(400, 401, 403, 404, 413, 415, 422)


@api.get("/users", responses={200: UserList, **problems(401, 403)}, security=BEARER)
@endpoint("admin", every_survey=True)
def list_users() -> Response:
    """List every user with the roles that they have."""
    return json_answer(UserList(users=[_answer(user) for user in services().users.all()]))


@api.post("/users", responses={201: UserAnswer, **_CHANGES}, security=BEARER)
@endpoint("admin", every_survey=True)
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
    parts.actions.record(current_grant().actor, "added-user", subject=user.name)
    return json_answer(_answer(user), 201)


@api.delete("/users/<user>", responses={204: None, **problems(401, 403, 404)}, security=BEARER)
@endpoint("admin", every_survey=True)
def remove_user(path: UserPath) -> Response:
    """Remove a user, and end every session of theirs."""
    parts = services()
    _require(path.user)
    parts.users.remove(path.user)
    parts.actions.record(current_grant().actor, "removed-user", subject=path.user)
    return Response(status=204)


@api.put("/users/<user>/password", responses={204: None, **_CHANGES}, security=BEARER)
@endpoint("admin", every_survey=True)
def set_password(path: UserPath, body: PasswordBody) -> Response:
    """Replace a user's password, and end every session of theirs."""
    parts = services()
    _require(path.user)
    parts.users.set_password(path.user, body.password)
    parts.actions.record(current_grant().actor, "set-password", subject=path.user)
    return Response(status=204)


@api.put("/users/<user>/roles/<survey>", responses={200: UserAnswer, **_CHANGES}, security=BEARER)
@endpoint("admin", every_survey=True)
def give_role(path: RolePath, body: RoleBody) -> Response:
    """Give a user a role in a survey, in place of the one that they have there."""
    parts = services()
    _require(path.user)
    _check_survey(path.survey)
    member = parts.users.set_role(path.user, path.survey, body.role)
    parts.actions.record(
        current_grant().actor, f"gave-role-{body.role}", survey=path.survey, subject=path.user
    )
    return json_answer(_answer(member))


@api.delete(
    "/users/<user>/roles/<survey>",
    responses={200: UserAnswer, **problems(401, 403, 404)},
    security=BEARER,
)
@endpoint("admin", every_survey=True)
def take_role(path: RolePath) -> Response:
    """Take away a user's role in a survey."""
    parts = services()
    _require(path.user)
    member = parts.users.set_role(path.user, path.survey, None)
    parts.actions.record(
        current_grant().actor, "gave-role-none", survey=path.survey, subject=path.user
    )
    return json_answer(_answer(member))


@api.get("/actions", responses={200: ActionList, **problems(401, 403, 422)}, security=BEARER)
@endpoint("admin", every_survey=True)
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
