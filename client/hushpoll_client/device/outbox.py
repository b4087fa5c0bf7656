"""The outbox: reports that wait to be sent, which process is sending which, and how one is sent.

It holds perturbed bytes only. A report is claimed before it is sent, for a time that outlasts any
exchange. Other threads and processes leave a claimed report alone, and take it over if its process
has died. The claim is a durable commit: nothing leaves a device before it is on the device's disk.

The same bytes are sent every time, until the server itself acknowledges or refuses the report. A
network that is down, a certificate that cannot be trusted, a redirect, a login page or a proxy's
error page in between only make the report wait (`hushpoll_shared.wire.answers`).
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from hushpoll_client.config import Endpoint, longest
from hushpoll_client.delivery.sessions import Sessions
from hushpoll_client.delivery.timing import Pacing, RetryHint
from hushpoll_client.delivery.transport import Transport
from hushpoll_client.device.ledger import STATE, WAITING, epsilon_of
from hushpoll_client.device.outcomes import Outgoing, ReportDropped, StorageError, is_final
from hushpoll_protocols.errors import HushpollError, TransportError
from hushpoll_shared.wire.problems import problem_from

if TYPE_CHECKING:
    from sqlite3 import Connection

    from hushpoll_client.config import ClientConfig
    from hushpoll_client.device.database import Database
    from hushpoll_shared.wire.answers import Acknowledgement

LONGEST_PAUSE: Final = 86_400.0
"""Seconds that a server's ``Retry-After`` can keep a device away."""

DROPPED: Final = "before-send"
"""The reason of a report that the host app's ``before_send`` refused."""

LOOK_AGAIN_SECONDS: Final = 0.05
"""How soon to look again at a report that another thread or process is sending."""

# A claim that ends later than any lease was made before the clock was set back. Twice the lease is
# allowed, because another process may have longer timeouts and reads its clock a little later.
_FREE: Final = "(claimed_until <= :now OR claimed_until > :now + 2 * :lease)"
_OPEN: Final = (
    "server NOT IN (SELECT server FROM servers "
    "WHERE resume_at > :now AND resume_at <= :now + 2 * :longest)"
)
# A report whose moment lies further ahead than any jitter waits for none: the clock was set back.
_DUE: Final = "(send_after <= :now OR send_after > :now + :jitter)"
_NEXT: Final = f"""
SELECT digest, survey, server, report, token, version, picoepsilon FROM answers
WHERE state = 'waiting' AND {_FREE}
  AND CASE WHEN :digest IS NULL THEN {_DUE} AND {_OPEN} ELSE digest = :digest END
ORDER BY attempts, rowid LIMIT 1
"""  # noqa: S608  # made of constants
_SOONEST: Final = """
SELECT min(max(min(claimed_until, :now + :look), coalesce(resume_at, 0),
  CASE WHEN send_after > :now + :jitter THEN 0 ELSE send_after END))
FROM answers LEFT JOIN servers USING (server) WHERE state = 'waiting'
"""


@dataclass(frozen=True, slots=True, repr=False)
class Claim:
    """A report that only this process sends now; its repr shows neither report nor token."""

    digest: str
    survey: str
    server: str
    report: str
    token: str | None
    outgoing: Outgoing
    owner: str

    def __repr__(self) -> str:
        return f"<report for survey {self.survey}, not shown>"


