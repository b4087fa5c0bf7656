"""A connection on which one request may not take for ever, and few system calls are made.

gunicorn's threads wait for a request's bytes without a limit, so a few clients that send a byte now
and then could hold all of them. And a socket of Python's that has a time limit costs four system
calls where one is meant, around each of which the interpreter's lock is given away: where many
threads work, to get it back takes longer than the call. So the system never waits on these sockets.
What can be done at once is done with the lock held, and only who has to wait gives it away.
"""

from __future__ import annotations

import math
import select
import socket
import time
from contextlib import suppress
from typing import Any, ClassVar, Final

from hushpoll_server import brief_calls
from hushpoll_server.arrival import Arrival
from hushpoll_server.slow_bodies import SlowBodies

# For the head of a request with a small body, or the next bytes of a body.
READ_SECONDS: Final = 20.0
# A body may take longer, at this many bytes a second or faster.
READ_BYTES_PER_SECOND: Final = 65_536
# For each piece of an answer.
SEND_SECONDS: Final = 30.0
PIECE: Final = 65_536
# The parts of an answer are gathered up to this; more is not copied with the lock held.
BRIEF: Final = 16_384


class SlowRequest(Exception):  # it is an outcome, rendered as 408
    """A request did not arrive in time."""


class DeadlineSocket(socket.socket):
    """A client's socket that raises `SlowRequest` where a request outlasts its time.

    The parts of an answer wait for each other, up to `BRIEF` bytes and however long the next one
    takes. They are sent by `flush`, and before anything is read.
    """

    # Whom threads wait for, of all connections.
    bodies: ClassVar[SlowBodies] = SlowBodies()
    _arrival: Arrival
    _begun = 0.0
    _received = 0
    _sent_away = False
    # The time limit that was set: None for none, 0 to wait for nothing. The system is told 0.
    _timeout: float | None = None
    _deadline: float | None = None
    _gathered: bytes = b""

    @classmethod
    def of(cls, other: socket.socket) -> DeadlineSocket:
        """Return the same connection with deadlines; `other` is used up."""
        made = cls(fileno=other.detach())
        socket.socket.settimeout(made, 0)
        made._arrival = Arrival()
        return made

    @property
    def ahead(self) -> bytes:
        """What was received before anybody asked for it."""
        return self._arrival.data

    def receive_ahead(self) -> bool:
        """Receive what has arrived for `recv`; return whether it is enough, or will be no more.

        Raises
        ------
        BlockingIOError
            Nothing has arrived.
        OSError
            The connection failed, or was closed between two requests.
        """
        piece = brief_calls.receive(self.fileno(), BRIEF)
        if piece:
            return self._arrival.add(piece)
        if not self._arrival.data:
            raise ConnectionResetError("the client has hung up")
        return True

    def put_back(self, data: bytes) -> bool:
        """Keep what was read behind a request for the next; return whether it is enough of it."""
        data += self.take_ahead()
        return bool(data) and self._arrival.add(data)

    def take_ahead(self) -> bytes:
        """Remove and return what was received ahead."""
        return self._arrival.take(len(self._arrival.data))

    def expect_request(self) -> None:
        """Start the time of a request."""
        self._begun, self._received = time.monotonic(), 0
        self._deadline = self._begun + READ_SECONDS

    def expect_nothing(self) -> None:
        """Let whoever reads now set a limit of their own."""
        self._deadline = self._arrival.refusal = None

    def setblocking(self, flag: bool) -> None:
        """Set whether to wait at all."""
        self._timeout = None if flag else 0

    def settimeout(self, value: float | None) -> None:
        """Set the seconds to wait at most; None: as long as it takes."""
        self._timeout = value

    def gettimeout(self) -> float | None:
        """Return the seconds to wait at most; None: as long as it takes."""
        return self._timeout

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive as a socket does, for no longer than the request may take.

        Raises
        ------
        SlowRequest
            The request's time is over.
        ParseException
            What has arrived of it is the beginning of nothing.
        """
        self.flush()
        arrival = self._arrival
        if arrival.data:
            data = arrival.data[:size] if flags & socket.MSG_PEEK else arrival.take(size)
            self._received += len(data)
            return data
        if arrival.refusal is not None:
            raise arrival.refusal
        limit = self._timeout
        if self._deadline is None or limit == 0:
            return self._receive(size, flags, limit, TimeoutError)
        # What has arrived is taken, however long its reader had other things to do.
        left = max(0.0, self._deadline - time.monotonic())
        if limit is not None and limit <= left:
            data = self._receive(size, flags, limit, TimeoutError)
        else:
            data = self._receive(size, flags, left, SlowRequest)
        self._received += len(data)
        self._deadline += len(data) / READ_BYTES_PER_SECOND
        return data

    def sendall(self, data: bytes) -> None:  # type: ignore[override]  # nothing else is asked for
        """Send, now or with what comes next; no piece of it may take longer than `SEND_SECONDS`.

        Raises
        ------
        TimeoutError
            The other side does not read.
        """
        if len(self._gathered) + len(data) <= BRIEF:
            self._gathered += data
            return
        self.flush()
        self._send_pieces(memoryview(data))

    def send(self, data: bytes) -> int:  # type: ignore[override]  # nothing else is asked for
        """Send now, all of it."""
        self.sendall(data)
        self.flush()
        return len(data)

    def flush(self) -> None:
        """Send what has been gathered.

        Raises
        ------
        TimeoutError
            The other side does not read.
        """
        if self._gathered:
            data, self._gathered = self._gathered, b""
            self._send_pieces(memoryview(data))

    def shutdown(self, how: int) -> None:
        """Shut down a direction, once what has been gathered is sent."""
        with suppress(OSError):
            self.flush()
        super().shutdown(how)

    def sendfile(self, file: Any, offset: int = 0, count: int | None = None) -> int:
        """Send a file, after what has been gathered."""
        self.flush()
        return super().sendfile(file, offset, count)

    def _receive(self, size: int, flags: int, limit: float | None, late: type[Exception]) -> bytes:
        while True:
            try:
                if size > BRIEF:
                    return super().recv(size, flags)
                return brief_calls.receive(self.fileno(), size, flags)
            except BlockingIOError:
                if self._timeout == 0:
                    raise
            if not self._sends(limit):
                raise late

    def _sends(self, limit: float | None) -> bool:
        if self._deadline is None:
            return self._ready(select.POLLIN, limit)
        self.bodies.enter(self)
        try:
            ready = self._ready(select.POLLIN, limit)
        finally:
            self.bodies.leave(self)
        if self._sent_away:
            raise SlowRequest
        return ready

    def age(self) -> float:
        """Return the seconds since a thread began with the request, more than 0."""
        return max(1e-3, time.monotonic() - self._begun)

    def pace(self) -> float:
        """Return the bytes of the request that were read a second since."""
        return self._received / self.age()

    def send_away(self) -> None:
        """Wake the thread that waits for the request with `SlowRequest`."""
        self._sent_away = True
        with suppress(OSError):
            socket.socket.shutdown(self, socket.SHUT_RD)

    def _send_pieces(self, data: memoryview) -> None:
        for start in range(0, len(data), PIECE):
            self._send_piece(data[start : start + PIECE])

    def _send_piece(self, data: memoryview) -> None:
        end = time.monotonic() + SEND_SECONDS
        while data:
            try:
                if len(data) > BRIEF:
                    sent = super().send(data)
                else:
                    sent = brief_calls.send(self.fileno(), bytes(data))
            except BlockingIOError:
                if not self._ready(select.POLLOUT, end - time.monotonic()):
                    raise TimeoutError("the other side does not read") from None
            else:
                data = data[sent:]

    def _ready(self, event: int, limit: float | None) -> bool:
        """Wait, without the lock; False if the time is over first."""
        waiting = select.poll()
        waiting.register(self, event)
        return bool(waiting.poll(None if limit is None else max(0, math.ceil(1000 * limit))))
