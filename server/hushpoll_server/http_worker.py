"""gunicorn's threaded worker, with requests that end in time and refusals that are problems."""

from __future__ import annotations

import gc
import math
import selectors
import socket
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from gunicorn import util  # type: ignore[import-untyped]  # none exist
from gunicorn.http.errors import (  # type: ignore[import-untyped]  # none exist
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    ParseException,
)
from gunicorn.workers.gthread import ThreadWorker  # type: ignore[import-untyped]  # none exist

from hushpoll_server import brief_calls
from hushpoll_server.crowding import CROWDED, LARGEST, WholeReport, whole_report
from hushpoll_server.deadline_socket import DeadlineSocket, SlowRequest
from hushpoll_server.errors import Refused
from hushpoll_server.http.answers import malformed_request, slow_request
from hushpoll_server.kept_connections import KeptConnections
from hushpoll_server.plain_answer import answer
from hushpoll_server.request_threads import Handback, RequestThreads

# How long a refused client may take to read its answer before the connection is cut.
LINGER_SECONDS: Final = 1.0
# Where the threads have enough to do, the main thread looks at the connections this seldom: to take
# turns with them for each single refusal costs them more than the refusals.
PAUSE_SECONDS: Final = 0.02
# The arbiter waits for thirty seconds.
NOTIFY_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class _Handled:
    """As much of a future as gunicorn asks for."""

    keep: Any

    def cancelled(self) -> bool:
        return False

    def result(self) -> Any:
        return self.keep


