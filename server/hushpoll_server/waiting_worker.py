"""The part of a gunicorn worker in which connections wait: for a request, or for their end.

None of them has a thread. A request gets one when so much of it is there that the thread need not
wait for the client, and how long that may take is watched here.
"""

from __future__ import annotations

import errno
import math
import selectors
import socket
import time
from contextlib import suppress
from functools import partial
from typing import Any, Final

from gunicorn.workers.gthread import (  # type: ignore[import-untyped]  # none exist
    STOP_KEEPALIVE_LINGER,
    ThreadWorker,
)

from hushpoll_server import brief_calls, deadline_socket
from hushpoll_server.deadline_socket import BRIEF, DeadlineSocket
from hushpoll_server.http.answers import slow_request
from hushpoll_server.kept_connections import KeptConnections
from hushpoll_server.listening import BACKLOG
from hushpoll_server.logs import get_logger
from hushpoll_server.plain_answer import answer

# How long a client that was answered for the last time may take to read it.
LINGER_SECONDS: Final = 1.0
# Where the system has no descriptor or memory for another connection.
EXHAUSTED: Final = frozenset({errno.EMFILE, errno.ENFILE, errno.ENOBUFS, errno.ENOMEM})
ACCEPT_AGAIN_SECONDS: Final = 1.0
SAY_SO_SECONDS: Final = 60.0

LATE: Final = answer(slow_request(), **{"Connection": "close", "Access-Control-Allow-Origin": "*"})

log = get_logger(__name__)


