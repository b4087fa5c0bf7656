"""A connection on which one request may not take for ever.

gunicorn's threads wait for a request's bytes without a limit, so a few clients that send a byte now
and then could hold all of them.
"""

from __future__ import annotations

import socket
import time
from typing import Final

# For the head of a request, or the next bytes of a body.
READ_SECONDS: Final = 20.0
# A body may take longer, at this many bytes a second or faster.
READ_BYTES_PER_SECOND: Final = 65_536
# For each piece of an answer.
SEND_SECONDS: Final = 30.0
PIECE: Final = 65_536


class SlowRequest(Exception):  # it is an outcome, rendered as 408
    """A request did not arrive in time."""


class DeadlineSocket(socket.socket):
    """A client's socket that raises `SlowRequest` where a request outlasts its time."""

    _deadline: float | None = None

    @classmethod
    def of(cls, other: socket.socket) -> DeadlineSocket:
        """Return the same connection with deadlines; `other` is used up."""
        timeout = other.gettimeout()
        made = cls(fileno=other.detach())
        made.settimeout(timeout)
        return made

    def expect_request(self) -> None:
        """Start the time of a request."""
        self._deadline = time.monotonic() + READ_SECONDS

    def expect_nothing(self) -> None:
        """Let whoever reads now set a limit of their own."""
        self._deadline = None

    def setblocking(self, flag: bool) -> None:
        """Set the mode, if the connection is open still."""
        if self.fileno() >= 0:
            super().setblocking(flag)

    def recv(self, size: int, flags: int = 0) -> bytes:
        """Receive as a socket does, for no longer than the request may take.

        Raises
        ------
        SlowRequest
            The request's time is over.
        """
        own = self.gettimeout()
        if self._deadline is None or own == 0:
            return super().recv(size, flags)
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise SlowRequest
        if own is not None and own <= left:
            data = super().recv(size, flags)
        else:
            self.settimeout(left)
            try:
                data = super().recv(size, flags)
            except TimeoutError:
                raise SlowRequest from None
            finally:
                self.settimeout(own)
        self._deadline += len(data) / READ_BYTES_PER_SECOND
        return data

    def sendall(self, data: bytes, flags: int = 0) -> None:  # type: ignore[override]  # bytes only
        """Send piece by piece, none of which may take longer than `SEND_SECONDS`.

        Raises
        ------
        TimeoutError
            The other side does not read.
        """
        own = self.gettimeout()
        if own == 0:
            super().sendall(data, flags)
            return
        self.settimeout(SEND_SECONDS)
        try:
            view = memoryview(data)
            for start in range(0, len(view), PIECE):
                super().sendall(view[start : start + PIECE], flags)
        finally:
            self.settimeout(own)
