"""Reports that a device takes back: which ones it can, and what their servers have said of them.

When the respondent withdraws, the device's file forgets the answers at once, and keeps the secrets
of reports that may have left it, until their servers have answered. A server deletes a report that
it has not sealed; of one that is released, or that it never received, it says only that it is not
there. In each case it stores no report under this id from then on.

Earlier releases drew a report's id at random, without a secret. No server takes such reports back.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from hushpoll_client.config import Endpoint
from hushpoll_client.device.outcomes import is_final
from hushpoll_protocols.errors import HushpollError
from hushpoll_shared.spelling.base64url import b64decode
from hushpoll_shared.wire.paths import withdrawals_path

if TYPE_CHECKING:
    from hushpoll_client.config import ClientConfig
    from hushpoll_client.delivery.timing import Pacing
    from hushpoll_client.device.database import Database

_PENDING: Final = """
SELECT digest, survey, server, secret FROM withdrawals WHERE ?1 IS NULL OR survey = ?1
ORDER BY rowid
"""


@dataclass(frozen=True, slots=True)
class Withdrawal:
    """What became of a respondent's withdrawal from a survey; true if the device has wiped all.

    Attributes
    ----------
    wiped : bool
        Whether the device has wiped the answers. If not, try again: its file could not be written.
    deleted : int
        Reports that their server had not sealed, and has deleted.
    not_here : int
        Reports that their server has no longer (they are released), or never received.
    unanswered : int
        Reports whose server did not answer yet; it is asked again by a later `withdraw` or `flush`.
    unable : int
        Reports that cannot be taken back: an earlier release made them, or the server refuses.
    """

    wiped: bool
    deleted: int = 0
    not_here: int = 0
    unanswered: int = 0
    unable: int = 0

    def __bool__(self) -> bool:
        return self.wiped


@dataclass(frozen=True, slots=True)
class Pending:
    """A report that its server was not yet seen to take back; the repr does not show its secret."""

    digest: str
    survey: str
    server: str
    secret: bytes

    def __repr__(self) -> str:
        return f"<withdrawal of a report of survey {self.survey}, not shown>"


class Withdrawals:
    """The secrets of withdrawn reports in a device's file, until servers have answered."""

    def __init__(self, quick: Database, durable: Database) -> None:
        self._quick = quick
        self._durable = durable

    def pending(self, survey: str | None = None) -> list[Pending]:
        """Return those of a survey, or all, whose servers have not answered, the oldest first."""
        with self._quick.reading() as connection:
            rows = connection.execute(_PENDING, (survey,)).fetchall()
        return [
            Pending(digest, name, server, b64decode(secret, field="secret"))
            for digest, name, server, secret in rows
        ]

    def ask(
        self,
        *,
        config: ClientConfig,
        pacing: Pacing,
        seconds: float,
        survey: str | None = None,
    ) -> Withdrawal:
        """Ask the servers of pending withdrawals, for at most `seconds` in all.

        ``unable`` are those that a server itself refuses for good.
        """
        over = pacing.monotonic() + seconds
        told = {"deleted": 0, "not-here": 0, "unable": 0}
        unanswered = 0
        for one in self.pending(survey):
            left = over - pacing.monotonic()
            answer = _answer(one, config, pacing, left) if left > 0 else None
            if answer is None:
                unanswered += 1
                continue
            told[answer] += 1
            with self._durable.transaction() as connection:
                connection.execute("DELETE FROM withdrawals WHERE digest = ?", (one.digest,))
        return Withdrawal(
            wiped=True,
            deleted=told["deleted"],
            not_here=told["not-here"],
            unanswered=unanswered,
            unable=told["unable"],
        )


def _answer(
    one: Pending,
    config: ClientConfig,
    pacing: Pacing,
    seconds: float,
) -> str | None:
    # Who only reads a ledger does without the network side.
    from hushpoll_client.delivery.transport import Transport

    transport = Transport(Endpoint.parse(one.server), config=config, pacing=pacing)
    try:
        return transport.attempts(
            lambda hint: transport.post_withdrawal(one.survey, one.digest, one.secret, hint),
            *withdrawals_path(one.survey),
            patience=seconds,
        )
    except HushpollError as error:
        return "unable" if is_final(error) else None
    finally:
        transport.close()
