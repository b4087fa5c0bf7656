"""Aggregates: what estimates and cross-tables need of every sealed report of a version.

They are written in the transaction that seals the reports they count, so each report is in them
exactly once. They add up, and outlive the segments they were counted from.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, insert, select, update

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import aggregates

Rows = npt.NDArray[np.uint8]


class Aggregate(NamedTuple):
    """Counts of some reports.

    Attributes
    ----------
    reports : int
        How many there are.
    support, joint : bytes
        int64, little-endian; see ``hushpoll_analysis.records.pair_counts``.
    """

    reports: int
    support: bytes
    joint: bytes

    def plus(self, other: Aggregate) -> Aggregate | None:
        """Join the rows of both; None where they were not counted alike."""
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
    """What is known of a version's sealed reports, whether their records are there or not.

    Attributes
    ----------
    aggregate : Aggregate
        Their counts.
    mixed : bool
        Whether the version is over and its segments were shuffled together.
    records_deleted_at : int or None
        When the records were deleted, in seconds since 1970, UTC.
    """

    aggregate: Aggregate
    mixed: bool
    records_deleted_at: int | None


class CountStore:
    """Reads aggregates."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def read(self, version_id: int) -> Sealed | None:
        """Return the counts of a version; None if there are none, or none yet."""
        with self._database.reading() as connection:
            return read(connection, version_id)


def read(connection: Connection, version_id: int) -> Sealed | None:
    """Return the counts of a version; None if there are none, or none yet."""
    row = connection.execute(
        select(aggregates).where(aggregates.c.version_id == version_id)
    ).one_or_none()
    if row is None:
        return None
    return Sealed(
        Aggregate(int(row.reports), bytes(row.support), bytes(row.joint)),
        bool(row.mixed),
        row.records_deleted_at,
    )


def write(connection: Connection, version_id: int, aggregate: Aggregate) -> None:
    """Replace the counts of a version."""
    _set(connection, version_id, **aggregate._asdict())


def mark_mixed(connection: Connection, version_id: int) -> None:
    """Say that the segments were shuffled together."""
    _set(connection, version_id, mixed=True)


def mark_deleted(connection: Connection, version_id: int, at: int) -> None:
    """Say that the records are gone and the counts are all that is left."""
    _set(connection, version_id, records_deleted_at=at)


def _set(connection: Connection, version_id: int, **columns: Any) -> None:
    changed = connection.execute(
        update(aggregates).where(aggregates.c.version_id == version_id).values(**columns)
    )
    if changed.rowcount == 0:
        connection.execute(
            insert(aggregates).values(
                **{"version_id": version_id, "mixed": False, "records_deleted_at": None, **columns}
            )
        )


def _added(one: bytes, two: bytes) -> bytes:
    total: npt.NDArray[np.int64] = np.frombuffer(one, "<i8") + np.frombuffer(two, "<i8")
    return total.tobytes()