class Outbox:
    """The waiting reports of a device's file. A claim ends after `lease` seconds."""

    def __init__(
        self, quick: Database, durable: Database, *, lease: float, now: Callable[[], datetime]
    ) -> None:
        self._quick = quick
        self._durable = durable
        self._lease = lease
        self._now = now

    def claim(self, digest: str | None = None) -> Claim | float | None:
        """Claim the report with the fewest attempts that is due, of a server that is not paused.

        With a digest it is the report of this survey, even if it is not due or its server is
        paused. Otherwise returns the seconds, above 0, until there may be one to claim, or None if
        no report waits.
        """
        # A look without a claim needs no durable commit.
        with self._quick.reading() as connection:
            now, values = self._values(digest)
            orphans = _orphans(connection)
            if not orphans and connection.execute(_NEXT, values).fetchone() is None:
                (soonest,) = connection.execute(_SOONEST, values).fetchone()
                return None if soonest is None else max(soonest - now, 0.001)
        owner = f"{os.getpid()}-{os.urandom(8).hex()}"
        with self._durable.transaction() as connection:
            connection.executemany(
                "UPDATE answers SET claimed_by = NULL, claimed_until = 0 WHERE claimed_by = ?",
                orphans,
            )
            # The time is read again: the transaction may have waited for other writers, whose
            # claims would lie in the future.
            now, values = self._values(digest)
            row = connection.execute(_NEXT, values).fetchone()
            if row is None:
                return LOOK_AGAIN_SECONDS
            digest, survey, server, report, token, version, units = row
            connection.execute(
                "UPDATE answers SET claimed_by = ?, claimed_until = ?, attempts = attempts + 1 "
                "WHERE digest = ?",
                (owner, now + self._lease, digest),
            )
        outgoing = Outgoing(server, survey, version, digest, epsilon_of(units))
        return Claim(digest, survey, server, report, token, outgoing, owner)

    def _values(self, digest: str | None) -> tuple[float, dict[str, object]]:
        now = self._now().timestamp()
        return now, {
            "now": now,
            "lease": self._lease,
            "digest": digest,
            "longest": LONGEST_PAUSE,
            "look": LOOK_AGAIN_SECONDS,
            "jitter": longest("send_jitter"),
        }

    def settle(self, claimed: Claim, *, refused: str | None = None) -> None:
        """Store that the server has acknowledged the report, or why it refused it for good.

        An acknowledged report is deleted. Once no report waits, the file's log, which still has
        it, is emptied too; if another process is reading just then, the next call does that.
        """
        with self._quick.transaction() as connection:
            _settle(connection, claimed, "accepted" if refused is None else "refused", refused)
            connection.execute("DELETE FROM servers WHERE server = ?", (claimed.server,))
        if refused is None:
            self._forget()

    def drop(self, claimed: Claim, reason: str) -> None:
        """Delete a report that is not to be sent; what it spent stays."""
        with self._quick.transaction() as connection:
            _settle(connection, claimed, "dropped", reason)
        self._forget()

    def _forget(self) -> None:
        if self.waiting() == 0:
            with suppress(StorageError):
                self._durable.empty_log()

    def release(self, claimed: Claim) -> None:
        """End the claim of a report that was not sent."""
        with self._quick.transaction() as connection:
            _release(connection, claimed)

    def failures(self, server: str) -> int:
        """Return how many attempts in a row ``server`` has failed."""
        return int(self._quick.value("SELECT failures FROM servers WHERE server = ?", server) or 0)

    def postpone(self, claimed: Claim, *, seconds: float, asked: bool) -> None:
        """End the claim of a report that could not be sent, and pause its server, at most a day.

        `resume` does not end a pause that the server asked for.
        """
        resume_at = self._now().timestamp() + min(seconds, LONGEST_PAUSE)
        with self._quick.transaction() as connection:
            _release(connection, claimed)
            connection.execute(
                "INSERT INTO servers VALUES (?, 1, ?, ?) ON CONFLICT DO UPDATE SET "
                "failures = failures + 1, resume_at = excluded.resume_at, asked = excluded.asked",
                (claimed.server, resume_at, asked),
            )

    def resume(self) -> None:
        """End the pauses that no server asked for."""
        with self._quick.transaction() as connection:
            connection.execute("UPDATE servers SET resume_at = 0 WHERE NOT asked")

    def waiting(self) -> int:
        """Return how many reports wait, claimed ones included."""
        return int(self._quick.value(WAITING))

    def holds_back(self) -> bool:
        """Whether a report waits for its moment."""
        held = "SELECT 1 FROM answers WHERE state = 'waiting' AND send_after > ?"
        return self._quick.value(held, self._now().timestamp()) is not None

    def send_after(self, digest: str) -> float:
        """Return the second since 1970 before which a report is not sent by itself; 0: at once."""
        moment = self._quick.value("SELECT send_after FROM answers WHERE digest = ?", digest)
        return float(moment or 0)

    def state(self, digest: str) -> str | None:
        """Return the state of one answer, or None if there is none."""
        state: str | None = self._quick.value(STATE, digest)
        return state


