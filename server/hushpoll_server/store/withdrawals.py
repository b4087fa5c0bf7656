"""Withdrawn reports: what stays of them in the inbox, and the transaction that deletes a record.

A withdrawn report keeps its row of the inbox, without its record, until the next seal moves its id
among those of sealed reports: so a retry that comes late is known, and does not bring it back. A
withdrawal of an id that never came leaves such a row, too, since its report may be on the way: in
the queue of a group commit, or in a device's outbox. The two rows differ by their lengths alone,
which no record of the version has.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Final

from sqlalchemy import ColumnElement, Connection, func, select, text, update

from hushpoll_server.store.catalogue import VersionRow
from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import inbox, versions

COUNTED_AS: Final = "withdrawn"
"""Outcome under which reports that were deleted are counted, in the deleting transaction itself."""

NEVER_CAME: Final = b""


class Withdrawal(StrEnum):
    """What became of one withdrawal."""

    DELETED = "deleted"
    NOT_HERE = "not-here"


def holds_record(version_id: int) -> ColumnElement[bool]:
    """Whether a row of the inbox is a report that waits, and not the id of a withdrawn one."""
    size = select(versions.c.record_size).where(versions.c.id == version_id).scalar_subquery()
    return func.length(inbox.c.record) == size


def is_record(stored: bytes, record: bytes) -> bool:
    """Whether what stands in the inbox is a record, as `record` is one of its version."""
    return len(stored) == len(record)


class WithdrawalStore(Store):
    """The statements of a withdrawal."""

    def withdraw(self, row: VersionRow, report_id: bytes, day: str) -> Withdrawal:
        """Delete the record of a report that is not sealed, durably, and keep its id known.

        Whatever it finds it makes the same durable write of the version's counter, so that what
        takes longest takes as long for a report that was released as for one that never came. It is
        counted under `day`, YYYY-MM-DD, UTC. ``DELETED`` is returned also where an earlier
        withdrawal has deleted it and its id is not sealed yet: the answer to that one may have been
        lost.
        """
        with self._database.writing() as connection:
            # No seal of the version runs meanwhile: it is either before or after this.
            self._database.share_version(connection, row.id)
            deleted = self._delete(connection, row, report_id)
            if not deleted and not _ended(connection, row.id):
                self._database.inbox.insert_new(connection, [(row.id, report_id, NEVER_CAME)])
                # A group commit may have stored the report between the two statements.
                deleted = self._delete(connection, row, report_id)
            was_deleted = deleted or _is_deleted(connection, row, report_id)
            count = {"version": row.id, "day": day, "outcome": COUNTED_AS, "more": int(deleted)}
            connection.execute(_COUNT, count)
        if deleted:
            self._database.erase_soon(inbox)
        return Withdrawal.DELETED if was_deleted else Withdrawal.NOT_HERE

    @staticmethod
    def _delete(connection: Connection, row: VersionRow, report_id: bytes) -> bool:
        deleted = (
            update(inbox)
            .where(
                inbox.c.version_id == row.id,
                inbox.c.report_id == report_id,
                func.length(inbox.c.record) == row.record_size,
            )
            .values(record=_deleted(row))
        )
        return connection.execute(deleted).rowcount == 1


def _deleted(row: VersionRow) -> bytes:
    return bytes(row.record_size + 1)


def _is_deleted(connection: Connection, row: VersionRow, report_id: bytes) -> bool:
    statement = select(func.length(inbox.c.record)).where(
        inbox.c.version_id == row.id, inbox.c.report_id == report_id
    )
    return connection.execute(statement).scalar_one_or_none() == len(_deleted(row))


def _ended(connection: Connection, version_id: int) -> bool:
    statement = select(versions.c.ended).where(versions.c.id == version_id)
    return bool(connection.execute(statement).scalar_one())


_COUNT: Final = text("""
INSERT INTO counters (version_id, day, outcome, count)
VALUES (:version, :day, :outcome, :more)
ON CONFLICT (version_id, day, outcome) DO UPDATE SET count = counters.count + excluded.count
""")
