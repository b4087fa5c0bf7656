"""Segments: blobs of fixed-width records without id or order; and how rows are shuffled.

Rows that do not fit into memory are shuffled through temporary files. Each row gets a random key.
Its first bits choose a bucket, a file; each bucket is read back and put into the order of fresh
keys. That is sorting by one long key, so every order of all rows has the same probability.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import ExitStack
from tempfile import TemporaryFile
from typing import IO

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, func, insert, select, update

from hushpoll_server.store.schema import segments

Rows = npt.NDArray[np.uint8]

# Bounds of one segment. Reading has no use for larger ones, and each smaller one costs a statement.
SEGMENT_REPORTS = 65_536
SEGMENT_BYTES = 16 * 2**20
# What a reader is given at a time, at least.
BLOCK_BYTES = 16 * 2**20
# Reading a bucket back takes about three times as much memory for a moment.
BUCKET_BYTES = 32 * 2**20
MOST_BUCKETS = 512
ROWS_PER_BLOCK = 65_536


def permutation(n: int) -> npt.NDArray[np.intp]:
    """Return a uniformly random permutation of 0..n-1 from the operating system's generator.

    Sorting by independent keys gives every order the same probability as long as no two keys are
    equal. Among n random 64-bit keys two are equal with probability below n^2 / 2^65; then the keys
    are drawn again.
    """
    while True:
        keys = np.frombuffer(os.urandom(8 * n), dtype=np.uint64)
        order = np.argsort(keys)
        ordered = keys[order]
        if not np.any(ordered[1:] == ordered[:-1]):
            return order


def shuffled(rows: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the rows of uint8[n, L] in a random order, as a new array."""
    return rows[permutation(len(rows))]


class ShuffledRows:
    """Rows of L bytes in a uniformly random order; iterating yields them once, in blocks.

    All rows are read at once. Where they are more than one bucket, they wait in temporary files
    without a name (``TMPDIR``), which the system removes with the process. `rows` is about how
    many.
    """

    def __init__(self, blocks: Iterable[Rows], *, rows: int, record_size: int) -> None:
        self._record_size = record_size
        self._stack = ExitStack()
        self._held: list[Rows] = []
        self._files: list[IO[bytes]] = []
        self.rows = 0
        buckets = -(-rows * record_size // BUCKET_BYTES)
        try:
            # A power of two, so that bits of the key choose without a bias.
            if buckets > 1:
                self._open(min(MOST_BUCKETS, 1 << (buckets - 1).bit_length()))
            for block in blocks:
                self.rows += len(block)
                self._add(block)
        except BaseException:
            self.close()
            raise

    def __iter__(self) -> Iterator[Rows]:
        try:
            for bucket in self._buckets():
                rows = shuffled(bucket)
                for start in range(0, len(rows), ROWS_PER_BLOCK):
                    yield rows[start : start + ROWS_PER_BLOCK]
        finally:
            self.close()

    def close(self) -> None:
        """Release the rows and their files."""
        self._stack.close()
        self._held.clear()

    def _open(self, buckets: int) -> None:
        self._files = [
            self._stack.enter_context(TemporaryFile())  # noqa: SIM115  # the stack closes it
            for _ in range(buckets)
        ]

    def _add(self, block: Rows) -> None:
        if not self._files:
            self._held.append(block)
            return
        bucket = np.frombuffer(os.urandom(2 * len(block)), np.uint16) % len(self._files)
        # Rows of a bucket stand next to each other, so that a block is written to each file once.
        order = np.argsort(bucket, kind="stable")
        ends = np.searchsorted(bucket[order], np.arange(len(self._files) + 1))
        sorted_rows = block[order]
        for file, start, end in zip(self._files, ends[:-1], ends[1:], strict=True):
            file.write(sorted_rows[start:end].tobytes())

    def _buckets(self) -> Iterator[Rows]:
        if not self._files and self._held:
            rows = np.concatenate(self._held)
            self._held.clear()
            yield rows
        for file in self._files:
            file.seek(0)
            data = file.read()
            file.close()
            yield np.frombuffer(data, np.uint8).reshape(-1, self._record_size)


def _rows(data: bytes, record_size: int) -> Rows:
    return np.frombuffer(data, dtype=np.uint8).reshape(-1, record_size)


def _capacity(record_size: int) -> int:
    return max(1, min(SEGMENT_REPORTS, SEGMENT_BYTES // max(1, record_size)))


def insert_rows(connection: Connection, version_id: int, rows: Rows, *, released: bool) -> None:
    """Insert rows, which are in a random order, as segments of a version."""
    # The pieces have one size, so that none is less than half full where there are several.
    pieces = np.array_split(rows, -(-len(rows) // _capacity(rows.shape[1])))
    values: list[dict[str, object]] = [
        {
            "version_id": version_id,
            "reports": len(piece),
            "data": piece.tobytes(),
            "released": released,
        }
        for piece in pieces
    ]
    connection.execute(insert(segments), values)


def remove_unfilled(
    connection: Connection, version_id: int, record_size: int, *, released: bool, least: int = 1
) -> list[Rows]:
    """Delete segments less than half full, as many as fill one segment, and return their rows.

    The newest are deleted first: only segments in the last release, or only others. None is deleted
    if they are fewer than `least`.
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
    removed = connection.execute(
        delete(segments).where(segments.c.id.in_(chosen)).returning(segments.c.data)
    ).scalars()
    return [_rows(data, record_size) for data in removed.all()]


def shuffle_all(
    connection: Connection, version_id: int, record_size: int, rows: Rows | None
) -> None:
    """Shuffle all segments of a version together with `rows`, and release them."""

    def all_rows() -> Iterator[Rows]:
        yield from blocks(connection, version_id, record_size)
        if rows is not None:
            yield rows

    number = connection.execute(
        select(func.count()).where(segments.c.version_id == version_id)
    ).scalar_one()
    if rows is None and number <= 1:
        release(connection, version_id)  # the last seal has shuffled all of it
        return
    size = count(connection, version_id) + (0 if rows is None else len(rows))
    shuffled_rows = ShuffledRows(all_rows(), rows=size, record_size=record_size)
    connection.execute(delete(segments).where(segments.c.version_id == version_id))
    for group in _regrouped(shuffled_rows, _capacity(record_size)):
        insert_rows(connection, version_id, group, released=True)


def release(connection: Connection, version_id: int) -> None:
    """Mark all segments of a version as being in the last release."""
    connection.execute(
        update(segments)
        .where(segments.c.version_id == version_id, ~segments.c.released)
        .values(released=True)
    )


def _regrouped(blocks: Iterable[Rows], least: int) -> Iterator[Rows]:
    """Join blocks, in their order, to blocks of at least `least` rows; the last has the rest."""
    held: Rows | None = None
    ready: Rows | None = None
    for block in blocks:
        held = block if held is None else np.concatenate([held, block])
        if len(held) >= least:
            if ready is not None:
                yield ready
            ready, held = held, None
    last = [block for block in (ready, held) if block is not None]
    if last:
        yield np.concatenate(last)


def blocks(
    connection: Connection, version_id: int, record_size: int, *, released_only: bool = False
) -> Iterator[Rows]:
    """Yield the rows of a version's segments, or of its last release, as uint8[m, L].

    Their order has no meaning. Small segments are joined.
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
