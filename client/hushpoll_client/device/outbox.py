"""The outbox: reports that wait to be sent, and who is sending which.

It holds perturbed bytes only. A report is claimed before it is sent, for a time that outlasts any
exchange: other threads and processes leave it alone, and take it over if its process died. The
claim is a durable commit, so nothing leaves a device before it is on the device's disk.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, Final

from hushpoll_client.faults import StorageError

if TYPE_CHECKING:
    from sqlite3 import Connection

    from hushpoll_client.device.database import Database

LONGEST_PAUSE: Final = 86_400.0
"""Seconds that a server's ``Retry-After`` can keep a device away."""

LOOK_AGAIN_SECONDS: Final = 0.05
"""How soon to look again at a report that another thread or process is sending."""

# A claim further ahead than any lease was made by a clock that has since been set back; another
# process may have longer timeouts, and its clock may be read a little later.
_FREE: Final = "(claimed_until <= :now OR claimed_until > :now + 2 * :lease)"
_OPEN: Final = (
    "server NOT IN (SELECT server FROM servers "
    "WHERE resume_at > :now AND resume_at <= :now + 2 * :longest)"
)
_NEXT: Final = f"""
SELECT digest, survey, server, report, token FROM answers
WHERE state = 'waiting' AND {_FREE}
  AND CASE WHEN :digest IS NULL THEN {_OPEN} ELSE digest = :digest END
ORDER BY attempts, rowid LIMIT 1
"""  # noqa: S608  # made of constants
_SOONEST: Final = """
SELECT min(max(min(claimed_until, :now + :look), coalesce(resume_at, 0)))
FROM answers LEFT JOIN servers USING (server) WHERE state = 'waiting'
"""


@dataclass(frozen=True, slots=True, repr=False)
class Claimed:
    """A report that this process alone is sending; its repr shows neither report nor token."""

    digest: str
    survey: str
    server: str
    report: str
    token: str | None
    owner: str

    def __repr__(self) -> str:
        return f"<report for survey {self.survey}, not shown>"


class Outbox:
    """The waiting reports of a device's file.

    Parameters
    ----------
    quick, durable : Database
        The two connections to the file.
    lease : float
        Seconds that a claim lasts; longer than any exchange.
    now : callable
        Tells the time, aware.
    """

    def __init__(
        self, quick: Database, durable: Database, *, lease: float, now: Callable[[], datetime]
    ) -> None:
        self._quick = quick
        self._durable = durable
        self._lease = lease
        self._now = now

    def claim(self, digest: str | None = None) -> Claimed | float | None:
        """Claim the report that was tried least, of a server that is not left alone for now.

        Parameters
        ----------
        digest : str or None
            Claim this one, whatever its server asked for.

        Returns
        -------
        Claimed, float or None
            Or the seconds until there may be one to claim, more than 0; or None: nothing waits.
        """
        # Looking costs no durable commit.
        with self._quick.reading() as connection:
            now, given = self._moment(digest)
            orphans = _orphans(connection)
            if not orphans and connection.execute(_NEXT, given).fetchone() is None:
                (soonest,) = connection.execute(_SOONEST, given).fetchone()
                return None if soonest is None else max(soonest - now, 0.001)
        owner = f"{os.getpid()}-{os.urandom(8).hex()}"
        with self._durable.transaction() as connection:
            connection.executemany(
                "UPDATE answers SET claimed_by = NULL, claimed_until = 0 WHERE claimed_by = ?",
                orphans,
            )
            # Told anew: by a time from before the wait for other writers, their claims lie ahead.
            now, given = self._moment(digest)
            row = connection.execute(_NEXT, given).fetchone()
            if row is None:
                return LOOK_AGAIN_SECONDS
            found, survey, server, report, token = row
            connection.execute(
                "UPDATE answers SET claimed_by = ?, claimed_until = ?, attempts = attempts + 1 "
                "WHERE digest = ?",
                (owner, now + self._lease, found),
            )
        return Claimed(found, survey, server, report, token, owner)

    def _moment(self, digest: str | None) -> tuple[float, dict[str, object]]:
        now = self._now().timestamp()
        return now, {
            "now": now,
            "lease": self._lease,
            "digest": digest,
            "longest": LONGEST_PAUSE,
            "look": LOOK_AGAIN_SECONDS,
        }

    def settle(self, claimed: Claimed, *, refused: str | None = None) -> None:
        """Keep that the server has taken the report, or why it refused it for good.

        A report that was taken is deleted. Once nothing waits any more, the file's log, which
        still has it, is emptied too; where another process is reading, the next one does that.
        """
        state = "accepted" if refused is None else "refused"
        with self._quick.transaction() as connection:
            connection.execute(
                "UPDATE answers SET state = ?1, reason = ?2, token = NULL, claimed_by = NULL, "
                "claimed_until = 0, attempts = 0, "
                "report = CASE ?1 WHEN 'accepted' THEN NULL ELSE report END "
                "WHERE digest = ?3 AND claimed_by = ?4",
                (state, refused, claimed.digest, claimed.owner),
            )
            connection.execute("DELETE FROM servers WHERE server = ?", (claimed.server,))
        if refused is None and self.waiting() == 0:
            with suppress(StorageError):
                self._durable.empty_log()

    def release(self, claimed: Claimed) -> None:
        """Give the report back unsent."""
        with self._quick.transaction() as connection:
            _release(connection, claimed)

    def failures(self, server: str) -> int:
        """Return how often in a row ``server`` took nothing."""
        with self._quick.reading() as connection:
            row = connection.execute(
                "SELECT failures FROM servers WHERE server = ?", (server,)
            ).fetchone()
        return 0 if row is None else int(row[0])

    def postpone(self, claimed: Claimed, *, seconds: float, asked: bool) -> None:
        """Give the report back, and leave its server alone for a while.

        Parameters
        ----------
        claimed : Claimed
            What could not be sent.
        seconds : float
            For how long, at most a day.
        asked : bool
            Whether the server asked for it; `resume` then waits too.
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
        """End the pauses that no server asked for, as when the network is back."""
        with self._quick.transaction() as connection:
            connection.execute("UPDATE servers SET resume_at = 0 WHERE NOT asked")

    def waiting(self) -> int:
        """Return how many reports wait, those that are being sent included."""
        with self._quick.reading() as connection:
            row = connection.execute(
                "SELECT count(*) FROM answers WHERE state = 'waiting'"
            ).fetchone()
        return int(row[0])

    def state(self, digest: str) -> str | None:
        """Return the state of one answer, or None if there is none."""
        with self._quick.reading() as connection:
            row = connection.execute(
                "SELECT state FROM answers WHERE digest = ?", (digest,)
            ).fetchone()
        return None if row is None else str(row[0])


def _orphans(connection: Connection) -> list[tuple[str]]:
    """Return the claims of processes that are there no more."""
    claims = connection.execute(
        "SELECT claimed_by FROM answers WHERE state = 'waiting' AND claimed_by IS NOT NULL"
    )
    return [(owner,) for (owner,) in claims.fetchall() if not _lives(int(owner.partition("-")[0]))]


def _lives(pid: int) -> bool:
    # Elsewhere signal 0 is not a question, and the lease has to run out.
    if os.name != "posix" or pid == os.getpid():
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _release(connection: Connection, claimed: Claimed) -> None:
    connection.execute(
        "UPDATE answers SET claimed_by = NULL, claimed_until = 0 "
        "WHERE digest = ? AND claimed_by = ?",
        (claimed.digest, claimed.owner),
    )
