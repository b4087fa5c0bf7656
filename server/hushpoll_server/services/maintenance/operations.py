"""How the server does, for those who operate it: numbers about all surveys together.

Nothing here is about one survey: how many reports a survey has is released to its analysts on its
own terms.
"""

from __future__ import annotations

import threading
import time
from collections import deque
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Final, Literal, cast

from hushpoll_server.metrics import Metrics
from hushpoll_server.services.maintenance.sampling import SealLag
from hushpoll_server.store import migrate
from hushpoll_server.store.counts import sealed_reports
from hushpoll_server.store.database import Database
from hushpoll_shared.wire.documents.administration import OperationsDocument

RATE_SECONDS: Final = 60.0
"""The rate of reports is of so long a time, or of the time since the first look."""
LEAST_RATE_SECONDS: Final = 2.0


class Operations:
    """Looks at the whole server, by functions that return numbers of now.

    Without metrics the queue of other processes is not known. `waiting` gives the reports in each
    inbox that is not empty, by version, `counts` those that wait and are sealed of one version,
    `jobs` the background jobs by state, `overdue` the versions that should have been sealed or
    released. `sealing` is who seals, ``server`` or ``worker``.
    """

    def __init__(
        self,
        database: Database,
        metrics: Metrics | None,
        *,
        waiting: Callable[[], Mapping[int, int]],
        counts: Callable[[int], tuple[int, int]],
        jobs: Callable[[], Mapping[str, int]],
        overdue: Callable[[], int],
        sealing: Literal["server", "worker"],
        any_worker: Callable[[], bool],
    ) -> None:
        self._database = database
        self._metrics = metrics
        self._waiting = waiting
        self._counts = counts
        self._jobs = jobs
        self._overdue = overdue
        self._sealing = sealing
        self._any_worker = any_worker
        self._lock = threading.Lock()
        self._lag = SealLag()
        self._totals: deque[tuple[float, int]] = deque()

    def look(self) -> OperationsDocument:
        """Return the numbers of now, as the API gives them."""
        inboxes = {version_id: self._counts(version_id) for version_id in self._waiting()}
        with self._database.reading() as connection:
            sealed = sealed_reports(connection)
        waiting = sum(inbox for inbox, _ in inboxes.values())
        size, free, whole = self._database.room()
        with self._lock:
            now = time.monotonic()
            lag = self._lag.look(inboxes, now)
            rate, seconds = self._rate(now, waiting + sealed)
        dialect = self._database.engine.dialect.name
        return {
            "version": version("hushpoll-server"),
            "schema_version": migrate.head(),
            "database": cast('Literal["sqlite", "postgresql"]', dialect),
            "database_bytes": size,
            "disk_free_bytes": free,
            "disk_bytes": whole,
            "reports_waiting": waiting,
            "reports_sealed": sealed,
            "reports_per_second": rate,
            "measured_seconds": seconds,
            "seal_lag_seconds": lag,
            "sealing": self._sealing,
            "overdue_versions": self._overdue(),
            "queue_reports": None if self._metrics is None else self._metrics.queue_reports(),
            "jobs": dict(self._jobs()),
            "worker_alive": self._any_worker(),
        }

    def _rate(self, now: float, total: int) -> tuple[float | None, float]:
        """Return the reports per second since the oldest look of the last minute, if there is one.

        Looks that come more often than every two seconds are not kept, so that many of them do
        not shorten the time.
        """
        totals = self._totals
        while len(totals) > 1 and totals[1][0] <= now - RATE_SECONDS:
            totals.popleft()
        rate, seconds = None, 0.0
        if totals and now - totals[0][0] >= LEAST_RATE_SECONDS:
            seconds = now - totals[0][0]
            # Reports of a version whose counts are rebuilt meanwhile are missing for a moment.
            rate = max(0, total - totals[0][1]) / seconds
        if not totals or now - totals[-1][0] >= LEAST_RATE_SECONDS:
            totals.append((now, total))
        return rate, seconds
