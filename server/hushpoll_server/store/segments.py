"""Sealed segments: reports without id or order, as blobs of fixed-width rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, func, insert, select

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox, segments

Rows = npt.NDArray[np.uint8]

# Bounds of one blob. Reading has no use for larger ones and a smaller one costs a statement.
SEGMENT_REPORTS = 65_536
SEGMENT_BYTES = 16 * 2**20
INBOX_ROWS_PER_FETCH = 10_000


class SegmentStore:
    """Statements that move reports from the inbox into segments and read both.

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

    def fold(self, version_id: int, record_size: int, *, minimum: int, last: bool = False) -> int:
        """Move the inbox of one version, shuffled, into segments and empty it, in one transaction.

        Parameters
        ----------
        version_id : int
            Survey version.
        record_size : int
            Its L, in bytes.
        minimum : int
            Reports below which nothing is moved: few reports that are sealed together would be
            told apart by when they were sealed.
        last : bool
            No more reports will come: move what there is. Where that is fewer than `minimum`, it
            is shuffled together with the newest segment, so that no segment is smaller than
            `minimum` unless the whole version is.

        Returns
        -------
        int
            Reports moved.
        """
        with self._database.writing() as connection:
            waiting = _inbox_count(connection, version_id)
            if waiting == 0 or (waiting < minimum and not last):
                return 0
            moved = connection.execute(
                delete(inbox).where(inbox.c.version_id == version_id).returning(inbox.c.record)
            ).scalars()
            rows = np.frombuffer(b"".join(moved), dtype=np.uint8).reshape(-1, record_size)
            count = len(rows)
            if count < minimum:
                rows = np.concatenate([rows, _withdraw_newest(connection, version_id, record_size)])
            _seal(connection, version_id, self._shuffle(rows))
        self._database.forget_folded()
        return count

    def count(self, version_id: int) -> int:
        """Return the number of reports of one version, sealed or not."""
        with self._database.reading() as connection:
            return _sealed_count(connection, version_id) + _inbox_count(connection, version_id)

    def counts(self, version_id: int) -> tuple[int, int]:
        """Return the numbers of reports in the inbox and in sealed segments."""
        with self._database.reading() as connection:
            return _inbox_count(connection, version_id), _sealed_count(connection, version_id)

    def records(self, version_id: int, record_size: int) -> Rows:
        """Return every record of one version, segments and inbox in one consistent state.

        Returns
        -------
        ndarray of uint8, shape (n, record_size)
            The order has no meaning.
        """
        with self._database.reading() as connection:
            waiting = _inbox_count(connection, version_id)
            total = _sealed_count(connection, version_id) + waiting
            rows = np.empty((total, record_size), dtype=np.uint8)
            flat = rows.reshape(-1)
            filled = 0
            # One segment in memory at a time beside the result.
            sealed = select(segments.c.data).where(segments.c.version_id == version_id)
            for data in connection.execute(
                sealed.order_by(segments.c.id), execution_options={"yield_per": 1}
            ).scalars():
                flat[filled : filled + len(data)] = np.frombuffer(data, dtype=np.uint8)
                filled += len(data)
            unsealed = select(inbox.c.record).where(inbox.c.version_id == version_id)
            for some in (
                connection.execute(unsealed, execution_options={"yield_per": INBOX_ROWS_PER_FETCH})
                .scalars()
                .partitions()
            ):
                data = b"".join(some)
                flat[filled : filled + len(data)] = np.frombuffer(data, dtype=np.uint8)
                filled += len(data)
        return rows


def _seal(connection: Connection, version_id: int, rows: Rows) -> None:
    size = max(1, min(SEGMENT_REPORTS, SEGMENT_BYTES // max(1, rows.shape[1])))
    pieces = np.array_split(rows, -(-len(rows) // size))
    values: list[dict[str, Any]] = [
        {"version_id": version_id, "reports": len(piece), "data": piece.tobytes()}
        for piece in pieces
    ]
    connection.execute(insert(segments), values)


def _withdraw_newest(connection: Connection, version_id: int, record_size: int) -> Rows:
    newest = select(func.max(segments.c.id)).where(segments.c.version_id == version_id)
    data = connection.execute(
        delete(segments).where(segments.c.id == newest.scalar_subquery()).returning(segments.c.data)
    ).scalar_one_or_none()
    return np.frombuffer(data or b"", dtype=np.uint8).reshape(-1, record_size)


def _inbox_count(connection: Connection, version_id: int) -> int:
    statement = select(func.count()).select_from(inbox).where(inbox.c.version_id == version_id)
    return int(connection.execute(statement).scalar_one())


def _sealed_count(connection: Connection, version_id: int) -> int:
    statement = select(func.coalesce(func.sum(segments.c.reports), 0)).where(
        segments.c.version_id == version_id
    )
    return int(connection.execute(statement).scalar_one())
