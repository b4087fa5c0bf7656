"""Clocks to pass as arguments, and reading and writing times in UTC to the second."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import Final, Protocol

from hushpoll_protocols.errors import refusal_of
from hushpoll_shared.spelling.text import show

_TIMESTAMP: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z", re.ASCII)


class Clock(Protocol):
    """Anything that tells the time."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        ...


class SystemClock:
    """The computer's clock."""

    def now(self) -> datetime:
        """Return the current time, aware, in UTC."""
        return datetime.now(UTC)


class FixedClock:
    """A clock that stands still until `advance` moves it, for tests and replays."""

    def __init__(self, moment: datetime | str) -> None:
        if isinstance(moment, str):
            moment = parse_timestamp(moment, field="moment")
        if moment.tzinfo is None:
            raise refusal_of("moment")(
                f"is {moment.isoformat()}, without a time zone; give an aware datetime"
            )
        self._moment = moment.astimezone(UTC)

    def now(self) -> datetime:
        """Return the moment at which the clock stands."""
        return self._moment

    def advance(self, seconds: float) -> None:
        """Move the clock by `seconds`, which may be negative."""
        self._moment += timedelta(seconds=seconds)


def parse_timestamp(value: object, *, field: str) -> datetime:
    """Read ``YYYY-MM-DDTHH:MM:SSZ``, the only spelling of a time; refuses 30 February."""
    if isinstance(value, str) and _TIMESTAMP.fullmatch(value):
        try:
            return datetime.strptime(value, "%Y-%m-%dT%H:%M:%SZ").replace(tzinfo=UTC)
        except ValueError:
            pass
    raise refusal_of(field)(
        f"is {show(value)}; a time is UTC to the second, YYYY-MM-DDTHH:MM:SSZ, such as "
        "2026-01-31T09:00:00Z"
    )


def format_timestamp(moment: datetime) -> str:
    """Write an aware datetime as ``YYYY-MM-DDTHH:MM:SSZ``, cutting fractions of a second."""
    # Not strftime: it does not pad years below 1000 everywhere.
    return moment.astimezone(UTC).replace(tzinfo=None, microsecond=0).isoformat() + "Z"
