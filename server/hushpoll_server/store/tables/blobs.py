"""Blobs of fixed-width rows, which segments are: written, taken back, mixed and read."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, func, insert, select, update

from hushpoll_server.store.mixing import Mixed
from hushpoll_server.store.schema import segments

Rows = npt.NDArray[np.uint8]

# Bounds of one blob. Reading has no use for larger ones and a smaller one costs a statement.
SEGMENT_REPORTS = 65_536
SEGMENT_BYTES = 16 * 2**20
# What a reader is given at a time, at least.
BLOCK_BYTES = 16 * 2**20


def _rows(data: bytes, record_size: int) -> Rows:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, record_size)


def _capacity(record_size: int) -> int:
    return max(1, min(SEGMENT_REPORTS, SEGMENT_BYTES // max(1, record_size)))


def seal(connection: Connection, version_id: int, rows: Rows, *, released: bool) -> None:
    """Write rows, which are in a random order, as segments of a version."""
    # Pieces of one size, so that none is less than half full where there is more than one.
    pieces = np.array_split(rows, -(-len(rows) // _capacity(rows.shape[1])))
    values: list[dict[str, Any]] = [
        {
            "version_id": version_id,
            "reports": len(piece),
            "data": piece.tobytes(),
            "released": released,
        }
        for piece in pieces
    ]
    connection.execute(insert(segments), values)


def withdraw(
    connection: Connection, version_id: int, record_size: int, *, released: bool, least: int = 1
) -> list[Rows]:
    """Take segments less than half full back, the newest first, as many as fill one.

    Only those that are in the last release, or only those that are not; none if they are fewer than
    `least`.
    """
    capacity = _capacity(record_size)
    unfilled = select(segments.c.id, segments.c.reports).where(
        segments.c.version_id == version_id,
        segments.c.released == released,
        segments.c.reports < capacity / 2,
    )
    chosen: list[int] = []
    for number, reports in connection.execute(unfilled.order_by(segments.c.id.desc())).all():
        capacity -= reports
        if capacity < 0:
            break
        chosen.append(number)
    if len(chosen) < least:
        return []
    taken = connection.execute(
        delete(segments).where(segments.c.id.in_(chosen)).returning(segments.c.data)
    ).scalars()
    return [_rows(data, record_size) for data in taken.all()]


def mix(connection: Connection, version_id: int, record_size: int, rows: Rows | None) -> None:
    """Shuffle all segments of a version, and `rows`, together, and release them."""

    def everything() -> Iterator[Rows]:
        yield from blocks(connection, version_id, record_size)
        if rows is not None:
            yield rows

    known = connection.execute(
        select(func.count(), func.max(segments.c.id)).where(segments.c.version_id == version_id)
    ).one()
    if rows is None and known[0] <= 1:
        release(connection, version_id)  # shuffled as a whole by the last seal
        return
    size = count(connection, version_id) + (0 if rows is None else len(rows))
    mixed = Mixed(everything(), rows=size, record_size=record_size)
    connection.execute(delete(segments).where(segments.c.version_id == version_id))
    for some in _regrouped(mixed, _capacity(record_size)):
        seal(connection, version_id, some, released=True)


def release(connection: Connection, version_id: int) -> None:
    """Say of all segments of a version that they are in the last release."""
    connection.execute(
        update(segments)
        .where(segments.c.version_id == version_id, ~segments.c.released)
        .values(released=True)
    )


def _regrouped(blocks: Iterable[Rows], least: int) -> Iterator[Rows]:
    """Join blocks, in their order, to such of at least `least` rows; the last takes the rest."""
    held: Rows | None = None
    ready: Rows | None = None
    for block in blocks:
        held = block if held is None else np.concatenate([held, block])
        if len(held) >= least:
            if ready is not None:
                yield ready
            ready, held = held, None
    last = [one for one in (ready, held) if one is not None]
    if last:
        yield np.concatenate(last)


def blocks(
    connection: Connection, version_id: int, record_size: int, *, released_only: bool = False
) -> Iterator[Rows]:
    """Yield the rows of a version's segments, or of its last release; small ones are joined.

    Yields
    ------
    ndarray of uint8, shape (m, record_size)
        The order has no meaning.
    """
    statement = select(segments.c.data).where(segments.c.version_id == version_id)
    if released_only:
        statement = statement.where(segments.c.released)
    options = {"yield_per": 1}
    parts: list[bytes] = []
    size = 0
    for data in connection.execute(
        statement.order_by(segments.c.id), execution_options=options
    ).scalars():
        parts.append(data)
        size += len(data)
        if size >= BLOCK_BYTES:
            yield _rows(b"".join(parts), record_size)
            parts, size = [], 0
    if parts:
        yield _rows(b"".join(parts), record_size)


def count(connection: Connection, version_id: int, *, released: bool | None = None) -> int:
    """Return the number of rows in a version's segments: in all, or in those released or not."""
    statement = select(func.coalesce(func.sum(segments.c.reports), 0)).where(
        segments.c.version_id == version_id
    )
    if released is not None:
        statement = statement.where(segments.c.released == released)
    return int(connection.execute(statement).scalar_one())
