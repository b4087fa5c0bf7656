"""The opening of every page about a survey's version: its address, who may see it, its row.

And its end: what the user did or saw is noted, and a form that was sent leads to a page again.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from flask import Response, url_for

from hushpoll_server.dashboard.forms import comes_back
from hushpoll_server.dashboard.frame import View, dashboard, member, private, see
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow

ADDRESS: Final = "/surveys/<name>/versions/<int:version>"


def reached(name: str, version: int, role: Role) -> VersionRow:
    """Return a version; refuses who does not hold the role in its survey."""
    member().require(name, role)
    return services().surveys.version(name, version)


def shows(path: str, role: Role) -> Callable[[View], View]:
    """Let a view answer a GET of an address of a version; it gets the version's row."""
    return _opening(path, role, "GET")


def takes(path: str, role: Role, on: View | None = None) -> Callable[[View], View]:
    """Let a view answer a POST; a refused form comes back `on` the page of its view."""
    return _opening(path, role, "POST", on)


def _opening(path: str, role: Role, method: str, on: View | None = None) -> Callable[[View], View]:
    def registered(view: View) -> View:
        @wraps(view)
        def opened(name: str, version: int, **others: Any) -> Any:
            return view(reached(name, version, role), **others)

        del opened.__wrapped__  # whose arguments are not those of an address
        whole = private(opened if on is None else comes_back(on)(opened))
        dashboard.add_url_rule(ADDRESS + path, view_func=whole, methods=[method])
        return whole

    return registered


def note_look(row: VersionRow, view: str, domain: str | None = None) -> None:
    """Note in the action log that the user saw a result, of a domain or of all reports."""
    services().actions.looked(member().actor, view, row.name, row.version, domain)


def note_act(row: VersionRow, act: str, subject: str | None = None) -> None:
    """Note in the action log what the user did to a version."""
    services().actions.record(
        member().actor, act, survey=row.name, version=row.version, subject=subject
    )


def address_of(row: VersionRow, view: str, **arguments: Any) -> str:
    """Return the address of a view of a version; an argument that is None is left out."""
    return url_for(f"dashboard.{view}", name=row.name, version=row.version, **arguments)


def back_to(row: VersionRow, view: str, *, anchor: str | None = None) -> Response:
    """Return the way to a page of a version, after a form was sent."""
    return see(address_of(row, view, _anchor=anchor))
