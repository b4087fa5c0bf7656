"""When to come back to a server that did not take a request.

Waits lie in [first_delay, longest_delay], double from attempt to attempt and are drawn at random
from the upper half of each step, so that devices which failed together do not return together. A
server's ``Retry-After`` is a lower limit.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TypeVar

from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import TransportError

T = TypeVar("T")


def _uniform(low: float, high: float) -> float:
    # The system's generator: a copy of a seeded one would pace all children of a fork alike.
    return low + (high - low) * int.from_bytes(os.urandom(6), "little") / 2**48


def _now() -> datetime:
    return datetime.now(UTC)


@dataclass(frozen=True, slots=True)
class Pacing:
    """Time as a retry loop sees it; tests put their own in its place."""

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
            return float(text[:12])
        # Brings in the socket module, which an import of the client should not pay for.
        from email.utils import parsedate_to_datetime

        try:
            moment = parsedate_to_datetime(text)
        except ValueError:
            return None
        if moment.tzinfo is None:
            moment = moment.replace(tzinfo=UTC)
        return max(0.0, (moment - self.now()).total_seconds())


@dataclass(slots=True)
class RetryHint:
    """What the last failure said about coming back."""

    seconds: float | None = None


def with_retries(
    call: Callable[[RetryHint], T], *, config: ClientConfig, pacing: Pacing, what: str
) -> T:
    """Call until it succeeds, fails for good, or attempts and patience are used up.

    Parameters
    ----------
    call : callable
        One attempt. It gets a fresh `RetryHint` and may put the server's ``Retry-After`` into it.
    config : ClientConfig
        Attempts, delays and patience.
    pacing : Pacing
        Source of time and jitter.
    what : str
        What is attempted, for the final message.

    Raises
    ------
    TransportError
        The last failure, at once if it is not retryable. If it is, the message counts the attempts.
    """
    began = pacing.monotonic()
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
            if attempt >= config.attempts or spent + wait > config.patience:
                raise _gave_up(error, what, attempt, spent, wait) from error
        pacing.sleep(wait)


def _gave_up(
    error: TransportError, what: str, attempts: int, spent: float, wait: float
) -> TransportError:
    times = "once" if attempts == 1 else f"{attempts} times in {spent:.0f} s"
    return TransportError(
        f"{what} failed ({times}): {error}; try again in {wait:.0f} s or later",
        retryable=True,
        status=error.status,
        problem=error.problem,
    )
