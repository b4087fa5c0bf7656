"""Invitations by their hashes, and what each was redeemed with.

A row has no time, and nothing of a report. The blinded element is uniformly random whatever the
token is, so it tells nothing of the token that the device made of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import Final, NamedTuple

from sqlalchemy import bindparam, func, insert, select, update

from hushpoll_server.store.database import Store
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


class InvitationStore(Store):
    """Statements on invitations."""

    def add(self, version_id: int, hashes: Iterable[bytes]) -> None:
        """Insert invitations of a version, by their hashes."""
        rows = [{"hash": value, "version_id": version_id} for value in sorted(hashes)]
        self._database.write(insert(invitations), rows)

    def counts(self, version_id: int) -> tuple[int, int]:
        """Return how many invitations a version has, and how many of them are redeemed."""
        statement = select(func.count(), func.count(invitations.c.blinded)).where(
            invitations.c.version_id == version_id
        )
        invited, redeemed = self._database.read(statement).one()
        return int(invited), int(redeemed)

    def redeem(self, redemptions: Sequence[Redemption]) -> list[Redeemed]:
        """Keep the blinded element of each invitation that has none, in one durable transaction.

        The first one counts, whichever process takes it: another waits for its commit.
        """
        hashes = {one.hash for one in redemptions}
        # In ascending order, so that no two transactions wait for each other.
        statement = (
            select(invitations.c.hash, invitations.c.version_id, invitations.c.blinded)
            .where(invitations.c.hash.in_(hashes))
            .order_by(invitations.c.hash)
            .with_for_update()
        )
        outcomes = list[Redeemed]()
        new = list[dict[str, bytes]]()
        with self._database.writing() as connection:
            kept = {
                (version_id, bytes(code)): None if blinded is None else bytes(blinded)
                for code, version_id, blinded in connection.execute(statement)
            }
            for one in redemptions:
                key = (one.version_id, one.hash)
                if key not in kept:
                    outcomes.append(Redeemed.UNKNOWN)
                elif kept[key] is None:
                    kept[key] = one.blinded
                    new.append({"code": one.hash, "element": one.blinded})
                    outcomes.append(Redeemed.NEW)
                else:
                    same = kept[key] == one.blinded
                    outcomes.append(Redeemed.SAME if same else Redeemed.OTHER)
            if new:
                connection.execute(_REDEEM, new)
        return outcomes


_REDEEM: Final = (
    update(invitations)
    .where(invitations.c.hash == bindparam("code"))
    .values(blinded=bindparam("element"))
)
