"""Invitations by their hashes, and what each was redeemed with.

A row has no time, and nothing of a report. The blinded element is uniformly random whatever the
token is, so it tells nothing of the token that the device made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from sqlalchemy import Connection, func, insert, select, update

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import invitations


class Redeemed(StrEnum):
    """What became of a redemption."""

    NEW = "new"
    SAME = "same"  # with the same blinded element as before
    OTHER = "other"  # with another one
    UNKNOWN = "unknown"  # no invitation of this version


class Redemption(NamedTuple):
    """One redemption: the version, the SHA-256 of the invitation, and the blinded element."""

    version_id: int
    hash: bytes
    blinded: bytes


class InvitationStore:
    """Statements on invitations."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def add(self, version_id: int, hashes: Iterable[bytes]) -> None:
        """Insert invitations of a version, by their hashes."""
        rows = [{"hash": value, "version_id": version_id} for value in sorted(hashes)]
        with self._database.writing() as connection:
            connection.execute(insert(invitations), rows)

    def counts(self, version_id: int) -> tuple[int, int]:
        """Return how many invitations a version has, and how many of them are redeemed."""
        statement = select(func.count(), func.count(invitations.c.blinded)).where(
            invitations.c.version_id == version_id
        )
        with self._database.reading() as connection:
            invited, redeemed = connection.execute(statement).one()
        return int(invited), int(redeemed)

    def redeem(self, redemptions: Sequence[Redemption]) -> list[Redeemed]:
        """Keep the blinded element of each invitation that has none, in one durable transaction.

        The first one counts, whichever process takes it: another waits for its commit.
        """
        outcomes: dict[Redemption, Redeemed] = {}
        with self._database.writing() as connection:
            # In ascending order, so that no two transactions wait for each other.
            for one in sorted(set(redemptions)):
                outcomes[one] = _redeem(connection, one)
        first = set[Redemption]()
        settled = []
        for one in redemptions:
            again = outcomes[one] is Redeemed.NEW and one in first
            settled.append(Redeemed.SAME if again else outcomes[one])
            first.add(one)
        return settled


def _redeem(connection: Connection, one: Redemption) -> Redeemed:
    changed = connection.execute(
        update(invitations)
        .where(
            invitations.c.hash == one.hash,
            invitations.c.version_id == one.version_id,
            invitations.c.blinded.is_(None),
        )
        .values(blinded=one.blinded)
    )
    if changed.rowcount:
        return Redeemed.NEW
    kept = connection.execute(
        select(invitations.c.blinded).where(
            invitations.c.hash == one.hash, invitations.c.version_id == one.version_id
        )
    ).scalar_one_or_none()
    if kept is None:
        return Redeemed.UNKNOWN
    return Redeemed.SAME if bytes(kept) == one.blinded else Redeemed.OTHER
