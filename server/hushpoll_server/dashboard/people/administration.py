"""Pages for admins of every survey: users and tokens, and how the server does."""

from __future__ import annotations

from functools import wraps
from typing import Any, Final

from flask import Response, request, url_for

from hushpoll_server.dashboard.forms import comes_back
from hushpoll_server.dashboard.frame import View, dashboard, member, page, private, see
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.act_words import act_words
from hushpoll_server.services.people.roles import EVERY_SURVEY, ORDER, check_published
from hushpoll_server.services.surveys.access import SCOPES
from hushpoll_server.services.surveys.surveys import timestamp

MOST_LINES = 100
MOST_CHOICES: Final = 50
"""Surveys of a list to choose from; of more the name is typed, with suggestions."""


def administrators(view: View) -> View:
    """Let only administrators of every survey see a page."""

    @private
    @wraps(view)
    def shown(**arguments: Any) -> Any:
        if not member().administers:
            raise Refused("forbidden", "this needs an administrator of every survey; ask one")
        return view(**arguments)

    return shown


@dashboard.get("/people")
@administrators
def people() -> Response:
    """List users, API tokens and the newest lines of the action log."""
    return _people_page()


@dashboard.post("/people")
@administrators
@comes_back(people)
def add_user() -> Response:
    """Add a user with one role."""
    parts = services()
    survey, role = request.form.get("survey", "").strip(), request.form.get("role", "")
    name = request.form.get("name", "").strip()
    _check_survey(survey)
    password: str | None = request.form.get("password", "")
    if parts.provider is not None and not password:
        password = None
    user = parts.users.add(name, password, {survey: role})
    parts.actions.record(member().actor, "added-user", survey=survey, subject=user.name)
    return see(url_for("dashboard.people"))


@dashboard.post("/people/<name>/role")
@administrators
@comes_back(people)
def give_role(name: str) -> Response:
    """Give a user a role in a survey, or take it away."""
    parts = services()
    survey, role = request.form.get("survey", "").strip(), request.form.get("role", "")
    if name == member().name and survey == EVERY_SURVEY:
        raise Refused("invalid-request", "nobody takes the administrator's role from themselves")
    if role != "none":
        _check_survey(survey)
    parts.users.set_role(name, survey, None if role == "none" else role)
    parts.actions.record(member().actor, f"gave-role-{role}", survey=survey, subject=name)
    return see(url_for("dashboard.people"))


@dashboard.post("/people/<name>/remove")
@administrators
def remove_user(name: str) -> Response:
    """Remove a user, and end every session of theirs."""
    if name == member().name:
        raise Refused("invalid-request", "nobody removes themselves; ask another administrator")
    parts = services()
    parts.users.remove(name)
    parts.actions.record(member().actor, "removed-user", subject=name)
    return see(url_for("dashboard.people"))


@dashboard.post("/tokens")
@administrators
@comes_back(people)
def issue_token() -> Response:
    """Issue an API token, and show it once."""
    parts = services()
    surveys = " ".join(request.form.getlist("surveys")).split()
    issued = parts.access.issue(
        request.form.getlist("scope"),
        label=request.form.get("label", "").strip(),
        surveys=surveys or None,
    )
    parts.actions.record(member().actor, "issued-token", subject=issued.id)
    return _people_page(issued=issued.token)


@dashboard.post("/tokens/<token_id>/revoke")
@administrators
def revoke_token(token_id: str) -> Response:
    """Refuse an API token from now on."""
    parts = services()
    if not parts.access.revoke(token_id):
        raise Refused("not-found", "no token has this id")
    parts.actions.record(member().actor, "revoked-token", subject=token_id)
    return see(url_for("dashboard.people"))


def _people_page(**more: Any) -> Response:
    parts = services()
    tokens = [
        {
            "id": row.id,
            "label": row.label,
            "scopes": sorted(row.scopes),
            "surveys": None if row.surveys is None else sorted(row.surveys),
            "state": parts.access.state(row).value,
            "last_used": row.last_used,
            "expires_at": None if row.expires_at is None else timestamp(row.expires_at),
        }
        for row in parts.access.all()
    ]
    lines = [
        {**vars(line), "at": timestamp(line.at), "words": act_words(line.act)}
        for line in parts.actions.newest(MOST_LINES)
    ]
    return page(
        "people.html",
        users=parts.users.all(),
        tokens=tokens,
        lines=lines,
        role_names=ORDER,
        surveys={row.name: row.title for row in parts.surveys.all()},
        most=MOST_CHOICES,
        scopes=SCOPES,
        provider=None if parts.provider is None else parts.provider.label,
        **{"issued": None} | more,
    )


def _check_survey(survey: str) -> None:
    check_published(survey, {row.name for row in services().surveys.all()})


LOOK_AGAIN_SECONDS: Final = 5
# Below this share of the disk, the page warns.
LITTLE_ROOM: Final = 0.1


@dashboard.get("/operations")
@administrators
def operations() -> Response:
    """Show how the server does, and keep the figures up to date while the page is seen."""
    look = services().operations.look()
    free, whole = look["disk_free_bytes"], look["disk_bytes"]
    return page(
        "operations.html",
        o=look,
        little_room=whole is not None and free is not None and free < LITTLE_ROOM * whole,
        goes_on=LOOK_AGAIN_SECONDS,
    )
