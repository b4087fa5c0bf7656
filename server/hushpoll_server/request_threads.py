"""Threads that answer requests, and what they hand back to the thread that accepts connections.

The standard library's pool wakes a second thread for each task, in vain, and gunicorn's queue makes
a system call for each result. Where many threads work, either costs a turn of the interpreter's
lock.
"""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Any, Final

Task = Callable[[], None]


class RequestThreads:
    """At most so many threads; tasks that find none idle wait in the order in which they came.

    The thread that was idle for the shortest time is the next to work.

    Parameters
    ----------
    most : int
        Threads.
    """

    def __init__(self, most: int) -> None:
        self._most: Final = most
        self._state: Final = threading.Lock()
        self._idle: list[_Thread] = []
        self._started = 0
        self._waiting: deque[Task] = deque()

    def submit(self, task: Task) -> None:
        """Have a thread call `task`, which must not raise."""
        with self._state:
            if self._idle:
                self._idle.pop().give(task)
            elif self._started < self._most and self._start(task):
                self._started += 1
            else:
                self._waiting.append(task)

    def shutdown(self, wait: bool = True) -> None:
        """Do nothing: the threads end with the process."""

    def _start(self, task: Task) -> bool:
        try:
            _Thread(task, self._next).start()
        except RuntimeError:  # the system has no more to give; those that are there take it on
            if not self._started:
                raise
            return False
        return True

    def _next(self, thread: _Thread) -> Task | None:
        with self._state:
            if self._waiting:
                return self._waiting.popleft()
            self._idle.append(thread)
            return None


class _Thread(threading.Thread):
    def __init__(self, task: Task, following: Callable[[_Thread], Task | None]) -> None:
        super().__init__(name="hushpoll-request", daemon=True)
        self._task = task
        self._following = following
        self._given = threading.Lock()
        self._given.acquire()

    def give(self, task: Task) -> None:
        """Wake the thread, which is idle, for a task."""
        self._task = task
        self._given.release()

    def run(self) -> None:
        while True:
            self._task()
            following = self._following(self)
            if following is None:
                self._given.acquire()
            else:
                self._task = following


class Handback:
    """Calls for the thread that accepts connections; it is woken once for all that come meanwhile.

    Has the methods of gunicorn's ``PollableMethodQueue``.
    """

    def __init__(self) -> None:
        self._calls: deque[Task] = deque()
        self._woken = False
        self._read_end = self._write_end = -1

    def init(self) -> None:
        """Open the pipe that wakes, in the process that uses it."""
        self._read_end, self._write_end = os.pipe()

    def close(self) -> None:
        """Leave it open: a thread may have something to hand back still."""

    def fileno(self) -> int:
        """Return the descriptor that is readable while there are calls."""
        return self._read_end

    def defer(self, callback: Callable[..., None], *args: Any) -> None:
        """Have the other thread call `callback`."""
        self._calls.append(partial(callback, *args))
        # Who sees that it was woken may rely on it: it forgets so before it looks for calls.
        if not self._woken:
            self._woken = True
            os.write(self._write_end, b"\0")

    def run_callbacks(self, _fileobj: Any) -> None:
        """Make the calls."""
        os.read(self._read_end, 4096)
        self._woken = False
        while self._calls:
            self._calls.popleft()()