class HttpWorker(ThreadWorker):  # type: ignore[misc]  # its base has no types
    """One worker process of ``hushpoll serve``.

    Where as many requests wait as may, further reports are refused on the thread that accepts, at a
    small part of what taking one costs: otherwise the refusals would use up what is needed to take
    the others, and whoever is not refused would wait ever longer.
    """

    # Connections that a thread works on, or that wait for one. Only the main thread counts.
    _handed_over = 0
    # What else was ready when the main thread last looked. Under load it gets to few of them at a
    # time, so that requests wait for it and not for a thread.
    _behind = 0
    _notified = -math.inf
    _answerer: Final = brief_calls.Answerer(CROWDED)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.keepalived_conns = KeptConnections()
        self.method_queue = Handback()
        # Reports that are refused before the main thread waits again, with their connections.
        self._refusals: list[tuple[Any, WholeReport]] = []

    def run(self) -> None:
        """Serve until the process is told to stop."""
        threading.Thread(target=self._prepare, name="hushpoll-settle", daemon=True).start()
        super().run()

    def _prepare(self) -> None:
        # What refuses is compiled before there is a crowd.
        self._answerer.answer([], [])
        # What is there by now stays. To look through all of it for garbage would hold up every
        # request for a tenth of a second, again and again.
        gc.collect()
        gc.freeze()

    def notify(self) -> None:
        """Tell the arbiter that this process lives, which it wants to know in seconds."""
        now = time.monotonic()
        if now - self._notified >= NOTIFY_SECONDS:
            self._notified = now
            super().notify()

    def get_thread_pool(self) -> RequestThreads:
        """Return the threads that answer requests."""
        return RequestThreads(self.cfg.threads)

    def accept(self, listener: Any) -> None:
        """Accept all the connections that wait, so that none does for as many rounds as are."""
        before = -1
        while before < self.nr_conns < self.worker_connections:
            before = self.nr_conns
            super().accept(listener)

    def enqueue_req(self, conn: Any) -> None:
        """Hand a connection that has, or will have, a request to a thread."""
        if not isinstance(conn.sock, DeadlineSocket):
            conn.sock = DeadlineSocket.of(conn.sock)
            conn.data_ready = True  # by the time a thread has it
            # Where there is a crowd it may bring a report to refuse: the next round looks at it.
            if self._crowded() or not _has_arrived(conn.sock):
                self._await_request(conn)
                return
        self.tpool.submit(partial(self._answer, conn))
        self._handed_over += 1

    def _answer(self, conn: Any) -> None:
        try:
            keep = self.handle(conn)
        except BaseException:  # the thread goes on to the next
            self.log.error("Error handling request")
            keep = False
        self.method_queue.defer(self.finish_request, conn, _Handled(keep))

    def finish_request(self, conn: Any, fs: Any) -> None:
        """Take a connection back from its thread."""
        self._handed_over -= 1
        super().finish_request(conn, fs)

    def on_client_socket_readable(self, conn: Any, client: Any) -> None:
        """Hand over a request on a connection that was kept, or refuse it for now."""
        if not (self._crowded() and self._refused(conn, client)):
            super().on_client_socket_readable(conn, client)

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Wait for connections and deal with each."""
        if self._handed_over >= self.cfg.threads + self.app.queue_requests // 2:
            time.sleep(PAUSE_SECONDS)
        try:
            events = self.poller.select(timeout)
            for behind, (key, _) in zip(reversed(range(len(events))), events, strict=True):
                self._behind = behind
                key.data(key.fileobj)
        except InterruptedError:
            pass
        if self._refusals:
            self._refuse()

    def _crowded(self) -> bool:
        waiting = self._handed_over + self._behind
        return bool(waiting >= self.cfg.threads + self.app.queue_requests)

    def _await_request(self, conn: Any) -> None:
        conn.sock.setblocking(False)
        conn.set_timeout()
        self.keepalived_conns.append(conn)
        self.poller.register(
            conn.sock, selectors.EVENT_READ, partial(self.on_client_socket_readable, conn)
        )

    def _refused(self, conn: Any, client: Any) -> bool:
        """Have a report answered with 503; False if it is something else, or not all there yet."""
        try:
            arrived = brief_calls.receive(client.fileno(), LARGEST, socket.MSG_PEEK)
        except OSError:
            return False  # a thread finds out as well, and knows what to do
        if not arrived:  # the client has hung up
            self._hang_up(conn, client)
            return True
        report = whole_report(arrived)
        if report is None:
            return False
        self._refusals.append((conn, report))
        return True

    def _refuse(self) -> None:
        refusals, self._refusals = self._refusals, []
        sent = self._answerer.answer(
            [conn.sock.fileno() for conn, _ in refusals], [report.size for _, report in refusals]
        )
        for (conn, report), size in zip(refusals, sent, strict=True):
            # Where it could not be sent the request is gone, so that no thread may wait for it.
            if size < len(CROWDED) or report.last:
                self._hang_up(conn, conn.sock)
            else:
                conn.set_timeout()
                self.keepalived_conns.append(conn)
        self.app.count_crowded(int((sent > 0).sum()))

    def _hang_up(self, conn: Any, client: Any) -> None:
        self.keepalived_conns.remove(conn)
        self.poller.unregister(client)
        self.nr_conns -= 1
        conn.close()

    def handle(self, conn: Any) -> Any:
        """Answer one request, in a thread."""
        conn.sock.expect_request()
        try:
            result = super().handle(conn)
            conn.sock.flush()
        except OSError:  # the client does not read, or is gone
            result = False
        finally:
            conn.sock.expect_nothing()
        if not result:
            # gunicorn would wait for the client's end on its main thread, which accepts
            # connections for everybody.
            util.close_graceful(conn.sock, timeout=LINGER_SECONDS)
        return result

    def _keepalive_after(self, conn: Any, keepalive: bool) -> bool:
        conn.sock.flush()
        try:
            return bool(super()._keepalive_after(conn, keepalive))
        except SlowRequest:
            return False

    def handle_error(self, _req: Any, client: Any, _addr: Any, exc: Exception) -> None:
        """Answer what is no request with a problem; nothing of it is logged or sent back."""
        own_fault = isinstance(exc, InvalidResponseHeader | InvalidResponseHeaderName)
        if isinstance(exc, SlowRequest):
            self.log.warning("Invalid request")
            refusal = slow_request()
        elif isinstance(exc, ParseException) and not own_fault:
            self.log.warning("Invalid request")
            refusal = malformed_request(exc)
        else:
            self.log.error("Error handling request")
            refusal = Refused("internal", "the server failed before it could answer")
        try:
            client.sendall(answer(refusal, Connection="close"))
        except OSError:
            self.log.debug("the client is gone")


def _has_arrived(client: socket.socket) -> bool:
    """Return whether there is something to read, which a connection's end is as well."""
    try:
        brief_calls.receive(client.fileno(), 1, socket.MSG_PEEK)
    except BlockingIOError:
        return False
    except OSError:
        pass
    return True
