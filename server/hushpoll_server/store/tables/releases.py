"""Releases: what has been given to analysts of a version, as sealed reports and as counts.

Of a version that releases on a schedule, an analyst is given the last release alone, however often
and whenever they ask. Segments say whether they are in it; its counts are kept beside those of all
sealed reports. A version that releases immediately has no use for either.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from sqlalchemy import Connection, func, insert, select, update

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import counters, releases, versions
from hushpoll_server.store.tables import blobs, counts
from hushpoll_server.store.tables.blobs import Rows
from hushpoll_server.store.tables.counts import Aggregate


class Released(NamedTuple):
    """The last release of a version.

    Attributes
    ----------
    at : int
        When it was made, in seconds since 1970, UTC.
    aggregate : Aggregate
        Counts of its reports: of all that were sealed.
    refused : mapping of str to int
        Duplicates and refusals until then, by outcome.
    """

    at: int
    aggregate: Aggregate
    refused: Mapping[str, int]


class ReleaseStore:
    """Statements that make releases, and read them.

    Parameters
    ----------
    database : Database
        Where they are.
    shuffle : callable
        Maps uint8[n, L] to the same rows in an order that nobody can predict.
    """

    def __init__(self, database: Database, shuffle: Callable[[Rows], Rows]) -> None:
        self._database = database
        self._shuffle = shuffle

    def due(self, now: int) -> list[int]:
        """Return the versions whose period has ended at `now`, seconds since 1970, UTC."""
        with self._database.reading() as connection:
            statement = select(versions.c.id).where(versions.c.next_release <= now)
            return list(connection.execute(statement.order_by(versions.c.id)).scalars())

    def make(
        self, version_id: int, record_size: int, *, minimum: int, now: int, following: int | None
    ) -> int:
        """Release what is sealed, if the version's period has ended and there is enough of it.

        Segments that are less than half full are shuffled together with older ones: which release
        a report was in is then left nowhere but in larger segments.

        Parameters
        ----------
        version_id, record_size
            The version.
        minimum : int
            New reports below which nothing is released before the next period's end.
        now : int
            Seconds since 1970, UTC.
        following : int or None
            The next period's end.

        Returns
        -------
        int
            Reports that were released; 0 also if another process was faster.
        """
        with self._database.writing(sealing=version_id) as connection:
            reached = connection.execute(
                update(versions)
                .where(versions.c.id == version_id, versions.c.next_release <= now)
                .values(next_release=following)
            )
            if not reached.rowcount:
                return 0
            held = counts.read(connection, version_id)
            new = blobs.count(connection, version_id, released=False)
            if held is None or new < max(1, minimum):
                return 0
            blobs.release(connection, version_id)
            taken = blobs.withdraw(connection, version_id, record_size, released=True, least=2)
            if taken:
                rows = self._shuffle(np.concatenate(taken))
                blobs.seal(connection, version_id, rows, released=True)
            write(connection, version_id, at=now, aggregate=held.aggregate)
        self._database.tidy()
        return new

    def read(self, version_id: int) -> Released | None:
        """Return the last release of a version; None before the first."""
        with self._database.reading() as connection:
            return read(connection, version_id)

    def recount(
        self, version_id: int, record_size: int, aggregator: counts.Aggregator
    ) -> tuple[Aggregate | None, Aggregate]:
        """Return the counts that are kept of the last release and those of its segments."""
        with self._database.reading() as connection:
            held = read(connection, version_id)
            rows = blobs.blocks(connection, version_id, record_size, released_only=True)
            found = aggregator(version_id, rows)
        return None if held is None else held.aggregate, found

    def rebuild_counts(
        self, version_id: int, record_size: int, aggregator: counts.Aggregator
    ) -> None:
        """Replace the counts of the last release by those of its segments."""
        with self._database.writing(sealing=version_id) as connection:
            rows = blobs.blocks(connection, version_id, record_size, released_only=True)
            aggregate = aggregator(version_id, rows)
            connection.execute(
                update(releases)
                .where(releases.c.version_id == version_id)
                .values(**aggregate._asdict())
            )


def read(connection: Connection, version_id: int) -> Released | None:
    """Return the last release of a version; None before the first."""
    row = connection.execute(
        select(releases).where(releases.c.version_id == version_id)
    ).one_or_none()
    if row is None:
        return None
    aggregate = Aggregate(int(row.reports), bytes(row.support), bytes(row.joint))
    return Released(row.released_at, aggregate, json.loads(row.refused))


def write(connection: Connection, version_id: int, *, at: int, aggregate: Aggregate) -> None:
    """Make these counts, and the duplicates and refusals until now, those of the last release."""
    refused = connection.execute(
        select(counters.c.outcome, func.sum(counters.c.count))
        .where(counters.c.version_id == version_id)
        .group_by(counters.c.outcome)
    )
    columns = {
        "released_at": at,
        "refused": json.dumps({outcome: int(number) for outcome, number in refused}),
        **aggregate._asdict(),
    }
    changed = connection.execute(
        update(releases).where(releases.c.version_id == version_id).values(**columns)
    )
    if changed.rowcount == 0:
        connection.execute(insert(releases).values(version_id=version_id, **columns))
