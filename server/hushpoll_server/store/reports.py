"""Storing reports: one transaction for a group of uploads, and what became of each report."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set
from contextlib import suppress
from dataclasses import dataclass
from enum import StrEnum
from typing import Final, NamedTuple, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, delete, func, select, text

from hushpoll_server.errors import Refused
from hushpoll_server.store import catalogue
from hushpoll_server.store.backend import Cutoff, Key, Row
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox, respondent_tokens, spent_tokens
from hushpoll_server.store.withdrawals import is_record

# Bound parameters of one statement; both databases take more.
IDS_PER_STATEMENT = 500


class Outcome(StrEnum):
    """What became of one report."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "report-conflict"
    UNAUTHORIZED = "unauthorized"
    SPENT = "token-spent"
    CLOSED = "survey-closed"


class ReportRow(NamedTuple):
    """A well-formed report that is to be stored."""

    version_id: int
    report_id: bytes
    """16 bytes."""
    record: bytes
    survey_id: int | None = None
    """Survey of which it must spend a respondent token; None for an open or invited survey."""
    token: bytes | None = None
    """SHA-256 of the token; of an invited survey, of the input of a token that was verified."""
    invited: bool = False
    """Whether it must spend a token of an invited survey."""

    def __repr__(self) -> str:
        return f"<report with a record of {len(self.record)} bytes, not shown>"

    @property
    def key(self) -> Key:
        """Version and id, which are unique together."""
        return self.version_id, self.report_id


@dataclass(frozen=True, eq=False, repr=False)
class Batch:
    """Well-formed reports of one open survey's version, as arrays."""

    version_id: int
    ids: npt.NDArray[np.uint8]
    records: npt.NDArray[np.uint8]

    def __len__(self) -> int:
        return len(self.ids)

    def rows(self) -> list[ReportRow]:
        """Return the reports one by one."""
        return [
            ReportRow(self.version_id, report_id, record)
            for report_id, record in zip(_rows(self.ids), _rows(self.records), strict=True)
        ]

    def in_key_order(self) -> Batch:
        """Return the same reports in the order of their ids.

        Neighbours are then on the same page, and the order in the batch is not kept.
        """
        high, low = np.ascontiguousarray(self.ids).view(">u8").T
        order = np.lexsort((low, high))
        return Batch(self.version_id, self.ids[order], self.records[order])


Upload = Sequence[ReportRow] | Batch
ALL_ACCEPTED: Final = (Outcome.ACCEPTED,)


