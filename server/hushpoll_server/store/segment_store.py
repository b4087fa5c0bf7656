"""Sealing: one transaction moves a version's inbox, shuffled, into segments and lists of ids.

The ids of sealed reports are sorted and stored in chunks, so that sealing writes one row for many
of them. A version has two sorted lists of chunks. A seal merges its ids into the young list, which
it writes anew. It merges the young list into the old one when that costs less than to carry it on,
and when the survey is over. A chunk holds the ids from its ``first`` up to the ``first`` of the
list's next chunk, and a list begins at the empty string: one look into the table's index finds the
only chunk of a list that an id can be in. The place of an id in a list follows from the ids alone,
not from when the id was stored.

Beside its ids a chunk holds their tags, the last two bytes of each. A chunk with another tag is
left after reading an eighth of its size, so chunks can be large; larger chunks take less time to
write. The database sets how many ids a chunk holds at most.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain
from typing import Final

import numpy as np
import numpy.typing as npt
from sqlalchemy import ColumnElement, Connection, delete, func, literal, not_, select

from hushpoll_server.store import catalogue, counts, segments
from hushpoll_server.store.backend import Inbox
from hushpoll_server.store.counts import Aggregate, Aggregator, Sealed
from hushpoll_server.store.database import Database
from hushpoll_server.store.release_days import note_sealed
from hushpoll_server.store.schema import (
    ID_SIZE,
    OLD,
    TAG_SIZE,
    YOUNG,
    inbox,
    sealed_ids,
    spent_tokens,
)
from hushpoll_server.store.schema import aggregates as aggregates_table
from hushpoll_server.store.schema import releases as releases_table
from hushpoll_server.store.schema import segments as segments_table
from hushpoll_server.store.segments import Rows
from hushpoll_server.store.withdrawals import holds_record

# Chunks that are rewritten at a time: a million ids at most.
CHUNKS_AT_ONCE = 1 << 12

Keys = npt.NDArray[np.bytes_]


class SegmentStore:
    """Statements that seal reports, and read what is sealed.

    `shuffle` puts the rows of uint8[n, L] in a random order, `aggregator` counts records of a
    version, and `now` is in seconds since 1970, UTC.
    """

    def __init__(
        self,
        database: Database,
        shuffle: Callable[[Rows], Rows],
        aggregator: Aggregator,
        now: Callable[[], int],
    ) -> None:
        self._database = database
        self._now = now
        self._shuffle = shuffle
        self._aggregator = aggregator

    @property
    def bulk_factor(self) -> int:
        """At how many times ``seal_at`` to seal while reports arrive in bulk."""
        return self._database.inbox.BULK_FACTOR

    def seal(self, version_id: int, record_size: int, *, minimum: int, last: bool = False) -> int:
        """Move the inbox of one version, shuffled, into segments and empty it, in one transaction.

        The same transaction adds the moved reports to the version's aggregate. They are shuffled
        together with segments that are less than half full and not released: a version with at most
        ``segments.SEGMENT_REPORTS / 2`` reports has one segment, shuffled anew by every seal. With
        fewer reports than `minimum` nothing is moved: few that are sealed together could be told
        apart by when they were sealed.

        With `last`, no more reports will come: all are moved, all segments shuffled together, so
        that nothing tells which seal a report was in, and released; from then on no process stores
        a report of the version. Returned is how many were moved.
        """
        with self._database.writing(sealing=version_id) as connection:
            if last:
                catalogue.end(connection, version_id)
                # Without new reports there is nothing left to refuse for a token.
                spent = delete(spent_tokens).where(spent_tokens.c.version_id == version_id)
                if connection.execute(spent).rowcount:
                    self._database.erase_soon(spent_tokens)
            moves = _waits(connection, version_id, 1 if last else max(1, minimum))
            # Ids of withdrawn reports are sealed with those of others, or at the end by themselves.
            withdrawn = _withdrawn(connection, version_id) if moves or last else _NO_IDS
            before = counts.read_sealed(connection, version_id)
            if not moves and not (last and (before is None or not before.shuffled)):
                return 0
            rows, fresh, moved = None, None, 0
            removed: list[Rows] = []
            if moves:
                known = 0 if before is None else before.aggregate.reports
                if not last:
                    removed = segments.remove_unfilled(
                        connection, version_id, record_size, released=False
                    )
                moved, fresh, rows = self._move_inbox(
                    connection, version_id, record_size, removed, withdrawn, known=known, last=last
                )
            else:
                add_ids(connection, self._database.inbox, version_id, withdrawn, known=0, last=True)
                self._database.inbox.empty_inbox(connection, version_id)
            total = self._total(connection, version_id, record_size, before, fresh, removed)
            if total is None:
                return 0
            counts.write_sealed(connection, version_id, **total._asdict())
            if last:
                segments.shuffle_all(connection, version_id, record_size, rows)
                counts.write_sealed(connection, version_id, shuffled=True)
                counts.write_release(connection, version_id, at=self._now(), aggregate=total)
            elif rows is not None:
                segments.insert_rows(connection, version_id, rows, released=False)
                note_sealed(connection, version_id, at=self._now(), reports=total.reports)
            if rows is not None and not self._database.inbox.EMPTIES_FIRST:
                self._database.inbox.empty_inbox(connection, version_id)
        self._database.vacuum()
        return moved

    def recount(self, version_id: int, record_size: int) -> tuple[Aggregate | None, Aggregate]:
        """Return the stored counts, and the counts of the segments, of one state."""
        with self._database.reading() as connection:
            sealed = counts.read_sealed(connection, version_id)
            blocks = segments.blocks(connection, version_id, record_size)
            counted = self._aggregator(version_id, blocks)
        return None if sealed is None else sealed.aggregate, counted

    def rebuild_counts(self, version_id: int, record_size: int) -> None:
        """Replace the counts of a version whose records exist by the counts of its segments."""
        with self._database.writing(sealing=version_id) as connection:
            self._count_segments(connection, version_id, record_size)

    def delete_records(self, version_id: int, record_size: int, at: int) -> int:
        """Delete all segments of a version that takes no more reports; return how many records.

        Its aggregate and the ids of its reports stay. Its inbox is empty.
        """
        with self._database.writing(sealing=version_id) as connection:
            sealed = counts.read_sealed(connection, version_id)
            deleted = segments.count(connection, version_id)
            if sealed is None:
                self._count_segments(connection, version_id, record_size)
            connection.execute(
                delete(segments_table).where(segments_table.c.version_id == version_id)
            )
            if deleted or sealed is None or sealed.records_deleted_at is None:
                counts.write_sealed(connection, version_id, records_deleted_at=at)
        # Also where nothing was deleted now: the process that deleted may have been killed here.
        self._database.erase(segments_table, aggregates_table, releases_table)
        return deleted

    def vacuum(self) -> None:
        """Remove the traces of deleted rows; see ``Database.vacuum``."""
        self._database.vacuum()

    def sealed(self, version_id: int) -> Sealed | None:
        """Return the counts of a version's sealed reports; None if nothing was counted yet."""
        with self._database.reading() as connection:
            return counts.read_sealed(connection, version_id)

    def counts(self, version_id: int) -> tuple[int, int]:
        """Return the numbers of reports in the inbox and sealed, those of deleted records too."""
        with self._database.reading() as connection:
            self._database.session.hold_inbox(connection)
            sealed = counts.read_sealed(connection, version_id)
            number = (
                segments.count(connection, version_id)
                if sealed is None
                else sealed.aggregate.reports
            )
            waiting = select(func.count()).where(
                inbox.c.version_id == version_id, holds_record(version_id)
            )
            return int(connection.execute(waiting).scalar_one()), number

    def unshuffled(self) -> set[int]:
        """Return the versions with segments that were not shuffled together since they ended."""
        shuffled = select(aggregates_table.c.version_id).where(aggregates_table.c.shuffled)
        versions = select(segments_table.c.version_id).where(
            segments_table.c.version_id.not_in(shuffled)
        )
        return set(self._database.read(versions.distinct()).scalars())

    def blocks(
        self, version_id: int, record_size: int, *, released_only: bool = False
    ) -> Iterator[Rows]:
        """Yield every sealed record of one version, or of its last release, in one state.

        They are uint8[m, L] in an order without meaning. Small segments are joined, so that a
        caller that works on arrays gets large ones.
        """
        with self._database.reading() as connection:
            yield from segments.blocks(
                connection, version_id, record_size, released_only=released_only
            )

    def _count_segments(self, connection: Connection, version_id: int, record_size: int) -> None:
        blocks = segments.blocks(connection, version_id, record_size)
        counted = self._aggregator(version_id, blocks)
        counts.write_sealed(connection, version_id, **counted._asdict())

    def _move_inbox(
        self,
        connection: Connection,
        version_id: int,
        record_size: int,
        removed: list[Rows],
        withdrawn: Rows,
        *,
        known: int,
        last: bool,
    ) -> tuple[int, Aggregate, Rows]:
        """Seal the ids of the reports that wait, and those `withdrawn`.

        Returned are their number, their counts, and the rows to insert, uint8[n, L]: their records,
        shuffled together with those `removed` from segments unless all will be shuffled.
        """
        statements = self._database.inbox
        joined_ids, joined = statements.read_inbox(connection, version_id, record_size)
        waiting = len(joined_ids) // ID_SIZE
        if (ID_SIZE * waiting, record_size * waiting) != (len(joined_ids), len(joined)):
            raise RuntimeError(
                f"the inbox gave {len(joined_ids)} bytes of ids and {len(joined)} of records, "
                f"which are no {waiting} reports with {record_size} bytes each"
            )
        ids = np.frombuffer(joined_ids, np.uint8).reshape(waiting, ID_SIZE)
        rows = np.frombuffer(joined, np.uint8).reshape(waiting, record_size)

        def count_and_shuffle() -> tuple[Aggregate, Rows]:
            fresh = self._aggregator(version_id, [rows])
            return fresh, rows if last else self._shuffle(np.concatenate([rows, *removed]))

        # This needs a processor, while moving the ids mostly waits for the database.
        with ThreadPoolExecutor(1, thread_name_prefix="hushpoll-count") as executor:
            counting = executor.submit(count_and_shuffle)
            if statements.EMPTIES_FIRST:
                statements.empty_inbox(connection, version_id)
            # All ids are inserted together and in their own order. A page keeps its rows where they
            # were inserted, so ids inserted one by one would tell in which order they came.
            every = np.concatenate([ids, withdrawn])
            add_ids(connection, statements, version_id, every, known=known, last=last)
            return len(rows), *counting.result()

    def _total(
        self,
        connection: Connection,
        version_id: int,
        record_size: int,
        before: Sealed | None,
        fresh: Aggregate | None,
        removed: list[Rows],
    ) -> Aggregate | None:
        """Return the counts `before` with `fresh` added; None if there is nothing to count.

        The rows `removed` from segments were sealed before.
        """
        if before is not None:
            total = before.aggregate if fresh is None else before.aggregate.plus(fresh)
            if total is not None:
                return total
        elif not removed and not segments.count(connection, version_id):
            return fresh
        # There are segments without counts, or with counts of other attributes.
        sealed = chain(removed, segments.blocks(connection, version_id, record_size))
        total = self._aggregator(version_id, sealed)
        return total if fresh is None else total.plus(fresh)


