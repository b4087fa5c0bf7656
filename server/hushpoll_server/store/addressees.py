"""People who are invited by mail: encrypted, apart from reports, until their version is closed.

A row knows its invitation, and so whether that is redeemed. No row, of whatever table, tells which
report came of it. What is deleted is erased from the pages, too.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from sqlalchemy import ColumnElement, Select, and_, delete, func, insert, or_, select, update

from hushpoll_server.store.database import Store
from hushpoll_server.store.schema import addressees, invitations, versions

_AT_ONCE: Final = 500
"""Bound parameters of one statement; both databases take more."""


class Mail(StrEnum):
    """What became of a person's last mail."""

    WAITING = "waiting"
    SENT = "sent"
    REFUSED = "refused"  # by the mail server, for good


class AddresseeRow(NamedTuple):
    """One person who is invited."""

    invitation: bytes
    """SHA-256 of the invitation."""
    address: bytes
    """Keyed hash of the address."""
    key_id: str
    """Of the key by which the rest is encrypted."""
    sealed: bytes
    """The rest."""


class Due(NamedTuple):
    """A mail that is to be sent: to whom, and how many reminders it makes; 0 of an invitation."""

    addressee: AddresseeRow
    reminders: int


class AddresseeStore(Store):
    """Statements on people who are invited by mail."""

    def add(self, version_id: int, batch: str, rows: Sequence[AddresseeRow]) -> set[bytes]:
        """Add people with their invitations, or return hashes of addresses that are there already.

        If there is any of these, nobody is added.
        """
        # In the order of the hashes, which is not that of the table of people.
        rows = sorted(rows)
        invited = [{"hash": row.invitation, "version_id": version_id} for row in rows]
        people = [
            {
                **row._asdict(),
                "version_id": version_id,
                "batch": batch,
                "mail": Mail.WAITING,
                "reminders": 0,
            }
            for row in rows
        ]
        with self._database.writing(catalogue=True) as connection:
            known: set[bytes] = set()
            for start in range(0, len(rows), _AT_ONCE):
                some = [row.address for row in rows[start : start + _AT_ONCE]]
                statement = select(addressees.c.address).where(
                    addressees.c.version_id == version_id, addressees.c.address.in_(some)
                )
                known.update(map(bytes, connection.execute(statement).scalars()))
            if not known:
                connection.execute(insert(invitations), invited)
                connection.execute(insert(addressees), people)
        return known

    def take_back(self, batch: str) -> None:
        """Undo a batch that nothing was sent of, as ``add`` or ``remind`` began it."""
        here = and_(addressees.c.batch == batch, addressees.c.mail == Mail.WAITING)
        new = and_(here, addressees.c.reminders == 0)
        with self._database.writing(catalogue=True) as connection:
            connection.execute(
                update(addressees)
                .where(here, addressees.c.reminders > 0)
                .values(mail=Mail.SENT, reminders=addressees.c.reminders - 1)
            )
            hashes = select(addressees.c.invitation).where(new)
            connection.execute(delete(invitations).where(invitations.c.hash.in_(hashes)))
            connection.execute(delete(addressees).where(new))

    def remind(
        self, version_id: int, batch: str, *, busy: Collection[str], recent: Collection[str]
    ) -> tuple[int, int]:
        """Put into a batch all whose invitation is not redeemed and to whom nobody else writes.

        Left out are those whose mail waits in a batch of `busy`, or was sent in one of `recent`.
        Returned is how many get a reminder, and how many their invitation, which was never sent.
        """
        here = (
            addressees.c.version_id == version_id,
            addressees.c.invitation.not_in(_redeemed(version_id)),
        )
        with self._database.writing(catalogue=True) as connection:
            unsent = connection.execute(
                update(addressees)
                .where(*here, addressees.c.mail == Mail.WAITING, addressees.c.batch.not_in(busy))
                .values(batch=batch)
            ).rowcount
            reminded = connection.execute(
                update(addressees)
                .where(*here, addressees.c.mail == Mail.SENT, addressees.c.batch.not_in(recent))
                .values(batch=batch, mail=Mail.WAITING, reminders=addressees.c.reminders + 1)
            ).rowcount
        return reminded, unsent

    def unredeemed(self, version_id: int) -> list[AddresseeRow]:
        """Return the people of a version who may get a mail: those who have not redeemed."""
        columns = [addressees.c[name] for name in AddresseeRow._fields]
        statement = select(*columns).where(
            addressees.c.version_id == version_id,
            addressees.c.mail != Mail.REFUSED,
            addressees.c.invitation.not_in(_redeemed(version_id)),
        )
        return [
            AddresseeRow(bytes(row.invitation), bytes(row.address), row.key_id, bytes(row.sealed))
            for row in self._database.read(statement)
        ]

    def waiting(self, batch: str) -> list[bytes]:
        """Return the invitations of a batch whose mail waits, in the order of their hashes."""
        statement = (
            select(addressees.c.invitation)
            .where(addressees.c.batch == batch, addressees.c.mail == Mail.WAITING)
            .order_by(addressees.c.invitation)
        )
        return list(map(bytes, self._database.read(statement).scalars()))

    def due(self, invitation: bytes, batch: str) -> Due | None:
        """Return a mail of a batch that waits; None if it does not, or the invitation is redeemed.

        Nothing is sent to a person who has redeemed the invitation meanwhile.
        """
        statement = (
            select(*(addressees.c[name] for name in AddresseeRow._fields), addressees.c.reminders)
            .join(invitations, invitations.c.hash == addressees.c.invitation)
            .where(
                addressees.c.invitation == invitation,
                addressees.c.batch == batch,
                addressees.c.mail == Mail.WAITING,
                invitations.c.blinded.is_(None),
            )
        )
        row = self._database.read(statement).one_or_none()
        if row is None:
            return None
        addressee = AddresseeRow(
            bytes(row.invitation), bytes(row.address), row.key_id, bytes(row.sealed)
        )
        return Due(addressee, row.reminders)

    def settle(self, invitation: bytes, batch: str, mail: Mail) -> None:
        """Write, durably, what became of a mail of a batch."""
        self._database.write(
            update(addressees)
            .where(addressees.c.invitation == invitation, addressees.c.batch == batch)
            .values(mail=mail)
        )

    def counts(self, version_id: int) -> dict[Mail, int]:
        """Return how many people of a version have a mail in each state."""
        statement = (
            select(addressees.c.mail, func.count())
            .where(addressees.c.version_id == version_id)
            .group_by(addressees.c.mail)
        )
        numbers = {state: int(count) for state, count in self._database.read(statement)}
        return {state: numbers.get(state, 0) for state in Mail}

    def key_ids(self, version_id: int) -> set[str]:
        """Return by which keys people of a version are encrypted."""
        statement = select(addressees.c.key_id).where(addressees.c.version_id == version_id)
        return set(self._database.read(statement.distinct()).scalars())

    def forget_closed(self, now: int) -> int:
        """Delete the people of versions that are closed at `now`; return how many they were."""
        closed = select(versions.c.id).where(_is_closed(now))
        here = addressees.c.version_id.in_(closed)
        some = select(addressees.c.version_id).where(here).limit(1)
        if self._database.read(some).first() is None:
            return 0
        with self._database.writing(catalogue=True) as connection:
            forgotten = connection.execute(delete(addressees).where(here)).rowcount
        self._database.erase(addressees)
        return forgotten


def _redeemed(version_id: int) -> Select[tuple[bytes]]:
    """Select the invitations of a version that are redeemed."""
    return select(invitations.c.hash).where(
        invitations.c.version_id == version_id, invitations.c.blinded.is_not(None)
    )


def _is_closed(now: int) -> ColumnElement[bool]:
    return or_(versions.c.ended, versions.c.closed_at <= now, versions.c.closes <= now)
