"""Timeouts and patience of a client, in one frozen object that is passed whole."""

from __future__ import annotations

from dataclasses import dataclass, fields
from math import isfinite
from typing import Final

from hushpoll_protocols.errors import InvalidParameter

# Closed intervals; a value outside is a caller's mistake and raises at once.
_INTERVALS: Final[dict[str, tuple[float, float]]] = {
    "connect_timeout": (0.001, 600),
    "read_timeout": (0.001, 600),
    "exchange_timeout": (0.001, 3600),
    "attempts": (1, 100),
    "first_delay": (0, 3600),
    "longest_delay": (0, 3600),
    "patience": (0, 86_400),
    "max_response_bytes": (1024, 2**40),
    "outbox_limit": (1, 1_000_000),
    "exit_patience": (0, 600),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientConfig:
    """How long a client waits for a server, and how often it comes back.

    Parameters
    ----------
    connect_timeout : float
        Seconds to wait for a connection, in [0.001, 600].
    read_timeout : float
        Seconds to wait for each part of an answer, in [0.001, 600].
    exchange_timeout : float
        Seconds, in [0.001, 3600], that one exchange may take in all, from the first byte sent to
        the last byte received, however steadily a server sends. A request's body adds a second
        for each 10,000 bytes, and so do the pieces of an export.
    attempts : int
        Times that the same bytes are sent before giving up, in [1, 100].
    first_delay : float
        Smallest wait in seconds before the second attempt, in [0, 3600]; every later one doubles
        it.
    longest_delay : float
        Largest wait in seconds that the client chooses by itself, in [0, 3600].
    patience : float
        Seconds, in [0, 86400], after which no further attempt is begun, so that a call ends at the
        latest after `patience` and one more exchange. A ``Retry-After`` that goes beyond it ends
        the attempts at once; the error then says when to come back.
    max_response_bytes : int
        Largest answer that is read, in [1024, 2**40]: a device does not trust the server with its
        memory.
    outbox_limit : int
        Reports that may wait in a device's file, in [1, 1000000]; beyond it nothing is randomised.
    exit_patience : float
        Seconds, in [0, 600], that closing a client, or the interpreter's exit, waits for reports to
        be sent. Those that were not are sent another time.
    raise_faults : bool
        Raise faults of the disk and of this package instead of counting them: for tests.

    Raises
    ------
    InvalidParameter
        If a value is outside its interval, or ``longest_delay`` is under ``first_delay``.
    """

    connect_timeout: float = 5.0
    read_timeout: float = 30.0
    exchange_timeout: float = 60.0
    attempts: int = 7
    first_delay: float = 1.0
    longest_delay: float = 30.0
    patience: float = 120.0
    max_response_bytes: int = 4 * 2**20
    outbox_limit: int = 1000
    exit_patience: float = 2.0
    raise_faults: bool = False

    def __post_init__(self) -> None:
        if not isinstance(self.raise_faults, bool):
            raise InvalidParameter(
                f"raise_faults is {self.raise_faults!r}; give True or False", field="raise_faults"
            )
        for entry in fields(self):
            if entry.name not in _INTERVALS:
                continue
            value = getattr(self, entry.name)
            low, high = _INTERVALS[entry.name]
            integral = entry.type == "int"
            if isinstance(value, bool) or not isinstance(value, int if integral else (int, float)):
                kind = "an integer" if integral else "a number"
                raise InvalidParameter(
                    f"{entry.name} must be {kind} in [{low:g}, {high:g}], "
                    f"not {value!r} of type {type(value).__name__}",
                    field=entry.name,
                )
            if not isfinite(value) or not low <= value <= high:
                raise InvalidParameter(
                    f"{entry.name} is {value!r}; give a value in [{low:g}, {high:g}]",
                    field=entry.name,
                )
        if self.longest_delay < self.first_delay:
            raise InvalidParameter(
                f"longest_delay is {self.longest_delay!r}, less than first_delay "
                f"{self.first_delay!r}; give a value in [{self.first_delay!r}, 3600]",
                field="longest_delay",
            )
