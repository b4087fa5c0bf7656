"""Progress of a run: cells done and time left, as a line of a terminal or of a log."""

from __future__ import annotations

import sys
from collections.abc import Callable
from time import monotonic
from typing import Final, TextIO

LOG_EVERY: Final = 30.0
"""Seconds between lines where standard error is no terminal."""


class Remaining:
    """Counter of finished cells, with an estimate of the time left.

    `done` are the cells of an earlier run, which say nothing about the speed of this one. The clock
    gives seconds.
    """

    def __init__(
        self,
        total: int,
        done: int,
        *,
        stream: TextIO | None = None,
        clock: Callable[[], float] = monotonic,
    ) -> None:
        self._stream = sys.stderr if stream is None else stream
        self._total, self._before, self._now = total, done, 0
        self._failed = 0
        self._clock = clock
        self._start = self._last_line = clock()

    def advance(self, *, failed: bool) -> None:
        """Count one cell."""
        self._now += 1
        self._failed += failed
        if self._stream.isatty():
            self._stream.write(f"\r\x1b[2K{self}")
            self._stream.flush()
        elif self._clock() - self._last_line >= LOG_EVERY:
            self._last_line = self._clock()
            self._stream.write(f"{self}\n")
            self._stream.flush()

    def close(self) -> None:
        """Clear the line of a terminal."""
        if self._stream.isatty():
            self._stream.write("\r\x1b[2K")
            self._stream.flush()

    def __str__(self) -> str:
        done = self._before + self._now
        text = f"{done} of {self._total} cells"
        if self._failed:
            text += f", {self._failed} failed"
        if self._now:
            left = (self._clock() - self._start) / self._now * (self._total - done)
            text += f", about {duration(left)} left"
        return text


def duration(seconds: float) -> str:
    """Return seconds in the two largest of hours, minutes and seconds."""
    whole = round(seconds)
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    if hours:
        return f"{hours} h {minutes} min"
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