def _orphans(connection: Connection) -> list[tuple[str]]:
    """Return the claims of processes that have ended."""
    claims = connection.execute(
        "SELECT claimed_by FROM answers WHERE state = 'waiting' AND claimed_by IS NOT NULL"
    )
    return [(owner,) for (owner,) in claims.fetchall() if not _lives(int(owner.partition("-")[0]))]


def _lives(pid: int) -> bool:
    # On other systems signal 0 is no harmless question, so the lease has to run out.
    if os.name != "posix" or pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _settle(connection: Connection, claimed: Claim, state: str, reason: str | None) -> None:
    connection.execute(
        "UPDATE answers SET state = ?1, reason = ?2, token = NULL, claimed_by = NULL, "
        "claimed_until = 0, attempts = 0, send_after = 0, "
        "report = CASE ?1 WHEN 'refused' THEN report ELSE NULL END "
        "WHERE digest = ?3 AND claimed_by = ?4",
        (state, reason, claimed.digest, claimed.owner),
    )


def _release(connection: Connection, claimed: Claim) -> None:
    connection.execute(
        "UPDATE answers SET claimed_by = NULL, claimed_until = 0 "
        "WHERE digest = ? AND claimed_by = ?",
        (claimed.digest, claimed.owner),
    )


_log = logging.getLogger("hushpoll_client")


class Delivery:
    """Sends the reports of an outbox.

    It asks `allows` before each attempt, and calls `on_loss` for each report that is refused for
    good, by a server or by `allows`, with the report, a code, and words.
    """

    def __init__(
        self,
        outbox: Outbox,
        on_loss: Callable[[Claim, str, str], object],
        *,
        allows: Callable[[Outgoing], bool],
        config: ClientConfig,
        pacing: Pacing,
    ) -> None:
        self._outbox = outbox
        self._on_loss = on_loss
        self._allows = allows
        self._config = config
        self._pacing = pacing
        self._sessions = Sessions()

    def step(self) -> float | None:
        """Send one report, if there is one to send now.

        Returns the seconds after which to call again, 0 for at once; None if nothing waits. A
        device's file that cannot be used is a `StorageError`.
        """
        claimed = self._outbox.claim()
        if not isinstance(claimed, Claim):
            return claimed
        hint = RetryHint()
        try:
            self.carry(claimed, hint)
        except HushpollError as error:
            if not is_final(error):
                self.postpone(claimed, error, hint)
        except BaseException:
            self._outbox.release(claimed)
            raise
        return 0.0

    def carry(
        self, claimed: Claim, hint: RetryHint, transport: Transport | None = None
    ) -> Acknowledgement:
        """Send one claimed report once, and settle it if the server acknowledges or refuses it.

        Of a report that is not acknowledged the error is raised, and `is_final` tells whether it is
        refused for good; otherwise the caller ends its claim. `hint` gets the server's
        ``Retry-After``.
        """
        if not self._allows(claimed.outgoing):
            self._outbox.drop(claimed, DROPPED)
            words = f"before_send refused the report for survey {claimed.survey}; it is deleted"
            self._on_loss(claimed, DROPPED, words)
            raise ReportDropped(words)
        try:
            transport = transport or Transport(
                Endpoint.parse(claimed.server),
                token=claimed.token,
                config=self._config,
                session=self._sessions.current(),
                pacing=self._pacing,
            )
            status = transport.post_report(claimed.survey, claimed.report, hint)
        except HushpollError as error:
            if is_final(error):
                self._refused(claimed, error)
            raise
        self._outbox.settle(claimed)
        return status

    def close(self) -> None:
        """Close this thread's connection."""
        self._sessions.close()

    def _refused(self, claimed: Claim, error: HushpollError) -> None:
        problem = error.problem if isinstance(error, TransportError) else problem_from(error)
        reason = str((problem or {}).get("code"))
        self._outbox.settle(claimed, refused=reason)
        self._on_loss(claimed, reason, f"survey {claimed.survey}: {error}")

    def postpone(self, claimed: Claim, error: HushpollError, hint: RetryHint) -> None:
        """End the claim of a report that was not sent, and leave its server alone for a while."""
        failures = self._outbox.failures(claimed.server)
        own = self._pacing.delay(self._config, failures)
        wait = max(own, hint.seconds or 0.0)
        self._outbox.postpone(claimed, seconds=wait, asked=hint.seconds is not None)
        _log.info("%s; trying again in %.0f s", error, wait)
