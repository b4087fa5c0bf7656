"""Folding in a process of its own: it sees no report arrive, so it watches what waits."""

from __future__ import annotations

import time
from collections.abc import Callable

from hushpoll_server.services.container import Services
from hushpoll_server.services.maintenance.sealing import SWEEP_SECONDS, UNDER_LOAD, most_waiting
from hushpoll_server.store.tables.surveys import VersionRow


class Folder:
    """Folds by the server's rules, from the outside.

    Parameters
    ----------
    parts : Services
        The worker's own services.
    monotonic : callable
        Seconds of a clock that never goes back.
    """

    def __init__(self, parts: Services, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._parts = parts
        self._monotonic = monotonic
        # What waited at the last look, and since when it has been that many.
        self._seen: dict[int, tuple[int, float]] = {}
        self._last_sweep = -SWEEP_SECONDS

    def turn(self) -> None:
        """Fold what is full, has been quiet for long enough or has ended, and make releases."""
        now = self._monotonic()
        waiting = self._parts.reports.waiting()
        self._parts.upkeep.versions.each(
            "seal", waiting, lambda row: self._look(row, waiting[row.id], now)
        )
        self._seen = {one: self._seen[one] for one in waiting if one in self._seen}
        if now - self._last_sweep >= SWEEP_SECONDS:
            self._last_sweep = now
            self._parts.upkeep.sweep(self._parts.surveys.now())
        self._parts.segments.tidy()

    def _look(self, row: VersionRow, count: int, now: float) -> None:
        settings = self._parts.settings
        before, since = self._seen.get(row.id, (-1, now))
        if before != count:
            since = now
        self._seen[row.id] = count, since
        arrived = count - max(before, 0)
        full = settings.fold_at
        if arrived:
            in_bulk = arrived >= settings.max_bulk_reports
            times = self._parts.segments.bulk_folds if in_bulk else UNDER_LOAD
            full = most_waiting(full, row.record_size, times)
        quiet = now - since >= settings.fold_idle_seconds
        if count >= full or quiet:
            self._parts.upkeep.fold(row)
            self._seen[row.id] = count, now
