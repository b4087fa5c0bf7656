"""The inbox and the ids of sealed reports: one transaction for a group of uploads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, func, select

from hushpoll_server.errors import Refused
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox, respondent_tokens
from hushpoll_server.store.tables import closing
from hushpoll_server.store.tables.closing import Cutoff

# Bound parameters of one statement; both databases take more.
IDS_PER_STATEMENT = 500

Key = tuple[int, bytes]


class Outcome(StrEnum):
    """What became of one report."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "report-conflict"
    UNAUTHORIZED = "unauthorized"
    CLOSED = "survey-closed"


class Arrival(NamedTuple):
    """One well-formed report on its way into the store.

    Attributes
    ----------
    version_id : int
        Survey version it belongs to.
    report_id : bytes
        Its 16-byte id.
    record : bytes
        The record, of the version's size.
    survey_id : int or None
        Survey whose respondent tokens it must spend one of; None for an open survey.
    token : bytes or None
        SHA-256 of the token that came with it.
    """

    version_id: int
    report_id: bytes
    record: bytes
    survey_id: int | None = None
    token: bytes | None = None

    def __repr__(self) -> str:
        return f"<report with a record of {len(self.record)} bytes, not shown>"

    @property
    def key(self) -> Key:
        """What must be unique."""
        return self.version_id, self.report_id


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Well-formed reports of one open survey's version, as arrays.

    Parameters
    ----------
    version_id : int
        Survey version they belong to.
    ids : ndarray of uint8, shape (n, 16)
        Their ids.
    records : ndarray of uint8, shape (n, L)
        Their records.
    """

    version_id: int
    ids: npt.NDArray[np.uint8]
    records: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    def arrivals(self) -> list[Arrival]:
        """Return the reports one by one."""
        return [
            Arrival(self.version_id, report_id, record)
            for report_id, record in zip(_rows(self.ids), _rows(self.records), strict=True)
        ]

    def in_key_order(self) -> Batch:
        """Return the same reports in the order of their ids.

        Neighbours on a page then, and nothing of the order in the batch is kept.
        """
        high, low = np.ascontiguousarray(self.ids).view(">u8").T
        order = np.lexsort((low, high))
        return Batch(self.version_id, self.ids[order], self.records[order])


Upload = Sequence[Arrival] | Batch
ALL_ACCEPTED: Final = (Outcome.ACCEPTED,)


class ReportStore:
    """Statements on reports that are not yet sealed.

    Parameters
    ----------
    database : Database
        Where they are.
    cutoff : callable
        Tells which versions take reports at the moment.
    """

    def __init__(self, database: Database, cutoff: Callable[[], Cutoff]) -> None:
        self._database = database
        self._cutoff = cutoff

    def take(self, uploads: Sequence[Upload]) -> Sequence[Sequence[Outcome] | None]:
        """Store the new ones among the reports of `uploads` in one durable transaction.

        An id that is known decides before any token is looked at, so that a retry is never
        refused; a token is spent in the same transaction as its report is stored, and is gone.
        Whether a version takes reports is asked in that transaction too, and settled by it: once a
        version was closed, in whatever process, none of it is stored.

        Returns
        -------
        sequence of sequences of Outcome
            For each upload, in their order, one for each report, in their order. None for an
            upload of ids that were known, if the database went away before they could be compared.
        """
        at_once = self._take_at_once(uploads)
        if at_once is not None:
            return at_once
        single = [upload for upload in uploads if not isinstance(upload, Batch)]
        arrivals = [arrival for upload in single for arrival in upload]
        versions = {arrival.version_id for arrival in arrivals}
        versions.update(upload.version_id for upload in uploads if isinstance(upload, Batch))
        with self._database.writing() as connection:
            for version_id in sorted(versions):
                self._database.share_version(connection, version_id)
            taking = closing.taking(connection, versions, self._cutoff())
            found = iter(self._take_each(connection, arrivals, taking))
            return [
                self._take_batch(connection, upload, taking)
                if isinstance(upload, Batch)
                else [next(found) for _ in upload]
                for upload in uploads
            ]

    def look_up(self, upload: Upload) -> list[Outcome | None]:
        """Compare reports with what is stored, changing nothing; None for an unknown id."""
        arrivals = upload.arrivals() if isinstance(upload, Batch) else upload
        with self._database.reading() as connection:
            self._database.backend.hold_inbox(connection)
            known = self._known(connection, arrivals)
        return [
            _compare(known[arrival.key], arrival.record) if arrival.key in known else None
            for arrival in arrivals
        ]

    def waiting(self) -> dict[int, int]:
        """Return the number of reports in the inbox, by version; versions without any left out."""
        with self._database.reading() as connection:
            statement = select(inbox.c.version_id, func.count()).group_by(inbox.c.version_id)
            return {
                int(version_id): int(count) for version_id, count in connection.execute(statement)
            }

    def over(self) -> set[int]:
        """Return the versions that take no report any more and were not sealed as such yet."""
        with self._database.reading() as connection:
            return closing.over(connection, self._cutoff())

    def _take_at_once(self, uploads: Sequence[Upload]) -> Sequence[Sequence[Outcome] | None] | None:
        """Do as ``take`` what is nearly always asked for, if the database has a fast way for it.

        That is: reports of one version, and no tokens.
        """
        single = [upload for upload in uploads if not isinstance(upload, Batch)]
        if len(single) < len(uploads):
            return None
        arrivals = [arrival for upload in single for arrival in upload]
        versions = {arrival.version_id for arrival in arrivals}
        if len(versions) != 1 or any(arrival.survey_id is not None for arrival in arrivals):
            return None
        first: dict[Key, int] = {}
        for place, arrival in enumerate(arrivals):
            first.setdefault(arrival.key, place)
        stored = self._database.insert_at_once(
            _in_key_order(map(arrivals.__getitem__, first.values())), self._cutoff()
        )
        if stored is None:
            return None
        if len(stored) == len(arrivals):
            return [ALL_ACCEPTED * len(upload) for upload in single]
        outcomes: list[Outcome | None] = [None] * len(arrivals)
        for key in stored:
            outcomes[first[key]] = Outcome.ACCEPTED
        unclear = [place for place, outcome in enumerate(outcomes) if outcome is None]
        # If they cannot be compared, the others are stored nevertheless: to call the whole group
        # failed would have them tried again, and counted as repeats.
        with suppress(Refused):
            known = self.look_up([arrivals[place] for place in unclear])
            for place, outcome in zip(unclear, known, strict=True):
                outcomes[place] = outcome
        rest = iter(outcomes)
        return [_all_or_none([next(rest) for _ in upload]) for upload in single]

    def _take_batch(
        self, connection: Connection, batch: Batch, taking: Set[int]
    ) -> Sequence[Outcome]:
        if not len(batch):
            return []
        ordered = batch.in_key_order()
        # Nearly always all are new, which the database finds out by itself.
        if batch.version_id in taking and self._database.backend.insert_batch(
            connection, batch.version_id, ordered.ids, ordered.records
        ):
            return ALL_ACCEPTED * len(batch)
        return self._take_each(connection, batch.arrivals(), taking)

    def _take_each(
        self, connection: Connection, arrivals: Sequence[Arrival], taking: Set[int]
    ) -> list[Outcome]:
        outcomes = [Outcome.ACCEPTED] * len(arrivals)
        remaining: Iterable[int] = range(len(arrivals))
        while remaining:
            # Tokens first: whoever waits here for a request of another process that spends the
            # same token then sees the report that it was spent for.
            tokens = _lock_tokens(connection, [arrivals[place] for place in remaining])
            new: dict[Key, int] = {}
            unclear = []
            for place in remaining:
                arrival = arrivals[place]
                closed = arrival.version_id not in taking
                if closed or arrival.key in new or not _claims(tokens, arrival):
                    unclear.append(place)
                else:
                    new[arrival.key] = place
            stored = self._store(connection, [arrivals[place] for place in new.values()])
            _spend(connection, [arrivals[new[key]] for key in stored])
            known_before = [place for key, place in new.items() if key not in stored]
            unclear += known_before
            known = self._known(connection, [arrivals[place] for place in unclear])
            refused = []
            for place in unclear:
                arrival = arrivals[place]
                if arrival.key in known:
                    outcomes[place] = _compare(known[arrival.key], arrival.record)
                elif arrival.version_id not in taking:
                    outcomes[place] = Outcome.CLOSED
                else:
                    outcomes[place] = Outcome.UNAUTHORIZED
                    refused.append(place)
            # What was here before needed no token, so that one is left for somebody else.
            remaining = refused if known_before else ()
        return outcomes

    def _store(self, connection: Connection, arrivals: Iterable[Arrival]) -> set[Key]:
        rows = _in_key_order(arrivals)
        return self._database.backend.insert_new(connection, rows) if rows else set()

    def _known(
        self, connection: Connection, arrivals: Iterable[Arrival]
    ) -> dict[Key, bytes | None]:
        """Return the records of known ids; None where only the id is kept, of a sealed report."""
        by_version: dict[int, list[bytes]] = {}
        for arrival in arrivals:
            by_version.setdefault(arrival.version_id, []).append(arrival.report_id)
        known: dict[Key, bytes | None] = {}
        for version_id, ids in by_version.items():
            for some in _slices(ids):
                for report_id in self._database.backend.sealed(connection, version_id, some):
                    known[version_id, report_id] = None
                waiting = self._database.backend.waiting(connection, version_id, some)
                for report_id, record in waiting.items():
                    known[version_id, report_id] = record
        return known


def _all_or_none(outcomes: Sequence[Outcome | None]) -> Sequence[Outcome] | None:
    known = [outcome for outcome in outcomes if outcome is not None]
    return known if len(known) == len(outcomes) else None


def _in_key_order(arrivals: Iterable[Arrival]) -> list[tuple[int, bytes, bytes]]:
    # Neighbours on a page, and nothing of the order of arrival within a group.
    return sorted((*arrival.key, arrival.record) for arrival in arrivals)


def _rows(array: npt.NDArray[np.uint8]) -> list[bytes]:
    row = np.dtype((np.void, array.shape[1]))
    return cast("list[bytes]", np.ascontiguousarray(array).view(row).ravel().tolist())


def _slices(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(values), IDS_PER_STATEMENT):
        yield values[start : start + IDS_PER_STATEMENT]


def _compare(stored: bytes | None, record: bytes) -> Outcome:
    return Outcome.DUPLICATE if stored is None or stored == record else Outcome.CONFLICT


def _lock_tokens(connection: Connection, arrivals: Iterable[Arrival]) -> set[tuple[int, bytes]]:
    """Return the unspent ones among the tokens, by survey and hash, held until the commit."""
    wanted = sorted({arrival.token for arrival in arrivals if arrival.token is not None})
    found: set[tuple[int, bytes]] = set()
    for some in _slices(wanted):
        statement = (
            select(respondent_tokens.c.survey_id, respondent_tokens.c.hash)
            .where(respondent_tokens.c.hash.in_(some))
            .order_by(respondent_tokens.c.hash)
            .with_for_update()  # SQLite needs none, and is given none
        )
        found.update((row.survey_id, row.hash) for row in connection.execute(statement))
    return found


def _claims(tokens: set[tuple[int, bytes]], arrival: Arrival) -> bool:
    """Take the arrival's token out of `tokens`; return whether it may be stored."""
    if arrival.survey_id is None:
        return True
    if arrival.token is None or (arrival.survey_id, arrival.token) not in tokens:
        return False
    tokens.remove((arrival.survey_id, arrival.token))
    return True


def _spend(connection: Connection, arrivals: Iterable[Arrival]) -> None:
    # Deleted, not marked: a spent token and an unknown one are refused alike, and what is gone
    # cannot be joined to anything.
    spent = sorted(arrival.token for arrival in arrivals if arrival.token is not None)
    for some in _slices(spent):
        connection.execute(delete(respondent_tokens).where(respondent_tokens.c.hash.in_(some)))
