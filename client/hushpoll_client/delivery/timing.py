"""When to try again, and when to give up: retries of a request, and deadlines of whole calls.

The wait before a retry lies in [first_delay, longest_delay] and doubles from attempt to attempt. It
is drawn at random from the upper half of each step, so that devices which failed together do not
come back together. A server's ``Retry-After`` is a lower limit.

A socket's own time limit starts anew with every byte that arrives, so that a server that sends
slowly could stretch it. Therefore each of our connections asks, before it waits, how much time is
left until the deadlines that the running code has set. The exchange of a request and its answer has
a deadline, and so has a call that makes several exchanges.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from datetime import UTC, datetime
from math import inf
from typing import Final, TypeVar

from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import TransportError

T = TypeVar("T")


def _uniform(low: float, high: float) -> float:
    # The system's generator: with a copy of a seeded one, all children of a fork would wait alike.
    return low + (high - low) * int.from_bytes(os.urandom(6), "little") / 2**48


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Pacing:
    """Clock, sleep and randomness of the retries; tests give their own."""

    sleep: Callable[[float], object] = time.sleep
    monotonic: Callable[[], float] = time.monotonic
    now: Callable[[], datetime] = _now
    uniform: Callable[[float, float], float] = _uniform

    def delay(self, config: ClientConfig, attempt: int) -> float:
        """Seconds to wait after failed attempt number ``attempt`` (0, 1, ...)."""
        # 2.0**1100 overflows a float; 2**64 seconds are beyond every longest_delay anyhow.
        upper = min(config.longest_delay, config.first_delay * 2.0 ** min(attempt + 1, 64))
        return self.uniform(max(upper / 2, min(config.first_delay, upper)), upper)

    def retry_after(self, header: str | None) -> float | None:
        """Seconds that a ``Retry-After`` asks for (RFC 9110, 10.2.3), or None if unreadable."""
        if header is None:
            return None
        text = header.strip()
        if text.isascii() and text.isdigit():
            # More digits than a wait can have are as good as many.
            return float(text[:12])
        # Imported here, since it imports the socket module, which most clients need later or never.
        from email.utils import parsedate_to_datetime

        try:
            moment = parsedate_to_datetime(text)
            if moment.tzinfo is None:
                moment = moment.replace(tzinfo=UTC)
            return max(0.0, (moment - self.now()).total_seconds())
        except (ValueError, TypeError, ArithmeticError, LookupError):
            # What a hostile date makes the parser raise depends on Python's version.
            return None


@dataclass(slots=True)
class RetryHint:
    """Seconds that the server asked to wait, after a failed attempt."""

    seconds: float | None = None


def with_retries(
    call: Callable[[RetryHint], T],
    *,
    config: ClientConfig,
    pacing: Pacing,
    request: str,
    patience: float | None = None,
) -> T:
    """Call until it succeeds, fails for good, or attempts and patience are used up.

    Each attempt gets a fresh `RetryHint`, into which it may put the server's ``Retry-After``. The
    last failure is raised, with the request and the number of attempts. `patience` stands in for
    that of the configuration.
    """
    began = pacing.monotonic()
    patience = config.patience if patience is None else patience
    attempt = 0
    while True:
        hint = RetryHint()
        try:
            return call(hint)
        except TransportError as error:
            attempt += 1
            if not error.retryable:
                raise
            wait = max(pacing.delay(config, attempt - 1), hint.seconds or 0.0)
            spent = pacing.monotonic() - began
            if attempt >= config.attempts or spent + wait > patience:
                raise _gave_up(error, request, attempt, spent, wait) from error
        pacing.sleep(wait)


def _gave_up(
    error: TransportError, request: str, attempts: int, spent: float, wait: float
) -> TransportError:
    times = "once" if attempts == 1 else f"{attempts} times in {spent:.0f} s"
    return TransportError(
        f"{request} failed ({times}): {error}; try again in {wait:.0f} s or later",
        retryable=True,
        status=error.status,
        problem=error.problem,
    )


SLOWEST_BYTES_PER_SECOND: Final = 10_000
"""Large bodies, such as an export, may take the time that they need at this speed."""


class Deadline:
    """A moment of the monotonic clock, and the name of the limit that set it."""

    def __init__(self, seconds: float, limit: str, outer: Deadline | None) -> None:
        self._until = time.monotonic() + seconds
        self._limit = limit
        self._outer = outer

    def left(self) -> float:
        """Return the seconds until this deadline or a surrounding one, whichever is first."""
        own = self._until - time.monotonic()
        return own if self._outer is None else min(own, self._outer.left())

    def limit(self) -> str:
        """Return the name of the limit that is first."""
        if self._outer is None or self._until - time.monotonic() <= self._outer.left():
            return self._limit
        return self._outer.limit()

    def extend(self, transferred: int) -> None:
        """Allow the time that `transferred` bytes may take; surrounding deadlines stay."""
        self._until += transferred / SLOWEST_BYTES_PER_SECOND


_current: ContextVar[Deadline | None] = ContextVar("deadline", default=None)


@contextmanager
def within(seconds: float, limit: str) -> Iterator[Deadline]:
    """End all exchanges of the block after `seconds`, or earlier at a surrounding deadline.

    `limit` names it, such as ``"ClientConfig.exchange_timeout"``.
    """
    deadline = Deadline(seconds, limit, _current.get())
    token = _current.set(deadline)
    try:
        yield deadline
    finally:
        _current.reset(token)


def left() -> float:
    """Return the seconds until the deadline of the running code; infinite if there is none."""
    deadline = _current.get()
    return inf if deadline is None else deadline.left()


def passed() -> str | None:
    """Return the name of the limit that is over, or None while there is time."""
    deadline = _current.get()
    return None if deadline is None or deadline.left() > 0 else deadline.limit()
