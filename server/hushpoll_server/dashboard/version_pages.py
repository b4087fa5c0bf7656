"""The opening of every page about a survey's version: its address, who may see it, its row."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Final

from hushpoll_server.dashboard.forms import comes_back
from hushpoll_server.dashboard.frame import View, dashboard, member, private
from hushpoll_server.http.endpoint import services
from hushpoll_server.services.people.roles import Role
from hushpoll_server.store.catalogue import VersionRow

ADDRESS: Final = "/surveys/<name>/versions/<int:version>"


def reached(name: str, version: int, role: Role) -> VersionRow:
    """Return a version, if the user holds a role in its survey.

    Raises
    ------
    Refused
        ``unknown-survey`` or ``forbidden``.
    """
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
