"""Counts of duplicates and rejections, kept in memory and written apart from any upload."""

from __future__ import annotations

import threading
from collections import Counter
from collections.abc import Callable
from typing import Final

from sqlalchemy import func, insert, select, update

from hushpoll_server.errors import Refused
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import counters

# For another thread that writes; beyond it the database hangs.
WAIT_SECONDS: Final = 2.0
RETRY_AFTER_SECONDS: Final = 2


class CounterStore:
    """Counts by survey version, day and outcome.

    A count waits in memory until ``flush``; a crash loses the counts since the last one, never a
    report. What was accepted is not counted here but by the reports themselves.

    Parameters
    ----------
    database : Database
        Where they are written.
    observe : callable or None
        Told each outcome and its count, without the version, as soon as it is counted.
    """

    def __init__(
        self, database: Database, *, observe: Callable[[str, int], None] | None = None
    ) -> None:
        self._database = database
        self._observe = observe
        self._lock = threading.Lock()
        # Held until what was taken to be written is committed: meanwhile it is in neither place.
        self._writing = threading.Lock()
        self._pending: Counter[tuple[int, str, str]] = Counter()

    def add(self, version_id: int, day: str, outcome: str, count: int = 1) -> None:
        """Count `count` reports of `day` (YYYY-MM-DD) under `outcome`."""
        with self._lock:
            self._pending[version_id, day, outcome] += count
        if self._observe is not None:
            self._observe(outcome, count)

    def flush(self) -> None:
        """Write the counts that wait, and wait for those being written; they stay if that fails.

        Raises
        ------
        Refused
            ``unavailable``: the database is away, or does not take what is being written.
        """
        if not self._writing.acquire(timeout=WAIT_SECONDS):
            raise Refused(
                "unavailable",
                "the database has not taken the latest counts yet; ask again after "
                f"{RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            )
        try:
            with self._lock:
                pending, self._pending = self._pending, Counter()
            if not pending:
                return
            try:
                self._write(pending)
            except BaseException:
                with self._lock:
                    self._pending.update(pending)
                raise
        finally:
            self._writing.release()

    def totals(self, version_id: int) -> dict[str, int]:
        """Return the counts of one version over all days, by outcome."""
        self.flush()
        statement = (
            select(counters.c.outcome, func.sum(counters.c.count))
            .where(counters.c.version_id == version_id)
            .group_by(counters.c.outcome)
        )
        with self._database.reading() as connection:
            return {outcome: int(count) for outcome, count in connection.execute(statement)}

    def _write(self, pending: Counter[tuple[int, str, str]]) -> None:
        with self._database.writing(catalogue=True) as connection:
            for (version_id, day, outcome), count in sorted(pending.items()):
                key = {"version_id": version_id, "day": day, "outcome": outcome}
                changed = connection.execute(
                    update(counters)
                    .where(*(counters.c[name] == value for name, value in key.items()))
                    .values(count=counters.c.count + count)
                )
                if changed.rowcount == 0:
                    connection.execute(insert(counters).values(**key, count=count))
