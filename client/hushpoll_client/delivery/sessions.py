"""Keep-alive sessions: one per thread and process, without cookies."""

from __future__ import annotations

import os
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Final

from hushpoll_client.device.forks import unforked

if TYPE_CHECKING:
    import requests


# Requests, and what it and we import no earlier than with the first request.
_NETWORK: Final = (
    *("requests", "email.utils", "http.cookiejar"),
    *("encodings.ascii", "encodings.idna", "encodings.latin_1"),
    "hushpoll_client.delivery.timed_adapter",
)


def load_network() -> None:
    """Import all that a request needs, which takes a moment, and let no fork come between."""
    if not all(name in sys.modules for name in _NETWORK):
        with unforked():
            for name in _NETWORK:
                import_module(name)


def new_session() -> requests.Session:
    """Return a keep-alive session that accepts no cookies and keeps to our deadlines."""
    import requests

    from hushpoll_client.delivery.timed_adapter import mount_timed

    session = requests.Session()
    mount_timed(session)
    refuse_cookies(session)
    return session


def refuse_cookies(session: requests.Session) -> None:
    """Make ``session`` keep no cookie of any server: a cookie would link one report to the next."""
    from http.cookiejar import DefaultCookiePolicy

    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))


class Sessions:
    """Each thread's and each process's own session, opened when first used.

    Parameters
    ----------
    given : requests.Session or None
        A session to use instead everywhere; its owner closes it and keeps it to one thread. The
        adapters that Requests gave it are replaced by such as keep to our deadlines.
    """

    def __init__(self, given: requests.Session | None = None) -> None:
        if given is not None:
            from hushpoll_client.delivery.timed_adapter import mount_timed

            mount_timed(given)
        self._given = given
        self._own = threading.local()

    def current(self) -> requests.Session:
        """Return the session of this thread in this process."""
        if self._given is not None:
            return self._given
        # A child of a fork must not write into its parent's connections.
        if getattr(self._own, "pid", None) != os.getpid():
            self._own.session = None
            self._own.pid = os.getpid()
        session: requests.Session | None = self._own.session
        if session is None:
            load_network()
            session = self._own.session = new_session()
        return session

    def close(self) -> None:
        """Close this thread's own session; `current` then opens a new one."""
        session = getattr(self._own, "session", None)
        if session is not None:
            self._own.session = None
            session.close()
