"""Counts of reports: counters by outcome, aggregates of what is sealed, and the last release.

The transaction that seals reports adds them to the version's aggregate, so each report is in it
exactly once. An aggregate holds what estimates and cross-tables need, and outlives the segments
from which it was counted.

Of a version that releases on a schedule, an analyst is given the last release alone, however often
and whenever the analyst asks. Segments say whether they are in it, and its aggregate is kept beside
the aggregate of all sealed reports. A version that releases immediately uses neither.
"""

from __future__ import annotations

import json
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, func, insert, select, update

from hushpoll_server.errors import Refused
from hushpoll_server.store import segments
from hushpoll_server.store.database import Database
from hushpoll_server.store.release_days import note_total, read_totals
from hushpoll_server.store.schema import aggregates, counters, releases, versions
from hushpoll_server.store.segments import Rows

# How long to wait for another thread that writes counters; after that the database hangs.
WAIT_SECONDS: Final = 2.0
RETRY_AFTER_SECONDS: Final = 2


class CounterStore:
    """Numbers of duplicates and refusals, by survey version, day and outcome.

    They wait in memory until ``flush``, which is no part of any upload's transaction. A crash loses
    what was counted since the last flush, never a report. Accepted reports are not counted here:
    their number is that of the stored reports. `observe` is called with each outcome and its number
    as soon as it is counted.
    """

    def __init__(
        self, database: Database, *, observe: Callable[[str, int], None] | None = None
    ) -> None:
        self._database = database
        self._observe = observe
        self._lock = threading.Lock()
        # Held from taking numbers out of `_pending` until their commit: meanwhile they are in
        # neither.
        self._writing = threading.Lock()
        self._pending: Counter[tuple[int, str, str]] = Counter()

    def add(self, version_id: int, day: str, outcome: str, count: int = 1) -> None:
        """Count `count` reports of `day` (YYYY-MM-DD) under `outcome`."""
        with self._lock:
            self._pending[version_id, day, outcome] += count
        if self._observe is not None:
            self._observe(outcome, count)

    def flush(self) -> None:
        """Write what waits, after another thread that writes; if it fails, all of it stays."""
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
        """Return the numbers of one version over all days, by outcome."""
        self.flush()
        with self._database.reading() as connection:
            return _totals(connection, version_id)

    def by_day(self, version_id: int) -> list[tuple[str, str, int]]:
        """Return day, outcome and number of one version, the oldest day first."""
        self.flush()
        statement = (
            select(counters.c.day, counters.c.outcome, counters.c.count)
            .where(counters.c.version_id == version_id)
            .order_by(counters.c.day, counters.c.outcome)
        )
        return [
            (str(day), str(outcome), int(count))
            for day, outcome, count in self._database.read(statement)
        ]

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


def _totals(connection: Connection, version_id: int) -> dict[str, int]:
    statement = (
        select(counters.c.outcome, func.sum(counters.c.count))
        .where(counters.c.version_id == version_id)
        .group_by(counters.c.outcome)
    )
    return {outcome: int(count) for outcome, count in connection.execute(statement)}


class Aggregate(NamedTuple):
    """Counts of some reports."""

    reports: int
    support: bytes
    """int64, little-endian, as ``joint``; see ``hushpoll_analysis.records.counts``."""
    joint: bytes

    def plus(self, other: Aggregate) -> Aggregate | None:
        """Return the counts of both together; None if they count different attributes."""
        if len(self.support) != len(other.support) or len(self.joint) != len(other.joint):
            return None
        return Aggregate(
            self.reports + other.reports,
            _added(self.support, other.support),
            _added(self.joint, other.joint),
        )


Aggregator = Callable[[int, Iterable[Rows]], Aggregate]
"""Counts the records of a version (its id, blocks of uint8[m, L])."""


class Sealed(NamedTuple):
    """What is known of a version's sealed reports, whether their records still exist or not."""

    aggregate: Aggregate
    shuffled: bool
    """Whether the version is over and all its segments were shuffled together."""
    records_deleted_at: int | None
    """Seconds since 1970, UTC."""


def read_sealed(connection: Connection, version_id: int) -> Sealed | None:
    """Return the counts of a version; None if nothing was counted yet."""
    row = connection.execute(
        select(aggregates).where(aggregates.c.version_id == version_id)
    ).one_or_none()
    if row is None:
        return None
    return Sealed(
        Aggregate(int(row.reports), bytes(row.support), bytes(row.joint)),
        bool(row.shuffled),
        row.records_deleted_at,
    )


def sealed_reports(connection: Connection) -> int:
    """Return the number of sealed reports of all versions, those of deleted records too."""
    statement = select(func.coalesce(func.sum(aggregates.c.reports), 0))
    return int(connection.execute(statement).scalar_one())


def write_sealed(connection: Connection, version_id: int, **columns: Any) -> None:
    """Write columns of a version's row of ``aggregates``, which is inserted if there is none."""
    changed = connection.execute(
        update(aggregates).where(aggregates.c.version_id == version_id).values(**columns)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(aggregates).values(
                **{
                    "version_id": version_id,
                    "shuffled": False,
                    "records_deleted_at": None,
                    **columns,
                }
            )
        )