class ReportStore:
    """Statements on reports that are not yet sealed; `cutoff` returns that of this moment."""

    def __init__(self, database: Database, cutoff: Callable[[], Cutoff]) -> None:
        self._database = database
        self._cutoff = cutoff

    def insert(self, uploads: Sequence[Upload]) -> Sequence[Sequence[Outcome] | None]:
        """Store the new ones among the reports of `uploads` in one durable transaction.

        A known id decides before any token is looked at, so that a retry is never refused. The
        transaction that stores a report deletes its token. The same transaction finds out whether
        the version takes reports: once any process has closed a version, no report of it is stored.
        Returned are the outcomes of each upload's reports; None for an upload with known ids, if
        the database became unavailable before the records could be compared.
        """
        at_once = self._insert_at_once(uploads)
        if at_once is not None:
            return at_once
        single = [upload for upload in uploads if not isinstance(upload, Batch)]
        reports = [report for upload in single for report in upload]
        versions = {report.version_id for report in reports}
        versions.update(upload.version_id for upload in uploads if isinstance(upload, Batch))
        with self._database.writing() as connection:
            for version_id in sorted(versions):
                self._database.share_version(connection, version_id)
            accepting = catalogue.accepting(connection, versions, self._cutoff())
            outcomes = iter(self._insert_each(connection, reports, accepting))
            return [
                self._insert_batch(connection, upload, accepting)
                if isinstance(upload, Batch)
                else [next(outcomes) for _ in upload]
                for upload in uploads
            ]

    def look_up(self, upload: Upload) -> list[Outcome | None]:
        """Compare reports with what is stored, changing nothing; None for an unknown id."""
        reports = upload.rows() if isinstance(upload, Batch) else upload
        with self._database.reading() as connection:
            self._database.session.hold_inbox(connection)
            known = self._known(connection, reports)
        return [
            _compare(known[report.key], report.record) if report.key in known else None
            for report in reports
        ]

    def waiting(self) -> dict[int, int]:
        """Return the number of rows in the inbox, by version; versions without any left out.

        Ids of withdrawn reports are among them: they wait to be sealed, too.
        """
        statement = select(inbox.c.version_id, func.count()).group_by(inbox.c.version_id)
        return {int(version_id): int(count) for version_id, count in self._database.read(statement)}

    def over(self) -> set[int]:
        """Return the versions that take no report any more and are not marked as ended."""
        with self._database.reading() as connection:
            return catalogue.over(connection, self._cutoff())

    def _insert_at_once(
        self, uploads: Sequence[Upload]
    ) -> Sequence[Sequence[Outcome] | None] | None:
        """Do as ``insert`` in one exchange where that is possible, as it nearly always is.

        It is for single reports of one version without tokens.
        """
        single = [upload for upload in uploads if not isinstance(upload, Batch)]
        if len(single) < len(uploads):
            return None
        reports = [report for upload in single for report in upload]
        versions = {report.version_id for report in reports}
        if len(versions) != 1 or any(
            report.survey_id is not None or report.invited for report in reports
        ):
            return None
        first: dict[Key, int] = {}
        for place, report in enumerate(reports):
            first.setdefault(report.key, place)
        stored = self._database.insert_at_once(
            _in_key_order(map(reports.__getitem__, first.values())), self._cutoff()
        )
        if stored is None:
            return None
        if len(stored) == len(reports):
            return [ALL_ACCEPTED * len(upload) for upload in single]
        outcomes: list[Outcome | None] = [None] * len(reports)
        for key in stored:
            outcomes[first[key]] = Outcome.ACCEPTED
        unclear = [place for place, outcome in enumerate(outcomes) if outcome is None]
        # If these cannot be compared, the others are stored nevertheless. If the whole group
        # counted as failed, the others would be sent again and counted as duplicates.
        with suppress(Refused):
            known = self.look_up([reports[place] for place in unclear])
            for place, outcome in zip(unclear, known, strict=True):
                outcomes[place] = outcome
        rest = iter(outcomes)
        return [_all_or_none([next(rest) for _ in upload]) for upload in single]

    def _insert_batch(
        self, connection: Connection, batch: Batch, accepting: Set[int]
    ) -> Sequence[Outcome]:
        if not len(batch):
            return []
        ordered = batch.in_key_order()
        # Nearly always all reports are new, which the database finds out by itself.
        if batch.version_id in accepting and self._database.inbox.insert_batch(
            connection, batch.version_id, ordered.ids, ordered.records
        ):
            return ALL_ACCEPTED * len(batch)
        return self._insert_each(connection, batch.rows(), accepting)

    def _insert_each(
        self, connection: Connection, reports: Sequence[ReportRow], accepting: Set[int]
    ) -> list[Outcome]:
        outcomes = [Outcome.ACCEPTED] * len(reports)
        remaining: Iterable[int] = range(len(reports))
        while remaining:
            # Tokens first: a transaction that waits here for another process, which spends the same
            # token, then sees the report for which the token was spent.
            tokens = _lock_tokens(connection, [reports[place] for place in remaining])
            claimed = _claim_tokens(
                connection,
                [reports[place] for place in remaining if reports[place].version_id in accepting],
            )
            unspent = set(claimed)
            new: dict[Key, int] = {}
            unclear = []
            for place in remaining:
                report = reports[place]
                closed = report.version_id not in accepting
                if closed or report.key in new or not _claims(tokens, unspent, report):
                    unclear.append(place)
                else:
                    new[report.key] = place
            stored = self._store(connection, [reports[place] for place in new.values()])
            _spend(connection, [reports[new[key]] for key in stored])
            spent = {(key[0], reports[new[key]].token) for key in stored}
            _give_back(connection, claimed - spent)
            known_before = [place for key, place in new.items() if key not in stored]
            unclear += known_before
            known = self._known(connection, [reports[place] for place in unclear])
            refused = []
            for place in unclear:
                report = reports[place]
                if report.key in known:
                    outcomes[place] = _compare(known[report.key], report.record)
                elif report.version_id not in accepting:
                    outcomes[place] = Outcome.CLOSED
                else:
                    taken = report.invited and report.token is not None
                    outcomes[place] = Outcome.SPENT if taken else Outcome.UNAUTHORIZED
                    refused.append(place)
            # A report that was stored before needed no token; another report may use that token.
            remaining = refused if known_before else ()
        return outcomes

    def _store(self, connection: Connection, reports: Iterable[ReportRow]) -> set[Key]:
        rows = _in_key_order(reports)
        return self._database.inbox.insert_new(connection, rows) if rows else set()

    def _known(
        self, connection: Connection, reports: Iterable[ReportRow]
    ) -> dict[Key, bytes | None]:
        """Return the records of known ids; None for the id of a sealed report."""
        by_version: dict[int, list[bytes]] = {}
        for report in reports:
            by_version.setdefault(report.version_id, []).append(report.report_id)
        known: dict[Key, bytes | None] = {}
        for version_id, ids in by_version.items():
            for some in _slices(ids):
                for report_id in self._database.inbox.sealed(connection, version_id, some):
                    known[version_id, report_id] = None
                waiting = self._database.inbox.waiting(connection, version_id, some)
                for report_id, record in waiting.items():
                    known[version_id, report_id] = record
        return known


