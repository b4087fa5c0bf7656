"""What a fleet does next, in the order of time, shared by its threads."""

from __future__ import annotations

import heapq
import itertools
import threading
import time
from collections.abc import Iterator
from typing import Generic, TypeVar

_T = TypeVar("_T")

# How long a thread sleeps at most before it looks again: another may have put something earlier.
_LONGEST_NAP = 0.05


class Agenda(Generic[_T]):
    """Items that come due, some known beforehand and some put in later.

    Parameters
    ----------
    planned : iterator of (float, item)
        Due times in seconds from the start, ascending; drawn when they are needed.
    over : threading.Event
        Once set, nothing is given out any more.
    """

    def __init__(self, planned: Iterator[tuple[float, _T]], over: threading.Event) -> None:
        self._planned = planned
        self._over = over
        self._lock = threading.Lock()
        self._order = itertools.count()
        # Due, order, item, and whether it was planned; never without the next planned one.
        self._waiting: list[tuple[float, int, _T, bool]] = []
        self._has_planned = False
        self._busy = 0
        self._began = time.monotonic()

    def put(self, delay: float, item: _T) -> None:
        """Put in an item that is due in so many seconds."""
        with self._lock:
            due = time.monotonic() - self._began + delay
            heapq.heappush(self._waiting, (due, next(self._order), item, False))

    def take(self) -> _T | None:
        """Return the next item once it is due, or None when there is nothing left.

        Whoever has taken an item calls `done` afterwards: until then it may put in others.
        """
        while not self._over.is_set():
            with self._lock:
                self._plan()
                if self._waiting:
                    wait = self._waiting[0][0] - (time.monotonic() - self._began)
                    if wait <= 0:
                        _, _, item, planned = heapq.heappop(self._waiting)
                        self._has_planned &= not planned
                        self._busy += 1
                        return item
                elif not self._busy:
                    return None
                else:
                    wait = _LONGEST_NAP
            self._over.wait(min(wait, _LONGEST_NAP))
        return None

    def done(self) -> None:
        """Say that an item that was taken is finished."""
        with self._lock:
            self._busy -= 1

    def _plan(self) -> None:
        if self._has_planned:
            return
        found = next(self._planned, None)
        if found is not None:
            heapq.heappush(self._waiting, (found[0], next(self._order), found[1], True))
            self._has_planned = True
