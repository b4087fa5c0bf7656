"""Signing in, by password or at the OpenID Connect provider, and out; the account, its sessions."""

from __future__ import annotations

from typing import Final

from flask import Response, request, url_for
from flask_login import current_user, logout_user

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.answering import CLIENT_HEADER
from hushpoll_server.dashboard.forms import Fault
from hushpoll_server.dashboard.frame import (
    COOKIE,
    FORM_COOKIE,
    dashboard,
    hand_session,
    member,
    new_form_token,
    page,
    private,
    require_form,
    see,
    set_cookie,
    signed_in,
    words_of_refusal,
)
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.provider import ATTEMPT_SECONDS, Attempt, Provider
from hushpoll_server.services.surveys.surveys import timestamp
from hushpoll_shared.wire.problems import PROBLEMS


@dashboard.get("/sign-in")
def sign_in() -> Response:
    """Show the sign-in form, or the surveys to a user who is signed in already."""
    if current_user.is_authenticated:
        return see(page_of_dashboard(request.args.get("next", "")))
    services().drawing.expect()
    return sign_in_form(wanted=request.args.get("next", ""))


@dashboard.post("/sign-in")
def begin_session() -> Response:
    """Begin a session, and go on to where the user wanted to go."""
    require_form(request.cookies.get(FORM_COOKIE, ""))
    name, password = request.form.get("name", ""), request.form.get("password", "")
    wanted, address = request.form.get("next", ""), request.headers.get(CLIENT_HEADER)
    try:
        _, secret = services().sign_in.begin(name, password, address=address)
    except Refused as refusal:
        if refusal.code not in ("unauthorized", "rate-limited", "unavailable"):
            raise
        return sign_in_form(name=name, refusal=refusal, wanted=wanted)
    answer = see(page_of_dashboard(wanted))
    hand_session(answer, secret)
    return answer


@dashboard.post("/sign-out")
@private
def sign_out() -> Response:
    """End this session."""
    services().sign_in.end(member(), signed_in().session.id)
    logout_user()
    answer = see(url_for("dashboard.sign_in"))
    answer.delete_cookie(COOKIE, path=f"{request.script_root}/dashboard")
    return answer


@dashboard.get("/account")
@private
def account() -> Response:
    """Show the user's roles and sessions."""
    return _account()


@dashboard.post("/account/password")
@private
def change_password() -> Response:
    """Replace the user's own password; every other session of theirs ends."""
    form = request.form
    try:
        if form.get("new", "") != form.get("again", ""):
            raise InvalidParameter(
                "the two new passwords differ; type the same one twice", field="again"
            )
        secret = services().sign_in.change_password(
            member(),
            form.get("current", ""),
            form.get("new", ""),
            address=request.headers.get(CLIENT_HEADER),
        )
    except InvalidParameter as error:
        return _account(422, Fault((error.field or "",), words_of_refusal(error)))
    except Refused as refusal:
        if refusal.code not in ("unauthorized", "rate-limited", "unavailable"):
            raise
        fault = Fault((), words_of_refusal(refusal))
        if refusal.code == "unauthorized":
            fault = Fault(("current",), "The current password is wrong; try again.")
        return _account(PROBLEMS[refusal.code].status, fault)
    answer = see(url_for("dashboard.account"))
    hand_session(answer, secret)
    return answer


def _account(status: int = 200, fault: Fault | None = None) -> Response:
    sessions = [
        {
            "id": row.id,
            "began": timestamp(row.created_at),
            "used": timestamp(row.used_at),
            "ends": timestamp(row.expires_at),
            "this": row.id == signed_in().session.id,
        }
        for row in services().sign_in.sessions(member())
    ]
    return page("account.html", status, sessions=sessions, fault=fault)


@dashboard.post("/account/sessions/<session_id>/end")
@private
def end_session(session_id: str) -> Response:
    """End another session of the user."""
    services().sign_in.end(member(), session_id)
    return see(url_for("dashboard.account"))


def sign_in_form(*, name: str = "", refusal: Refused | None = None, wanted: str = "") -> Response:
    """Show the sign-in form, which leads to the page that is wanted."""
    provider = services().provider
    token = request.cookies.get(FORM_COOKIE) or new_form_token()
    answer = page(
        "sign_in.html",
        200 if refusal is None else PROBLEMS[refusal.code].status,
        name=name[:64],
        refusal=None if refusal is None else refusal.detail,
        token=token,
        next=page_of_dashboard(wanted),
        provider=None if provider is None else provider.label,
    )
    set_cookie(answer, FORM_COOKIE, token)
    if refusal is not None and refusal.retry_after is not None:
        answer.headers["Retry-After"] = str(refusal.retry_after)
    return answer


def page_of_dashboard(wanted: str) -> str:
    """Return the page that is wanted, if it is one of the dashboard's; the surveys otherwise."""
    home = url_for("dashboard.surveys")
    plain = wanted.isascii() and wanted.isprintable() and not set(wanted) & set("\\ \"'<>")
    return wanted if plain and wanted.startswith(home) and "//" not in wanted else home


# It has the secret of a sign-in that has begun, and the page to which that leads.
PROVIDER_COOKIE: Final = "hushpoll_provider"
LONGEST_PAGE: Final = 2000


@dashboard.get("/sign-in/provider")
def to_provider() -> Response:
    """Lead the browser to the provider."""
    provider, attempt = _provider(), Attempt.new()
    wanted = page_of_dashboard(request.args.get("next", ""))
    try:
        way = provider.way(attempt, _return_address())
    except Refused as refusal:
        return sign_in_form(refusal=refusal, wanted=wanted)
    answer = see(way)
    kept = wanted if len(wanted) <= LONGEST_PAGE else ""
    set_cookie(answer, PROVIDER_COOKIE, f"{attempt.secret}:{kept}", seconds=ATTEMPT_SECONDS)
    return answer


@dashboard.get("/sign-in/return")
def from_provider() -> Response:
    """Begin a session of the user whom the provider has signed in."""
    provider = _provider()
    secret, _, kept = request.cookies.get(PROVIDER_COOKIE, "").partition(":")
    attempt, wanted = Attempt(secret), page_of_dashboard(kept)
    try:
        # Not counted as a failure: another site can send a browser here as often as it likes.
        code = provider.code_in(request.args, attempt)
        _, session = services().sign_in.begin_at_provider(
            lambda: provider.identity(code, attempt, _return_address()),
            address=request.headers.get(CLIENT_HEADER),
        )
    except Refused as refusal:
        answer = sign_in_form(refusal=refusal, wanted=wanted)
    else:
        answer = see(wanted)
        hand_session(answer, session)
    answer.delete_cookie(PROVIDER_COOKIE, path=f"{request.script_root}/dashboard")
    return answer


def _provider() -> Provider:
    provider = services().provider
    if provider is None:
        raise Refused("not-found", "users of this server sign in with a password alone")
    return provider


def _return_address() -> str:
    """Return where the provider sends the browser back; it compares this with what it knows."""
    scheme = "https" if services().settings.behind_tls else request.scheme
    return f"{scheme}://{request.host}{url_for('dashboard.from_provider')}"
