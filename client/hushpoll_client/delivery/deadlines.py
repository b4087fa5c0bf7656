"""Time limits of whole exchanges and calls, which a server that sends slowly cannot stretch.

A socket's own time limit starts anew with every byte that arrives. So each of our connections asks,
before it waits, how much time is left of the deadlines that the running code has set. The exchange
of a request with its answer has one, and so has a call that makes several exchanges.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from math import inf
from typing import Final

SLOWEST_BYTES_PER_SECOND: Final = 10_000
"""What is too large for a fixed limit, such as an export, may take this long."""


class Deadline:
    """A moment of the monotonic clock, with the words that name its limit.

    Parameters
    ----------
    seconds : float
        From now, at least 0.
    limit : str
        What set it, for the message of an error.
    outer : Deadline or None
        The deadline of the call around.
    """

    def __init__(self, seconds: float, limit: str, outer: Deadline | None) -> None:
        self._until = time.monotonic() + seconds
        self._limit = limit
        self._outer = outer

    def left(self) -> float:
        """Return the seconds until the first of this deadline and those around it."""
        own = self._until - time.monotonic()
        return own if self._outer is None else min(own, self._outer.left())

    def limit(self) -> str:
        """Return the words of the deadline that comes first."""
        if self._outer is None or self._until - time.monotonic() <= self._outer.left():
            return self._limit
        return self._outer.limit()

    def extend(self, transferred: int) -> None:
        """Allow the time that `transferred` bytes may take; the deadlines around it stay."""
        self._until += transferred / SLOWEST_BYTES_PER_SECOND


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float, limit: str) -> Iterator[Deadline]:
    """Let all exchanges of the block end after `seconds`; a deadline around it may come first.

    Parameters
    ----------
    seconds : float
        From now, at least 0.
    limit : str
        What set it, such as ``"ClientConfig.exchange_timeout"``.
    """
    token = _current.set(made := Deadline(seconds, limit, _current.get()))
    try:
        yield made
    finally:
        _current.reset(token)


def left() -> float:
    """Return the seconds that are left to the running code; infinite without a deadline."""
    deadline = _current.get()
    return inf if deadline is None else deadline.left()


def passed() -> str | None:
    """Return the words of the deadline that is over, or None while there is time."""
    deadline = _current.get()
    return None if deadline is None or deadline.left() > 0 else deadline.limit()