class WaitingWorker(ThreadWorker):  # type: ignore[misc]  # its base has no types
    """A worker whose threads do not wait for heads, small bodies, or the ends of connections.

    Every connection is in one queue at most, in the order in which the queue's time is over: of
    those that have not asked for anything (since their last request), of those that have begun to,
    and of those that were answered for the last time. Where there are as many connections as may
    be, the one that has waited for longest makes room.
    """

    nr_conns: int
    _accept_again = _said_so = -math.inf

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        # Those that are kept make room where it is needed; none is closed for what might come.
        self.max_keepalived = self.worker_connections + 1
        self.keepalived_conns = KeptConnections()
        self.begun = KeptConnections()
        self.leaving = KeptConnections()

    def submit(self, conn: Any) -> None:
        """Give a thread a connection whose request has arrived."""
        super().enqueue_req(conn)

    def refused(self, _conn: Any) -> bool:
        """Whether a request that has arrived is refused without a thread."""
        return False

    def accept(self, listener: Any) -> None:
        """Accept all the connections that wait, so that none does for as many rounds as are."""
        evicted = False
        for _ in range(BACKLOG):
            before = self.nr_conns
            try:
                super().accept(listener)
            except OSError as error:
                if error.errno not in EXHAUSTED:
                    raise
                self.nr_conns = before
                # One that only waits may have what is missing here.
                if evicted or not self._make_room():
                    self._pause(error)
                    return
                evicted = True
                continue
            evicted = False
            if self.nr_conns == before:
                return
            if self.nr_conns >= self.worker_connections and not self._make_room():
                return

    def set_accept_enabled(self, enabled: bool) -> None:
        """Accept connections, or not; not where the system had no room a moment ago."""
        if not enabled or time.monotonic() >= self._accept_again:
            super().set_accept_enabled(enabled)

    def _pause(self, error: OSError) -> None:
        # The listener stays ready, so that to go on asking would take all the time there is.
        now = time.monotonic()
        self._accept_again = now + ACCEPT_AGAIN_SECONDS
        self.set_accept_enabled(False)
        if now - self._said_so >= SAY_SO_SECONDS:
            self._said_so = now
            log.warning(
                "not-accepting",
                error=errno.errorcode.get(error.errno or 0),
                connections=self.nr_conns,
            )

    def _make_room(self) -> bool:
        for queue in (self.keepalived_conns, self.leaving, self.begun):
            # Not the one that has come just now.
            if len(queue) > 1:
                self.hang_up(queue[0])
                return True
        return False

    def enqueue_req(self, conn: Any) -> None:
        """Take on a new connection, on which a request may have arrived already."""
        conn.sock = DeadlineSocket.of(conn.sock)
        conn.data_ready = True  # by the time a thread has it
        conn.queue = None
        try:
            enough = self.looks_at_new() and conn.sock.receive_ahead()
        except BlockingIOError:
            enough = False
        except OSError:
            self.nr_conns -= 1
            conn.close()
            return
        if enough:
            self.submit(conn)
        else:
            self._await(conn)

    def looks_at_new(self) -> bool:
        """Whether to look at a new connection at once; otherwise the next round does."""
        return True

    def await_next(self, conn: Any) -> None:
        """Wait for the next request on a connection, of which some may have been read already."""
        if conn.sock.put_back(conn.parser.unreader.take_buffered()):
            self.submit(conn)
        else:
            self._await(conn)

    def see_off(self, conn: Any) -> None:
        """Wait for the other side to have read the last answer."""
        self._await(conn, self.leaving)

    def on_client_socket_readable(self, conn: Any, client: Any) -> None:
        """Receive more of a request, and give it a thread once there is enough of it."""
        if conn.queue is None:  # it has made room since it became ready
            return
        if conn.queue is self.leaving:
            self._drain(conn)
            return
        begun = client.ahead != b""
        try:
            enough = client.receive_ahead()
        except BlockingIOError:
            return
        except OSError:
            self.hang_up(conn)
            return
        if not enough:
            if not begun:
                self.replace(conn)
        elif not self.refused(conn):
            self._forget(conn)
            self.submit(conn)

    def murder_pending(self) -> None:
        """See to whoever's time is over; gunicorn calls it after each look at the connections."""
        now = time.monotonic()
        while self.begun and self.begun[0].timeout <= now:
            self._send_away(self.begun[0])
        while self.leaving and self.leaving[0].timeout <= now:
            self.hang_up(self.leaving[0])
        if self.nr_conns >= self.worker_connections:
            self._make_room()

    def replace(self, conn: Any, queue: KeptConnections | None = None) -> None:
        """Put a connection that waits behind those that wait for the same."""
        if conn.queue is not None:
            conn.queue.remove(conn)
        self._place(conn, queue)

    def hang_up(self, conn: Any) -> None:
        """Let a connection that waits go, without a word."""
        self._forget(conn)
        self.nr_conns -= 1
        conn.close()

    def _await(self, conn: Any, queue: KeptConnections | None = None) -> None:
        try:
            self.poller.register(
                conn.sock, selectors.EVENT_READ, partial(self.on_client_socket_readable, conn)
            )
        except OSError:  # the system has no room for it
            self.nr_conns -= 1
            conn.close()
        else:
            self._place(conn, queue)

    def _place(self, conn: Any, queue: KeptConnections | None) -> None:
        now = time.monotonic()
        if queue is self.leaving:
            conn.timeout = now + LINGER_SECONDS
        elif conn.sock.ahead:
            queue = self.begun
            conn.timeout = now + deadline_socket.READ_SECONDS
        else:
            queue = self.keepalived_conns
            kept = self.cfg.keepalive
            conn.timeout = now + (kept if self.alive else min(kept, STOP_KEEPALIVE_LINGER))
        conn.queue = queue
        queue.append(conn)

    def _forget(self, conn: Any) -> None:
        self.poller.unregister(conn.sock)
        conn.queue.remove(conn)
        conn.queue = None

    def _send_away(self, conn: Any) -> None:
        self.log.warning("Invalid request")
        with suppress(OSError):
            brief_calls.send(conn.sock.fileno(), LATE)
            conn.sock.shutdown(socket.SHUT_WR)
        conn.sock.take_ahead()
        self.replace(conn, self.leaving)

    def _drain(self, conn: Any) -> None:
        try:
            if brief_calls.receive(conn.sock.fileno(), BRIEF):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.hang_up(conn)
