"""The sessions of Requests that a client sends over, and when Requests is imported."""

from __future__ import annotations

import os
import sys
import threading
from importlib import import_module
from typing import TYPE_CHECKING, Final

from hushpoll_client.threads import unforked

if TYPE_CHECKING:
    import requests

# Requests, and all modules that it and this package import with the first request only.
_NETWORK: Final = (
    *("requests", "email.utils", "http.cookiejar"),
    *("encodings.ascii", "encodings.idna", "encodings.latin_1"),
    "hushpoll_client.delivery.connections",
)


def load_network() -> None:
    """Import all that a request needs; a fork waits until that is done."""
    if not all(name in sys.modules for name in _NETWORK):
        with unforked():
            for name in _NETWORK:
                import_module(name)


class Sessions:
    """One session per thread and process, opened when first used.

    A `shared` session is used instead of all of these; its owner closes it and uses it in one
    thread. The adapters that Requests gave it are replaced by some that keep to our deadlines.
    """

    def __init__(self, shared: requests.Session | None = None) -> None:
        if shared is not None:
            from hushpoll_client.delivery.connections import mount_timed

            mount_timed(shared)
        self._shared = shared
        self._own = threading.local()

    def current(self) -> requests.Session:
        """Return the session of this thread in this process."""
        if self._shared is not None:
            return self._shared
        # A child of a fork must not write into its parent's connections.
        if getattr(self._own, "pid", None) != os.getpid():
            self._own.session = None
            self._own.pid = os.getpid()
        session: requests.Session | None = self._own.session
        if session is None:
            load_network()
            from hushpoll_client.delivery.connections import new_session

            session = self._own.session = new_session()
        return session

    def close(self) -> None:
        """Close this thread's own session; `current` then opens a new one."""
        session = getattr(self._own, "session", None)
        if session is not None:
            self._own.session = None
            session.close()
