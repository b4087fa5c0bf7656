"""gunicorn's threaded worker, with requests that end in time and refusals that are problems."""

from __future__ import annotations

import gc
import math
import socket
import threading
import time
from dataclasses import dataclass
from functools import partial
from typing import Any, Final

from gunicorn.http.errors import (  # type: ignore[import-untyped]  # none exist
    InvalidResponseHeader,
    InvalidResponseHeaderName,
    ParseException,
)

from hushpoll_server import brief_calls
from hushpoll_server.crowding import CROWDED, WholeReport, whole_report
from hushpoll_server.deadline_socket import (
    BRIEF,
    PIECE,
    READ_BYTES_PER_SECOND,
    DeadlineSocket,
    SlowRequest,
)
from hushpoll_server.errors import Refused
from hushpoll_server.http.answers import malformed_request, slow_request
from hushpoll_server.plain_answer import answer
from hushpoll_server.request_threads import Handback, RequestThreads
from hushpoll_server.waiting_worker import WaitingWorker

# Most clients end a connection as soon as they have read its last answer. For the others no thread
# waits, nor the one that accepts connections for everybody, on which gunicorn would.
BRIEF_SECONDS: Final = 0.05
# Where the threads have enough to do, the main thread looks at the connections this seldom: to take
# turns with them for each single refusal costs them more than the refusals.
PAUSE_SECONDS: Final = 0.02
# How long it may go unseen that requests wait for threads, and threads for slow clients.
RELIEF_SECONDS: Final = 0.25
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


class HttpWorker(WaitingWorker):
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
        self.method_queue = Handback()
        # Reports that are refused before the main thread waits again, with their connections.
        self._refusals: list[tuple[Any, WholeReport]] = []

    def run(self) -> None:
        """Serve until the process is told to stop."""
        threading.Thread(target=self._prepare, name="hushpoll-settle", daemon=True).start()
        super().run()

    def _prepare(self) -> None:
        # What refuses is compiled before there is a crowd.
        self._answerer.answer([])
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

    def looks_at_new(self) -> bool:
        """Not where there is a crowd: it may bring a report to refuse, together with others."""
        return not self._crowded()

    def submit(self, conn: Any) -> None:
        """Give a thread a connection whose request has arrived."""
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
        if fs.keep:
            self.await_next(conn)
        elif conn.sock.fileno() >= 0:
            self.see_off(conn)
        else:
            self.nr_conns -= 1

    def refused(self, conn: Any) -> bool:
        """Have a report answered with 503 where there is a crowd; False if it is anything else."""
        report = whole_report(conn.sock.ahead) if self._crowded() else None
        if report is None:
            return False
        conn.sock.take_ahead()
        self._refusals.append((conn, report))
        return True

    def wait_for_and_dispatch_events(self, timeout: float) -> None:
        """Wait for connections and deal with each."""
        if self._handed_over >= self.cfg.threads + self.app.queue_requests // 2:
            time.sleep(PAUSE_SECONDS)
        if self._handed_over > self.cfg.threads:  # one that could be answered waits for a thread
            timeout = min(timeout, RELIEF_SECONDS)
            # Only half of them may wait for clients meanwhile.
            DeadlineSocket.bodies.relieve(max(1, self.cfg.threads // 2), READ_BYTES_PER_SECOND)
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

    def _refuse(self) -> None:
        refusals, self._refusals = self._refusals, []
        # Another may have taken the place of one of them since.
        refusals = [(conn, report) for conn, report in refusals if conn.queue is not None]
        sent = self._answerer.answer([conn.sock.fileno() for conn, _ in refusals])
        for (conn, report), size in zip(refusals, sent, strict=True):
            if size < len(CROWDED) or report.last:
                self.hang_up(conn)
            else:
                self.replace(conn)
        self.app.count_crowded(int((sent > 0).sum()))

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
        if not result and has_left(conn.sock, BRIEF_SECONDS):
            conn.close()
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


def has_left(client: DeadlineSocket, seconds: float) -> bool:
    """End the answers; return whether the client has ended its side, so that all can be let go.

    To let go of a connection on which something still arrives would take the last answer back.

    Parameters
    ----------
    client : DeadlineSocket
        Its connection.
    seconds : float
        How long to wait for its end, more than 0.
    """
    end = time.monotonic() + seconds
    taken = 0
    try:
        client.shutdown(socket.SHUT_WR)
        while taken < PIECE:
            client.settimeout(max(0.001, end - time.monotonic()))
            piece = client.recv(BRIEF)
            if not piece:
                break
            taken += len(piece)
    except TimeoutError:
        return False
    except OSError:
        pass
    return True