def _waits(connection: Connection, version_id: int, least: int) -> bool:
    """Return whether at least so many reports of a version wait, without counting all."""
    # In the order of the index: otherwise PostgreSQL would note all that wait before it counts.
    waiting = select(literal(1)).where(inbox.c.version_id == version_id, holds_record(version_id))
    some = waiting.order_by(inbox.c.report_id).limit(least).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one()) >= least


_NO_IDS: Final = np.empty((0, ID_SIZE), np.uint8)


def _withdrawn(connection: Connection, version_id: int) -> Rows:
    """Return the ids in the inbox whose reports were withdrawn: uint8[n, 16]."""
    ids = select(inbox.c.report_id).where(
        inbox.c.version_id == version_id, not_(holds_record(version_id))
    )
    joined = b"".join(connection.execute(ids).scalars())
    return np.frombuffer(joined, np.uint8).reshape(-1, ID_SIZE)


def add_ids(
    connection: Connection, statements: Inbox, version_id: int, ids: Rows, *, known: int, last: bool
) -> None:
    """Add ids, uint8[n, 16], to the sealed ones of the version; refuse one that is there.

    They are in any order. The transaction holds the lock of the version alone. `known` is about how
    many it has. With `last` all ids are merged into one list, so that nothing tells when they came.
    """
    new = _ascending(np.ascontiguousarray(ids).view(f"S{ID_SIZE}").ravel())
    columns = select(sealed_ids.c.ids).where(*_of(version_id, YOUNG)).order_by("first")
    young = _keys(connection.execute(columns).scalars())
    # If the young list is carried on until it has m ids, m/2 of them in the mean are written with
    # every `len(new)` new ones. If it is merged then, the old ids are written with every m. Both
    # cost the same at m^2 = 2 len(new) old.
    old = max(0, known - len(young))
    if last or (len(young) + len(new)) ** 2 > 2 * len(new) * old:
        connection.execute(delete(sealed_ids).where(*_of(version_id, YOUNG)))
        merged = _ascending(np.concatenate([young, new]))
        _merge(connection, statements, version_id, OLD, merged)
    else:
        _merge(connection, statements, version_id, YOUNG, new)


