"""Sessions of Requests without cookies, whose exchanges end at the deadlines of `timing`.

Requests limits each wait for bytes. These connections limit all waits together: those for the
request's bytes, the status line, the headers and the body. This module imports Requests, so the
rest of the client imports it with the first request only (`sessions.load_network`).
"""

from __future__ import annotations

import socket
from http.cookiejar import DefaultCookiePolicy
from io import BufferedReader, RawIOBase
from math import inf
from typing import TYPE_CHECKING, Any, Literal, cast

from requests import Response, Session
from requests.adapters import HTTPAdapter
from urllib3 import HTTPConnectionPool, HTTPSConnectionPool
from urllib3.connection import HTTPConnection, HTTPSConnection

from hushpoll_client.delivery.timing import left

if TYPE_CHECKING:
    from urllib3 import PoolManager


def new_session() -> Session:
    """Return a keep-alive session that accepts no cookies and keeps to our deadlines."""
    session = Session()
    mount_timed(session)
    refuse_cookies(session)
    return session


def refuse_cookies(session: Session) -> None:
    """Make ``session`` keep no cookie of any server: a cookie would link one report to the next."""
    session.cookies.set_policy(DefaultCookiePolicy(allowed_domains=[]))


class TimedSocket:
    """A connected socket, of TLS or not, on which no wait goes beyond the deadline.

    It has the methods of a socket that `http.client` and urllib3 use; the rest is passed on.
    """

    def __init__(self, own: socket.socket) -> None:
        self._own = own
        self._limit = own.gettimeout()
        self._wait = self._limit

    def __getattr__(self, name: str) -> Any:
        return getattr(self._own, name)

    def fileno(self) -> int:
        """Return the descriptor, which urllib3 polls."""
        return self._own.fileno()

    def settimeout(self, value: float | None) -> None:
        """Set the seconds that one wait may take; a deadline may shorten it."""
        self._limit = value
        self._set(value)

    def allow(self) -> None:
        """Let the next wait take the time that is left, or raise TimeoutError."""
        remaining = left()
        if remaining <= 0:
            raise TimeoutError("the exchange has taken all the time it had")
        wait = remaining if self._limit is None else min(self._limit, remaining)
        self._set(wait if wait < inf else None)

    def _set(self, wait: float | None) -> None:
        # Each change is a system call, and most exchanges are far from their deadline.
        if wait != self._wait:
            self._own.settimeout(wait)
            self._wait = wait

    def sendall(self, data: Any) -> None:
        """Send all of it; raises `TimeoutError` where that takes too long."""
        self.allow()
        self._own.sendall(data)

    def makefile(self, mode: Literal["rb"]) -> BufferedReader:
        """Return a file that reads what the server sends."""
        return BufferedReader(_TimedReader(self, self._own.makefile(mode, buffering=0)))


class _TimedReader(RawIOBase):
    """Reads from a socket; each read waits no longer than the time that is left."""

    def __init__(self, connection: TimedSocket, raw: socket.SocketIO) -> None:
        self._connection = connection
        self._raw = raw

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._connection.allow()
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedConnection(HTTPConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = _timed(self.sock)


class _TimedTLSConnection(HTTPSConnection):
    def connect(self) -> None:
        super().connect()
        self.sock = _timed(self.sock)


class _TimedPool(HTTPConnectionPool):
    ConnectionCls = _TimedConnection


class _TimedTLSPool(HTTPSConnectionPool):
    ConnectionCls = _TimedTLSConnection


class TimedAdapter(HTTPAdapter):
    """The adapter of a session whose exchanges end at our deadlines, through a proxy or not."""

    def init_poolmanager(self, *arguments: Any, **options: Any) -> None:
        """Make the pools of direct connections."""
        super().init_poolmanager(*arguments, **options)
        _use_timed_pools(self.poolmanager)

    def proxy_manager_for(self, proxy: str, **options: Any) -> Any:
        """Return the pools of connections through `proxy`."""
        manager = super().proxy_manager_for(proxy, **options)
        _use_timed_pools(manager)
        return manager

    def build_response(self, *arguments: Any, **options: Any) -> Response:
        """Return the answer to one of our exchanges without the address of a redirect.

        Requests, told to follow none, would still read that address, which may be none, and the
        whole body, however long it is.
        """
        response = super().build_response(*arguments, **options)
        if left() < inf:
            response.headers.pop("Location", None)
        return response


def mount_timed(session: Session) -> None:
    """Make `session` keep to the deadlines, except where the caller has set an adapter."""
    for prefix, adapter in list(session.adapters.items()):
        if type(adapter) is HTTPAdapter:
            session.mount(prefix, TimedAdapter())


def _timed(own: Any) -> socket.socket:
    # urllib3 wants a socket's methods, not its type.
    return cast(socket.socket, TimedSocket(own))


def _use_timed_pools(manager: PoolManager) -> None:
    manager.pool_classes_by_scheme = {"http": _TimedPool, "https": _TimedTLSPool}
