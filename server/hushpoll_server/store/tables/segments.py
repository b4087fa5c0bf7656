"""Sealed segments: reports without id or order, as blobs of fixed-width rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import chain

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, func, literal, select

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import aggregates, inbox, segments
from hushpoll_server.store.schema import releases as releases_table
from hushpoll_server.store.tables import blobs, closing, counts, releases, sealed_ids
from hushpoll_server.store.tables.counts import Aggregate, Aggregator, Sealed

Rows = npt.NDArray[np.uint8]


class SegmentStore:
    """Statements that move reports from the inbox into segments, and read those.

    Parameters
    ----------
    database : Database
        Where they are.
    shuffle : callable
        Maps uint8[n, L] to the same rows in an order that nobody can predict.
    aggregator : callable
        Counts records of a version.
    now : callable
        Seconds since 1970, UTC.
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
        return self._database.backend.BULK_FACTOR

    def seal(self, version_id: int, record_size: int, *, minimum: int, last: bool = False) -> int:
        """Move the inbox of one version, shuffled, into segments and empty it, in one transaction.

        The same transaction adds the moved reports to the version's counts. They are shuffled
        together with what is in segments less than half full and not released: a version of at most
        ``blobs.SEGMENT_REPORTS / 2`` reports is in a single segment, shuffled anew by every seal.

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
            No more reports will come: move what there is, and shuffle all segments of the version
            together, so that nothing is left of which seal a report was in, and release them. From
            then on no process takes a report of it.

        Returns
        -------
        int
            Reports moved.
        """
        with self._database.writing(sealing=version_id) as connection:
            if last:
                closing.end(connection, version_id)
            moves = _waits(connection, version_id, 1 if last else max(1, minimum))
            held = counts.read(connection, version_id)
            if not moves and not (last and (held is None or not held.mixed)):
                return 0
            rows, fresh, moved = None, None, 0
            taken: list[Rows] = []
            if moves:
                known = 0 if held is None else held.aggregate.reports
                if not last:
                    taken = blobs.withdraw(connection, version_id, record_size, released=False)
                moved, fresh, rows = self._take_inbox(
                    connection, version_id, record_size, taken, known=known, last=last
                )
            else:
                none = np.empty((0, sealed_ids.ID_SIZE), np.uint8)
                self._seal_ids(connection, version_id, none, known=0, last=True)
            total = self._total(connection, version_id, record_size, held, fresh, taken)
            if total is None:
                return 0
            counts.write(connection, version_id, total)
            if last:
                blobs.mix(connection, version_id, record_size, rows)
                counts.mark_mixed(connection, version_id)
                releases.write(connection, version_id, at=self._now(), aggregate=total)
            elif rows is not None:
                blobs.seal(connection, version_id, rows, released=False)
            if rows is not None and not self._database.backend.EMPTIES_FIRST:
                self._database.backend.empty_inbox(connection, version_id)
        self._database.tidy()
        return moved

    def recount(self, version_id: int, record_size: int) -> tuple[Aggregate | None, Aggregate]:
        """Return the counts that are kept and those of the segments, of one state."""
        with self._database.reading() as connection:
            held = counts.read(connection, version_id)
            found = self._aggregator(version_id, blobs.blocks(connection, version_id, record_size))
        return None if held is None else held.aggregate, found

    def rebuild_counts(self, version_id: int, record_size: int) -> None:
        """Replace the counts of a version whose records are there by those of its segments."""
        with self._database.writing(sealing=version_id) as connection:
            blocks = blobs.blocks(connection, version_id, record_size)
            counts.write(connection, version_id, self._aggregator(version_id, blocks))

    def delete_records(self, version_id: int, record_size: int, at: int) -> int:
        """Delete the segments that a version has, each time, and keep their counts and their ids.

        Parameters
        ----------
        version_id, record_size
            The version, which takes no more reports and whose inbox is empty.
        at : int
            Now, in seconds since 1970, UTC.

        Returns
        -------
        int
            Records deleted; 0 if there were none.
        """
        with self._database.writing(sealing=version_id) as connection:
            held = counts.read(connection, version_id)
            gone = blobs.count(connection, version_id)
            if held is None:
                blocks = blobs.blocks(connection, version_id, record_size)
                counts.write(connection, version_id, self._aggregator(version_id, blocks))
            connection.execute(delete(segments).where(segments.c.version_id == version_id))
            if gone or held is None or held.records_deleted_at is None:
                counts.mark_deleted(connection, version_id, at)
        # Whoever asks again may do so because the process that was asked before was killed here.
        self._database.erase(segments, aggregates, releases_table)
        return gone

    def tidy(self) -> None:
        """Empty the database's log, unless a reader needs it; see ``Database.tidy``."""
        self._database.tidy()

    def count(self, version_id: int) -> int:
        """Return the number of reports of one version, sealed or not."""
        return sum(self.counts(version_id))

    def counts(self, version_id: int) -> tuple[int, int]:
        """Return the numbers of reports in the inbox and sealed, those of deleted records too."""
        with self._database.reading() as connection:
            self._database.backend.hold_inbox(connection)
            kept = select(aggregates.c.reports).where(aggregates.c.version_id == version_id)
            sealed = connection.execute(kept).scalar_one_or_none()
            if sealed is None:
                sealed = blobs.count(connection, version_id)
            return _inbox_count(connection, version_id), int(sealed)

    def unmixed(self) -> set[int]:
        """Return the versions with segments that were not shuffled together since they ended."""
        with self._database.reading() as connection:
            mixed = select(aggregates.c.version_id).where(aggregates.c.mixed)
            statement = select(segments.c.version_id).where(segments.c.version_id.not_in(mixed))
            return set(connection.execute(statement.distinct()).scalars())

    def blocks(
        self, version_id: int, record_size: int, *, released_only: bool = False
    ) -> Iterator[Rows]:
        """Yield every sealed record of one version, or of its last release, in one state.

        Small segments are joined, so that whoever works on arrays gets large ones.

        Yields
        ------
        ndarray of uint8, shape (m, record_size)
            The order has no meaning.
        """
        with self._database.reading() as connection:
            yield from blobs.blocks(
                connection, version_id, record_size, released_only=released_only
            )

    def _take_inbox(
        self,
        connection: Connection,
        version_id: int,
        record_size: int,
        taken: list[Rows],
        *,
        known: int,
        last: bool,
    ) -> tuple[int, Aggregate, Rows]:
        """Seal the ids of the reports that wait.

        Returns
        -------
        tuple of int, Aggregate and ndarray of uint8
            The number of these reports, their counts, and what is to be sealed: their records,
            shuffled together with those `taken` from segments unless all will be.
        """
        backend = self._database.backend
        ids, rows = backend.gathered(connection, version_id, record_size)

        def work() -> tuple[Aggregate, Rows]:
            fresh = self._aggregator(version_id, [rows])
            return fresh, rows if last else self._shuffle(np.concatenate([rows, *taken]))

        # This needs a processor, and moving the ids mostly the database.
        with ThreadPoolExecutor(1, thread_name_prefix="hushpoll-count") as beside:
            working = beside.submit(work)
            if backend.EMPTIES_FIRST:
                backend.empty_inbox(connection, version_id)
            # The ids only now, all at once and in their own order: a page keeps its rows where they
            # were inserted, and ids inserted one by one would tell in which order they came.
            self._seal_ids(connection, version_id, ids, known=known, last=last)
            return len(rows), *working.result()

    def _seal_ids(
        self, connection: Connection, version_id: int, ids: Rows, *, known: int, last: bool
    ) -> None:
        backend = self._database.backend
        sealed_ids.add(connection, version_id, ids, known=known, last=last, backend=backend)

    def _total(
        self,
        connection: Connection,
        version_id: int,
        record_size: int,
        held: Sealed | None,
        fresh: Aggregate | None,
        taken: list[Rows],
    ) -> Aggregate | None:
        """Return the counts of what is sealed with `fresh` added; None if there is nothing.

        What was `taken` from segments was sealed before.
        """
        if held is not None:
            total = held.aggregate if fresh is None else held.aggregate.plus(fresh)
            if total is not None:
                return total
        elif not taken and not blobs.count(connection, version_id):
            return fresh
        # Segments older than the counts, or counts of a release that kept others.
        sealed = chain(taken, blobs.blocks(connection, version_id, record_size))
        total = self._aggregator(version_id, sealed)
        return total if fresh is None else total.plus(fresh)


def _waits(connection: Connection, version_id: int, least: int) -> bool:
    """Return whether at least so many reports of a version wait, without counting all."""
    # In the order of the index: PostgreSQL would otherwise note all that wait before it counts.
    waiting = select(literal(1)).where(inbox.c.version_id == version_id)
    some = waiting.order_by(inbox.c.report_id).limit(least).subquery()
    return int(connection.execute(select(func.count()).select_from(some)).scalar_one()) >= least


def _inbox_count(connection: Connection, version_id: int) -> int:
    statement = select(func.count()).select_from(inbox).where(inbox.c.version_id == version_id)
    return int(connection.execute(statement).scalar_one())
