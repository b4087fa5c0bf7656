"""Few places for costly work, and a short queue for them, in which honest people come first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum, auto
from typing import Final

Rank = tuple[int, ...]
"""How much speaks against a request, such as earlier failures; the smallest is the best."""


class NoPlace(Exception):  # it is an outcome, which each caller refuses in its own words
    """Others, none of them worse, hold or wait for every place."""


class _State(Enum):
    WAITS = auto()
    HOLDS = auto()
    GONE = auto()


@dataclass(eq=False)
class _Request:
    rank: Rank
    state: _State = _State.WAITS


class Places:
    """Places, `at_once`, that are held for a moment, and a queue of those who wait.

    Each that waits holds a thread. Where more than `waiting` wait, the worst of them is sent away,
    of equals the one that came last. A place that becomes free goes in turn to the best that waits
    and to the one that has waited for the longest: the best do not wait for many others, and nobody
    waits for ever.
    """

    def __init__(self, at_once: int, waiting: int) -> None:
        self._free = at_once
        self._waiting: Final = waiting
        self._changed = threading.Condition()
        # In the order in which they came.
        self._queue: list[_Request] = []
        self._best_is_next = True

    @contextmanager
    def hold(self, rank: Rank = ()) -> Iterator[None]:
        """Hold a place, after waiting for it; raises `NoPlace`."""
        request = _Request(rank)
        with self._changed:
            if self._free:
                self._free -= 1
                request.state = _State.HOLDS
            else:
                self._queue.append(request)
                if len(self._queue) > self._waiting:
                    self._send_away()
                self._changed.wait_for(lambda: request.state is not _State.WAITS)
        if request.state is _State.GONE:
            raise NoPlace
        try:
            yield
        finally:
            with self._changed:
                self._hand_on()

    def _send_away(self) -> None:
        worst = max(reversed(self._queue), key=lambda request: request.rank)
        self._queue.remove(worst)
        worst.state = _State.GONE
        self._changed.notify_all()

    def _hand_on(self) -> None:
        if not self._queue:
            self._free += 1
            return
        chosen = self._queue[0]
        if self._best_is_next:
            chosen = min(self._queue, key=lambda request: request.rank)
        self._best_is_next = not self._best_is_next
        self._queue.remove(chosen)
        chosen.state = _State.HOLDS
        self._changed.notify_all()
