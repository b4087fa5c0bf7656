"""Running jobs that no worker can be told of, because the queue is away."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable


class StandIn:
    """Runs jobs on threads of its own.

    Parameters
    ----------
    run : callable
        Runs what waits, told the id of a job; see :class:`hushpoll_server.jobs.runner.Runner`.
    most : int
        How many at a time.
    """

    def __init__(self, run: Callable[[str], None], most: int) -> None:
        self._run = run
        self._most = most
        self._threads: dict[str, threading.Thread] = {}

    def take(self, job_id: str) -> None:
        """Run a job, unless that is being done or there are enough; for one thread to call."""
        self._threads = {one: thread for one, thread in self._threads.items() if thread.is_alive()}
        if job_id in self._threads or len(self._threads) >= self._most:
            return
        thread = threading.Thread(
            target=self._run, args=(job_id,), name="hushpoll-stand-in", daemon=True
        )
        self._threads[job_id] = thread
        thread.start()

    def join(self, seconds: float) -> bool:
        """Wait so long for those that are running; return whether all have ended."""
        end = time.monotonic() + seconds
        threads = list(self._threads.values())
        for thread in threads:
            thread.join(max(0.0, end - time.monotonic()))
        return not any(thread.is_alive() for thread in threads)
