"""Signing in at the OpenID Connect provider: the way there, and the way back."""

from __future__ import annotations

from typing import Final

from flask import Response, request, url_for

from hushpoll_server.answering import CLIENT_HEADER
from hushpoll_server.dashboard.frame import dashboard, hand_session, see, set_cookie
from hushpoll_server.dashboard.signing import page_of_dashboard, sign_in_form
from hushpoll_server.errors import Refused
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.provider import ATTEMPT_SECONDS, Attempt, Provider

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