def _added(first: bytes, second: bytes) -> bytes:
    total: npt.NDArray[np.int64] = np.frombuffer(first, "<i8") + np.frombuffer(second, "<i8")
    return total.tobytes()


class Released(NamedTuple):
    """The last release of a version."""

    at: int
    """Seconds since 1970, UTC."""
    aggregate: Aggregate
    """Of all reports that were sealed then."""
    refused: Mapping[str, int]
    """Duplicates and refusals until then, by outcome."""


class ReleaseStore:
    """Statements that make releases and read them; `shuffle` permutes the rows of uint8[n, L]."""

    def __init__(self, database: Database, shuffle: Callable[[Rows], Rows]) -> None:
        self._database = database
        self._shuffle = shuffle

    def due(self, now: int) -> list[int]:
        """Return the versions whose period has ended at `now`, seconds since 1970, UTC."""
        statement = select(versions.c.id).where(versions.c.next_release <= now)
        return list(self._database.read(statement.order_by(versions.c.id)).scalars())

    def make(
        self, version_id: int, record_size: int, *, minimum: int, now: int, following: int | None
    ) -> int:
        """Release what is sealed, if the version's period has ended and enough of it is new.

        With fewer new reports than `minimum` nothing is released before the end of the next period,
        `following`. Segments that are less than half full are shuffled together with older ones.
        Then nothing but a larger segment tells which release a report was in. Returned is how many
        were released: 0 also if another process has made the release.
        """
        with self._database.writing(sealing=version_id) as connection:
            reached = connection.execute(
                update(versions)
                .where(versions.c.id == version_id, versions.c.next_release <= now)
                .values(next_release=following)
            )
            if not reached.rowcount:
                return 0
            sealed = read_sealed(connection, version_id)
            new = segments.count(connection, version_id, released=False)
            if sealed is None or new < max(1, minimum):
                return 0
            segments.release(connection, version_id)
            removed = segments.remove_unfilled(
                connection, version_id, record_size, released=True, least=2
            )
            if removed:
                rows = self._shuffle(np.concatenate(removed))
                segments.insert_rows(connection, version_id, rows, released=True)
            write_release(connection, version_id, at=now, aggregate=sealed.aggregate)
        self._database.vacuum()
        return new

    def dates(self) -> dict[int, tuple[int, int]]:
        """Return when each version was last released, and its reports, without their counts."""
        statement = select(releases.c.version_id, releases.c.released_at, releases.c.reports)
        return {row[0]: (int(row[1]), int(row[2])) for row in self._database.read(statement)}

    def days(self, version_id: int) -> list[tuple[str, int]]:
        """Return the days of releases (YYYY-MM-DD, UTC) and the totals by then, oldest first."""
        with self._database.reading() as connection:
            return read_totals(connection, version_id)

    def read(self, version_id: int) -> Released | None:
        """Return the last release of a version; None before the first."""
        with self._database.reading() as connection:
            return read_release(connection, version_id)

    def recount(
        self, version_id: int, record_size: int, aggregator: Aggregator
    ) -> tuple[Aggregate | None, Aggregate]:
        """Return the stored counts of the last release, and the counts of its segments."""
        with self._database.reading() as connection:
            release = read_release(connection, version_id)
            rows = segments.blocks(connection, version_id, record_size, released_only=True)
            counted = aggregator(version_id, rows)
        return None if release is None else release.aggregate, counted

    def rebuild_counts(self, version_id: int, record_size: int, aggregator: Aggregator) -> None:
        """Replace the stored counts of the last release by the counts of its segments."""
        with self._database.writing(sealing=version_id) as connection:
            rows = segments.blocks(connection, version_id, record_size, released_only=True)
            aggregate = aggregator(version_id, rows)
            connection.execute(
                update(releases)
                .where(releases.c.version_id == version_id)
                .values(**aggregate._asdict())
            )


def read_release(connection: Connection, version_id: int) -> Released | None:
    """Return the last release of a version; None before the first."""
    row = connection.execute(
        select(releases).where(releases.c.version_id == version_id)
    ).one_or_none()
    if row is None:
        return None
    aggregate = Aggregate(int(row.reports), bytes(row.support), bytes(row.joint))
    return Released(row.released_at, aggregate, json.loads(row.refused))


def write_release(
    connection: Connection, version_id: int, *, at: int, aggregate: Aggregate
) -> None:
    """Write these counts, and the duplicates and refusals until now, as the last release."""
    columns = {
        "released_at": at,
        "refused": json.dumps(_totals(connection, version_id)),
        **aggregate._asdict(),
    }
    changed = connection.execute(
        update(releases).where(releases.c.version_id == version_id).values(**columns)
    )
    if changed.rowcount == 0:
        connection.execute(insert(releases).values(version_id=version_id, **columns))
    note_total(connection, version_id, at=at, reports=aggregate.reports)
