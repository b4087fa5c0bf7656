"""The redemption of an invitation, as a device keeps it: input, blind, and the token they became.

Input and blind are drawn once and stored before they are first sent, so that a device whose answer
was lost asks again with the same blinded element: the server evaluates no other for the invitation.
The token does not tell the invitation to anybody but the device itself, which deletes all of it
once it has answered.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hushpoll_shared.spelling.base64url import b64decode
from hushpoll_shared.wire.invitations import INPUT_SIZE, Token, encode_redemption

if TYPE_CHECKING:
    from sqlite3 import Connection

    from hushpoll_client.delivery.transport import Transport
    from hushpoll_client.device.database import Database
    from hushpoll_shared.survey.published import Published

# Made with the first redemption: most files have none.
_TABLE: Final = """
CREATE TABLE IF NOT EXISTS redemptions (
  digest TEXT PRIMARY KEY, survey TEXT NOT NULL, input BLOB NOT NULL, blind BLOB NOT NULL,
  token TEXT
)
"""
_EXISTS: Final = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'redemptions'"


@dataclass(frozen=True, slots=True, repr=False)
class Redemption:
    """What was drawn for an invitation, and the token once there is one; the repr shows neither."""

    input: bytes
    """Of the token, 32 random bytes."""

    blind: bytes
    """Scalar that hides it from the server."""

    token: str | None = None
    """What a report carries; None before the server has answered."""

    def __repr__(self) -> str:
        return "<redemption, not shown>"

    @classmethod
    def drawn(cls) -> Redemption:
        """Draw input and blind from the system's generator; needs the extra ``invited``."""
        from hushpoll_shared.wire import voprf

        return cls(os.urandom(INPUT_SIZE), voprf.random_scalar())

    def redeem(self, published: Published, transport: Transport, patience: float) -> str:
        """Ask the server and return the token, once its proof holds for the published key.

        The transport sends the invitation as its bearer token. A proof that does not hold is an
        `InvalidParameter`: the server used another key than the published one.
        """
        from hushpoll_shared.wire import voprf

        key = b64decode(published.invitation_key, field="invitation_key")
        blinded = voprf.blinded_with(self.input, self.blind)
        body = encode_redemption(published.digest, blinded)
        evaluated, proof = transport.post_redemption(published.name, body, patience)
        output = voprf.Finalize(self.input, self.blind, evaluated, blinded, key, proof)
        return Token(self.input, output).to_text()


class Redemptions:
    """The redemptions in a device's file, to which it has a quick and a durable connection."""

    def __init__(self, quick: Database, durable: Database) -> None:
        self._quick = quick
        self._durable = durable

    def once(self, published: Published) -> Redemption | None:
        """Return the one redemption of a version, drawn and on the disk before this returns.

        None if this device has answered the version: then it needs no token.
        """
        with self._durable.transaction() as connection:
            answered = connection.execute(
                "SELECT 1 FROM answers WHERE digest = ?", (published.digest,)
            ).fetchone()
            if answered is not None:
                return None
            connection.execute(_TABLE)
            kept = _kept(connection, published.digest)
            if kept is None:
                kept = Redemption.drawn()
                connection.execute(
                    "INSERT INTO redemptions VALUES (?, ?, ?, ?, NULL)",
                    (published.digest, published.name, kept.input, kept.blind),
                )
        return kept

    def keep(self, digest: str, token: str) -> None:
        """Store the token that a redemption has become."""
        with self._quick.transaction() as connection:
            connection.execute("UPDATE redemptions SET token = ? WHERE digest = ?", (token, digest))

    def token(self, digest: str) -> str | None:
        """Return the token of a version, if there is one."""
        with self._quick.reading() as connection:
            kept = _kept(connection, digest)
        return None if kept is None else kept.token

    def forget(self, digest: str) -> None:
        """Delete the redemption of a version that is answered: the report has its token."""
        with self._quick.transaction() as connection:
            if connection.execute(_EXISTS).fetchone() is not None:
                connection.execute("DELETE FROM redemptions WHERE digest = ?", (digest,))


def forget_all(connection: Connection, survey: str) -> None:
    """Delete the redemptions of a survey, in the caller's transaction."""
    if connection.execute(_EXISTS).fetchone() is not None:
        connection.execute("DELETE FROM redemptions WHERE survey = ?", (survey,))


def _kept(connection: Connection, digest: str) -> Redemption | None:
    if connection.execute(_EXISTS).fetchone() is None:
        return None
    row = connection.execute(
        "SELECT input, blind, token FROM redemptions WHERE digest = ?", (digest,)
    ).fetchone()
    return None if row is None else Redemption(*row)
