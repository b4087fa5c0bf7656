"""Turns: one piece of heavy work at a time in a process, in the order in which it was asked for.

Checking, planning or reading a manifest of many categories keeps a core busy for tenths of a second
and more. Many such requests at once would leave reports no time, so each waits for its turn. A
request that waits holds a thread, so not many wait, and none for long.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hushpoll_server.errors import Refused

WAIT_SECONDS: Final = 15.0
"""How long a request waits whose refusal would lose what an analyst wrote."""
RETRY_AFTER_SECONDS: Final = 1


class Turns:
    """Lets one thread of this process work at a time, while at most `most` requests wait.

    `work` is what is being done meanwhile, as a clause, such as "another draft is being checked".
    """

    def __init__(self, work: str, *, most: int) -> None:
        self._work = work
        self._most = most
        self._lock = threading.Lock()
        self._taken = False
        self._waiting: deque[threading.Event] = deque()

    @contextmanager
    def take(self, seconds: float | None = None) -> Iterator[None]:
        """Wait for the turn, at most so many seconds (None: `WAIT_SECONDS`), and hold it.

        Where it did not come, or too many wait for it already, the request is refused:
        ``unavailable``.
        """
        self._begin(WAIT_SECONDS if seconds is None else seconds)
        try:
            yield
        finally:
            self._end()

    def _begin(self, seconds: float) -> None:
        with self._lock:
            if not self._taken:
                self._taken = True
                return
            if len(self._waiting) >= self._most:
                raise self._refusal()
            mine = threading.Event()
            self._waiting.append(mine)
        if mine.wait(seconds):
            return
        with self._lock:
            if mine.is_set():  # in this moment
                return
            self._waiting.remove(mine)
        raise self._refusal()

    def _end(self) -> None:
        with self._lock:
            if self._waiting:
                self._waiting.popleft().set()
            else:
                self._taken = False

    def _refusal(self) -> Refused:
        return Refused(
            "unavailable",
            f"{self._work}; send the same again after {RETRY_AFTER_SECONDS} s",
            retry_after=RETRY_AFTER_SECONDS,
        )
