"""The numbers of metrics that the database knows, asked for every few seconds.

They are never asked for when metrics are read: reading costs the database nothing, and works while
it is away.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping

from hushpoll_server.logs import get_logger
from hushpoll_server.metrics import Metrics

log = get_logger(__name__)

SAMPLE_SECONDS = 10.0
STOP_SECONDS = 2.0


class SealLag:
    """How long the oldest report of an inbox can have waited, without any time being stored.

    Times begin with this process: an inbox that was not empty at its first look counts as filled
    just then. A seal empties a whole inbox. So when a version's number of sealed reports has grown,
    the reports that wait now came after the look before. The result is an upper bound, too large by
    at most the time between two looks.
    """

    def __init__(self) -> None:
        self._last_look: float | None = None
        self._since: dict[int, float] = {}
        self._sealed: dict[int, int] = {}

    def look(self, counts: Mapping[int, tuple[int, int]], now: float) -> float:
        """Return the longest wait, in seconds, of inboxes that are not empty.

        `counts` has the reports in the inbox and the sealed ones of each, and `now` is of a clock
        that never goes back.
        """
        before = now if self._last_look is None else self._last_look
        self._last_look = now
        since = {}
        for version_id, (_, sealed) in counts.items():
            sealed = sealed > self._sealed.get(version_id, sealed)
            since[version_id] = before if sealed else self._since.get(version_id, before)
        self._since = since
        # The inbox of a version that is missing here was sealed, and may fill again.
        self._sealed = {version_id: sealed for version_id, (_, sealed) in counts.items()}
        return now - min(since.values(), default=now)


class Sampler:
    """Asks the database in a thread of its own, and gives the metrics the numbers of each look.

    `waiting`, `counts`, `jobs` and `overdue` are as of `Operations`; `overdue` is None where this
    process maintains the versions.
    """

    def __init__(
        self,
        metrics: Metrics,
        *,
        waiting: Callable[[], Mapping[int, int]],
        counts: Callable[[int], tuple[int, int]],
        jobs: Callable[[], Mapping[str, int]],
        overdue: Callable[[], int] | None = None,
    ) -> None:
        self._metrics = metrics
        self._waiting = waiting
        self._counts = counts
        self._jobs = jobs
        self._overdue = overdue
        self._lag = SealLag()
        self._up = True
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Start the thread."""
        self._thread = threading.Thread(target=self._run, name="hushpoll-sampler", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the thread, unless it hangs in the database."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join(STOP_SECONDS)

    def sample(self) -> None:
        """Look once."""
        try:
            counts = {version_id: self._counts(version_id) for version_id in self._waiting()}
            jobs = self._jobs()
            if self._overdue is not None:
                self._metrics.maintenance_failing(self._overdue())
        except Exception as error:
            if self._up:
                log.warning("not-sampled", error=type(error.__cause__ or error).__name__)
            self._up = False
            self._metrics.sampled(up=False)
            return
        self._up = True
        self._metrics.sampled(
            up=True,
            inbox=sum(inbox for inbox, _ in counts.values()),
            seal_lag=self._lag.look(counts, time.monotonic()),
            jobs=jobs,
        )

    def _run(self) -> None:
        self.sample()
        while not self._ended.wait(SAMPLE_SECONDS):
            self.sample()