def _merge(connection: Connection, statements: Inbox, version_id: int, age: int, new: Keys) -> None:
    """Merge ascending ids into a list, one range of it at a time."""
    if not len(new):
        return
    first: bytes | None = b""
    while first is not None:
        here = [*_of(version_id, age), sealed_ids.c.first >= first]
        columns = select(sealed_ids.c.first, sealed_ids.c.ids).where(*here).order_by("first")
        rows = list(connection.execute(columns.limit(CHUNKS_AT_ONCE + 1)))
        after, count = None, len(new)
        if len(rows) > CHUNKS_AT_ONCE:
            after = bytes(rows.pop().first)
            count = int(np.searchsorted(new, np.bytes_(after)))
            here.append(sealed_ids.c.first < after)
        if rows:
            connection.execute(delete(sealed_ids).where(*here))
        merged = _ascending(np.concatenate([_keys(row.ids for row in rows), new[:count]]))
        chunks = {
            "version": version_id,
            "age": age,
            "first": first,
            "ids": merged.tobytes(),
            "tags": merged.view(np.uint8).reshape(-1, ID_SIZE)[:, -TAG_SIZE:].tobytes(),
            "count": len(merged),
            "most": statements.CHUNK_IDS,
        }
        statements.insert_chunks(connection, chunks)
        first, new = after, new[count:]


def _of(version_id: int, age: int) -> list[ColumnElement[bool]]:
    return [sealed_ids.c.version_id == version_id, sealed_ids.c.age == age]


def _keys(chunks: Iterable[bytes]) -> Keys:
    # When such a string is read, numpy takes its trailing zeros off; it compares as if it did not.
    # Strings of one size are in the order of their bytes.
    return np.frombuffer(b"".join(chunks), f"S{ID_SIZE}")


def _ascending(keys: Keys) -> Keys:
    # Ids are random, so the first half of each nearly always decides, and numbers are compared
    # faster than bytes. The keys are mostly one or two ascending runs, which a stable sort merges.
    high = keys.view(">u8").reshape(-1, 2)[:, 0].astype(np.uint64)
    order = np.argsort(high, kind="stable")
    high = high[order]
    if not np.any(high[1:] == high[:-1]):
        return keys[order]
    ordered = np.sort(keys, kind="stable")
    if np.any(ordered[1:] == ordered[:-1]):
        raise RuntimeError("an id is sealed twice, so its report would be counted twice")
    return ordered