def _all_or_none(outcomes: Sequence[Outcome | None]) -> Sequence[Outcome] | None:
    known = [outcome for outcome in outcomes if outcome is not None]
    return known if len(known) == len(outcomes) else None


def _in_key_order(reports: Iterable[ReportRow]) -> list[Row]:
    # Neighbours are then on the same page, and the order of arrival in a group is not kept.
    return sorted((*report.key, report.record) for report in reports)


def _rows(array: npt.NDArray[np.uint8]) -> list[bytes]:
    row = np.dtype((np.void, array.shape[1]))
    return cast("list[bytes]", np.ascontiguousarray(array).view(row).ravel().tolist())


def _slices(values: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(values), IDS_PER_STATEMENT):
        yield values[start : start + IDS_PER_STATEMENT]


def _compare(stored: bytes | None, record: bytes) -> Outcome:
    # Only the id is known of a sealed or withdrawn report.
    if stored is None or not is_record(stored, record) or stored == record:
        return Outcome.DUPLICATE
    return Outcome.CONFLICT


def _lock_tokens(connection: Connection, reports: Iterable[ReportRow]) -> set[tuple[int, bytes]]:
    """Return the unspent ones among the tokens, by survey and hash, held until the commit."""
    wanted = sorted(
        {report.token for report in reports if report.token is not None and not report.invited}
    )
    unspent: set[tuple[int, bytes]] = set()
    for some in _slices(wanted):
        statement = (
            select(respondent_tokens.c.survey_id, respondent_tokens.c.hash)
            .where(respondent_tokens.c.hash.in_(some))
            .order_by(respondent_tokens.c.hash)
            .with_for_update()  # not on SQLite, which needs none
        )
        unspent.update((row.survey_id, row.hash) for row in connection.execute(statement))
    return unspent


def _claims(
    tokens: set[tuple[int, bytes]], unspent: set[tuple[int, bytes]], report: ReportRow
) -> bool:
    """Remove the report's token from those it is among; return whether it may be stored."""
    if report.invited:
        if report.token is None or (report.version_id, report.token) not in unspent:
            return False
        unspent.remove((report.version_id, report.token))
        return True
    if report.survey_id is None:
        return True
    if report.token is None or (report.survey_id, report.token) not in tokens:
        return False
    tokens.remove((report.survey_id, report.token))
    return True


def _spend(connection: Connection, reports: Iterable[ReportRow]) -> None:
    # Deleted, not marked: a spent token and an unknown one are refused alike, and a deleted token
    # cannot be joined to a report.
    spent = sorted(
        report.token for report in reports if report.token is not None and not report.invited
    )
    for some in _slices(spent):
        connection.execute(delete(respondent_tokens).where(respondent_tokens.c.hash.in_(some)))


_CLAIM: Final = text(
    "INSERT INTO spent_tokens (version_id, token) VALUES (:version, :token) ON CONFLICT DO NOTHING"
)


def _claim_tokens(connection: Connection, reports: Iterable[ReportRow]) -> set[tuple[int, bytes]]:
    """Mark the tokens of invited surveys as spent; return those that were not, by version.

    A transaction of another process that spends the same token ends first.
    """
    wanted = {
        (report.version_id, report.token)
        for report in reports
        if report.invited and report.token is not None
    }
    return {
        (version_id, token)
        for version_id, token in sorted(wanted)
        if connection.execute(_CLAIM, {"version": version_id, "token": token}).rowcount
    }


def _give_back(connection: Connection, tokens: Iterable[tuple[int, bytes]]) -> None:
    """Unmark tokens of reports that were not stored."""
    for version_id, token in sorted(tokens):
        connection.execute(
            delete(spent_tokens).where(
                spent_tokens.c.version_id == version_id, spent_tokens.c.token == token
            )
        )
