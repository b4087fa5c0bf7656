"""The inbox and the ids of sealed reports: one transaction for a group of reports."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox, respondent_tokens, seen_ids

# Bound parameters of one statement; both databases take more.
IDS_PER_STATEMENT = 500

Key = tuple[int, bytes]


class Outcome(StrEnum):
    """What became of one report."""

    ACCEPTED = "accepted"
    DUPLICATE = "duplicate"
    CONFLICT = "report-conflict"
    UNAUTHORIZED = "unauthorized"


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


class ReportStore:
    """Statements on reports that are not yet sealed."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def take(self, arrivals: Sequence[Arrival]) -> list[Outcome]:
        """Store the new ones among `arrivals` in one durable transaction.

        An id that is known decides before any token is looked at, so that a retry is never
        refused; a token is spent in the same transaction as its report is stored.

        Returns
        -------
        list of Outcome
            One for each arrival, in their order.
        """
        with self._database.writing() as connection:
            known = _known(connection, arrivals)
            fresh: dict[Key, bytes] = {}
            outcomes = []
            for arrival in arrivals:
                key = arrival.key
                if key in fresh:
                    outcomes.append(_compare(fresh[key], arrival.record))
                elif key in known:
                    outcomes.append(_compare(known[key], arrival.record))
                elif arrival.survey_id is not None and not _spend(connection, arrival):
                    outcomes.append(Outcome.UNAUTHORIZED)
                else:
                    fresh[key] = arrival.record
                    outcomes.append(Outcome.ACCEPTED)
            _insert(connection, fresh)
        return outcomes

    def look_up(self, arrivals: Sequence[Arrival]) -> list[Outcome | None]:
        """Compare `arrivals` with what is stored, changing nothing; None for an unknown id."""
        with self._database.reading() as connection:
            known = _known(connection, arrivals)
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


def _known(connection: Connection, arrivals: Iterable[Arrival]) -> dict[Key, bytes | None]:
    """Return the records of known ids; None where only the id is kept, of a sealed report."""
    by_version: dict[int, list[bytes]] = {}
    for arrival in arrivals:
        by_version.setdefault(arrival.version_id, []).append(arrival.report_id)
    known: dict[Key, bytes | None] = {}
    for version_id, ids in by_version.items():
        for some in _slices(ids):
            sealed = select(seen_ids.c.report_id).where(
                seen_ids.c.version_id == version_id, seen_ids.c.report_id.in_(some)
            )
            for report_id in connection.execute(sealed).scalars():
                known[version_id, report_id] = None
            waiting = select(inbox.c.report_id, inbox.c.record).where(
                inbox.c.version_id == version_id, inbox.c.report_id.in_(some)
            )
            for report_id, record in connection.execute(waiting):
                known[version_id, report_id] = record
    return known


def _slices(ids: Sequence[bytes]) -> Iterator[Sequence[bytes]]:
    for start in range(0, len(ids), IDS_PER_STATEMENT):
        yield ids[start : start + IDS_PER_STATEMENT]


def _compare(stored: bytes | None, record: bytes) -> Outcome:
    return Outcome.DUPLICATE if stored is None or stored == record else Outcome.CONFLICT


def _spend(connection: Connection, arrival: Arrival) -> bool:
    if arrival.token is None:
        return False
    result = connection.execute(
        update(respondent_tokens)
        .where(
            respondent_tokens.c.hash == arrival.token,
            respondent_tokens.c.survey_id == arrival.survey_id,
            respondent_tokens.c.spent.is_(False),
        )
        .values(spent=True)
    )
    return result.rowcount == 1


def _insert(connection: Connection, fresh: dict[Key, bytes]) -> None:
    if not fresh:
        return
    # In key order: neighbours on a page, and nothing of the order of arrival within a group.
    rows = [
        {"version_id": version_id, "report_id": report_id, "record": record}
        for (version_id, report_id), record in sorted(fresh.items())
    ]
    connection.execute(insert(inbox), rows)
