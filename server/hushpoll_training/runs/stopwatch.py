"""Seconds per step of a run."""

from __future__ import annotations

from time import perf_counter


class Stopwatch:
    """Seconds between laps.

    Attributes
    ----------
    laps : dict of str to float
        Seconds that each named step took.
    """

    def __init__(self) -> None:
        self.laps: dict[str, float] = {}
        self._last = perf_counter()

    def lap(self, name: str) -> None:
        """End a step; the next one begins."""
        now = perf_counter()
        self.laps[name] = now - self._last
        self._last = now
