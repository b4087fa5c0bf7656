"""Consent: what a respondent has agreed to, survey by survey, before anything is read.

Consent is given to a survey of a server, whatever its version. Withdrawing it stops what waits to
be sent and wipes what is kept, down to a tombstone per answered version: the digests of the version
and of the survey's name, and the epsilon, so that neither is spent twice.
"""

from __future__ import annotations

from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Final

from hushpoll_client.faults import ConsentMissing

if TYPE_CHECKING:
    from sqlite3 import Connection

    from hushpoll_client.device.database import Database

_WIPE: Final = """
UPDATE answers SET state = 'withdrawn', survey = NULL, version = NULL, server = NULL,
  id = NULL, report = NULL, token = NULL, reason = NULL, attempts = 0, claimed_by = NULL,
  claimed_until = 0
WHERE survey = ?
"""


def survey_digest(survey: str) -> str:
    """SHA-256 of a survey's name, by which a tombstone counts against the survey's limit."""
    return sha256(survey.encode()).hexdigest()


class Consent:
    """The consents that a device's file holds.

    Parameters
    ----------
    quick, durable : Database
        The two connections to the file.
    """

    def __init__(self, quick: Database, durable: Database) -> None:
        self._quick = quick
        self._durable = durable

    def give(self, server: str, survey: str, *, statement: str | None, now: datetime) -> None:
        """Keep that the respondent agrees; giving it again keeps the first date.

        Parameters
        ----------
        server, survey : str
            What to.
        statement : str or None
            What the respondent was shown, for them to read again.
        now : datetime
            Kept as a date.
        """
        with self._quick.transaction() as connection:
            connection.execute(
                "INSERT INTO consents VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING",
                (server, survey, now.date().isoformat(), statement),
            )

    def given(self, server: str, survey: str) -> bool:
        """Whether the respondent agrees at this moment."""
        with self._quick.reading() as connection:
            return is_given(connection, server, survey)

    def withdraw(self, survey: str) -> int:
        """Stop and wipe all answers to ``survey``, of every server and version.

        What is being sent at this very moment may still arrive.

        Returns
        -------
        int
            How many tombstones were made.

        Raises
        ------
        StorageError
            If the file cannot be written; nothing is wiped then.
        """
        with self._durable.transaction() as connection:
            wiped = connection.execute(_WIPE, (survey,)).rowcount
            connection.execute("DELETE FROM consents WHERE survey = ?", (survey,))
            connection.execute("DELETE FROM pins WHERE survey = ?", (survey,))
        # `secure_delete` overwrote the pages; the log still has their old contents.
        self._durable.empty_log()
        return wiped


def is_given(connection: Connection, server: str, survey: str) -> bool:
    """Whether consent is given, read in the caller's transaction."""
    found = connection.execute(
        "SELECT 1 FROM consents WHERE server = ? AND survey = ?", (server, survey)
    )
    return found.fetchone() is not None


def missing(server: str, survey: str) -> ConsentMissing:
    """Return the error of whoever goes on without consent."""
    return ConsentMissing(
        f"the respondent has not agreed to survey {survey!r} of {server}, or has withdrawn; "
        "nothing was read. Ask, and call give_consent() if they agree"
    )
