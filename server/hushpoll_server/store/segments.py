"""Sealed segments: reports without id or order, as blobs of fixed-width rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Select, delete, func, insert, select

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox, seen_ids, segments

Rows = npt.NDArray[np.uint8]

# Bounds of one blob. Reading has no use for larger ones and a smaller one costs a statement.
SEGMENT_REPORTS = 65_536
SEGMENT_BYTES = 16 * 2**20
INBOX_ROWS_PER_FETCH = 10_000
# What a reader is given at a time, at least.
BLOCK_BYTES = 16 * 2**20


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
        with self._database.writing(folding=version_id) as connection:
            waiting = _inbox_count(connection, version_id)
            if waiting == 0 or (waiting < minimum and not last):
                return 0
            _keep_ids(connection, version_id)
            moved = connection.execute(
                delete(inbox).where(inbox.c.version_id == version_id).returning(inbox.c.record)
            ).scalars()
            rows = _rows(b"".join(moved), record_size)
            count = len(rows)
            if count < minimum:
                rows = np.concatenate([rows, _withdraw_newest(connection, version_id, record_size)])
            _seal(connection, version_id, self._shuffle(rows))
        self._database.tidy()
        return count

    def tidy(self) -> None:
        """Empty the database's log, unless a reader needs it; see ``Database.tidy``."""
        self._database.tidy()

    def count(self, version_id: int) -> int:
        """Return the number of reports of one version, sealed or not."""
        with self._database.reading() as connection:
            return _sealed_count(connection, version_id) + _inbox_count(connection, version_id)

    def counts(self, version_id: int) -> tuple[int, int]:
        """Return the numbers of reports in the inbox and in sealed segments."""
        with self._database.reading() as connection:
            return _inbox_count(connection, version_id), _sealed_count(connection, version_id)

    def blocks(self, version_id: int, record_size: int) -> Iterator[Rows]:
        """Yield every record of one version, segments and inbox in one consistent state.

        Small segments are joined, so that whoever works on arrays gets large ones.

        Yields
        ------
        ndarray of uint8, shape (m, record_size)
            The order has no meaning.
        """
        sealed = select(segments.c.data).where(segments.c.version_id == version_id)
        unsealed = select(inbox.c.record).where(inbox.c.version_id == version_id)
        with self._database.reading() as connection:
            parts: list[bytes] = []
            size = 0
            for data in itertools.chain(
                _stream(connection, sealed.order_by(segments.c.id), 1),
                _stream(connection, unsealed, INBOX_ROWS_PER_FETCH),
            ):
                parts.append(data)
                size += len(data)
                if size >= BLOCK_BYTES:
                    yield _rows(b"".join(parts), record_size)
                    parts, size = [], 0
            if parts:
                yield _rows(b"".join(parts), record_size)


def _stream(connection: Connection, statement: Select[Any], rows: int) -> Iterator[bytes]:
    options = {"yield_per": rows}
    yield from connection.execute(statement, execution_options=options).scalars()


def _rows(data: bytes, record_size: int) -> Rows:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, record_size)


def _keep_ids(connection: Connection, version_id: int) -> None:
    # Only now, all at once and in their own order: a page keeps its rows where they were inserted,
    # so ids inserted one by one would tell in which order their reports arrived.
    ids = select(inbox.c.version_id, inbox.c.report_id).where(inbox.c.version_id == version_id)
    connection.execute(
        insert(seen_ids).from_select(["version_id", "report_id"], ids.order_by(inbox.c.report_id))
    )


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
    return _rows(data or b"", record_size)


def _inbox_count(connection: Connection, version_id: int) -> int:
    statement = select(func.count()).select_from(inbox).where(inbox.c.version_id == version_id)
    return int(connection.execute(statement).scalar_one())


def _sealed_count(connection: Connection, version_id: int) -> int:
    statement = select(func.coalesce(func.sum(segments.c.reports), 0)).where(
        segments.c.version_id == version_id
    )
    return int(connection.execute(statement).scalar_one())
