"""The file of a device: one SQLite database, mode 0600, shared by threads and processes.

Two connections share the work. The quick one commits without waiting for the disk: its writes
survive the end of the process, but not a loss of power. The durable one waits after each commit
until the log has reached the disk, with all earlier commits. A report is stored quickly, and
claimed durably before its first byte is sent: so a loss of power can only undo reports that were
never sent. The wait is outside of SQLite's lock; with ``synchronous=FULL`` it would be inside, and
hold up the host app.
"""

from __future__ import annotations

import os
import sqlite3
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path
from typing import Any, Final

from hushpoll_client.device.outcomes import StorageError
from hushpoll_client.threads import Guarded

_FORMAT: Final = 4
_BUSY_SECONDS: Final = 5.0
_REMEDY: Final = (
    "give a ledger of this program, or a new file, where you may write and there is room"
)
# An accepted answer, or one that the host app has dropped, keeps the report's id, not the report,
# which holds the clear answers. A withdrawn answer is a tombstone: it keeps two digests and the
# epsilon.
_ANSWERS: Final = """
CREATE TABLE answers (
  digest TEXT PRIMARY KEY,
  survey_digest TEXT NOT NULL,
  picoepsilon INTEGER NOT NULL,
  state TEXT NOT NULL CHECK
    (state IN ('waiting', 'accepted', 'refused', 'dropped', 'withdrawn')),
  survey TEXT, version INTEGER, server TEXT, id TEXT, report TEXT, token TEXT, reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  claimed_by TEXT, claimed_until REAL NOT NULL DEFAULT 0,
  send_after REAL NOT NULL DEFAULT 0, secret TEXT,
  CHECK (CASE state WHEN 'withdrawn'
    THEN coalesce(survey, version, server, id, report, token, reason, claimed_by, secret) IS NULL
    ELSE survey IS NOT NULL AND version IS NOT NULL AND server IS NOT NULL AND id IS NOT NULL
      AND (report IS NULL) = (state IN ('accepted', 'dropped'))
    END)
);
CREATE INDEX waiting ON answers (server, attempts) WHERE state = 'waiting';
"""
# The secrets of withdrawn reports whose servers have not answered yet.
_WITHDRAWALS: Final = """
CREATE TABLE withdrawals (
  digest TEXT PRIMARY KEY, survey TEXT NOT NULL, server TEXT NOT NULL, secret TEXT NOT NULL
)
"""
_SCHEMA: Final = f"""
CREATE TABLE consents (
  server TEXT NOT NULL, survey TEXT NOT NULL, given TEXT NOT NULL, statement TEXT,
  PRIMARY KEY (server, survey)
);
CREATE TABLE pins (
  server TEXT NOT NULL, survey TEXT NOT NULL, version INTEGER NOT NULL,
  digest TEXT NOT NULL, manifest BLOB NOT NULL,
  PRIMARY KEY (server, survey, version)
);
CREATE TABLE servers (
  server TEXT PRIMARY KEY, failures INTEGER NOT NULL, resume_at REAL NOT NULL,
  asked INTEGER NOT NULL
);
{_WITHDRAWALS.strip()};
{_ANSWERS.strip()}
"""
# Format 1 had no column for the id, and kept the reports that were accepted. Format 2 had no moment
# before which a report is not sent. Format 3 had no secrets: its ids were drawn at random. The
# table is made anew, since SQLite cannot change conditions.
_CONVERSION: Final = """
DROP INDEX waiting;
ALTER TABLE answers RENAME TO old_answers;
{answers};
INSERT INTO answers (digest, survey_digest, picoepsilon, state, survey, version, server, id, report,
  token, reason, attempts, claimed_by, claimed_until{more})
SELECT digest, survey_digest, picoepsilon, state, survey, version, server, {id}, {report},
  token, reason, attempts, claimed_by, claimed_until{more}
FROM old_answers ORDER BY rowid;
DROP TABLE old_answers;
{withdrawals};
"""
_TABLE: Final = _ANSWERS.strip().removesuffix(";")
_FROM_FORMAT: Final = {
    1: _CONVERSION.format(
        answers=_TABLE,
        id="json_extract(report, '$.id')",
        report="CASE state WHEN 'accepted' THEN NULL ELSE report END",
        more="",
        withdrawals=_WITHDRAWALS.strip(),
    ),
    2: _CONVERSION.format(
        answers=_TABLE, id="id", report="report", more="", withdrawals=_WITHDRAWALS.strip()
    ),
    3: _CONVERSION.format(
        answers=_TABLE,
        id="id",
        report="report",
        more=", send_after",
        withdrawals=_WITHDRAWALS.strip(),
    ),
}

if sys.platform == "darwin":
    import fcntl


class _Creation(Guarded):
    """The lock under which a file is created while no other thread can open it.

    To close any descriptor of a database drops all of this process's locks on it.
    """

    rank = 2


_creation = _Creation()


class Database(Guarded):
    """One connection to a file of mode 0600, opened when first used and closed at every fork.

    The end of a durable connection's transaction waits until the disk has it.
    """

    rank = 1

    def __init__(self, path: Path, *, durable: bool) -> None:
        self.path = path
        self._durable = durable
        self._connection: sqlite3.Connection | None = None
        # Last, since a fork may come at once and needs the rest.
        super().__init__(threading.RLock)

    def __repr__(self) -> str:
        return f"Database({str(self.path)!r})"

    def transaction(self) -> AbstractContextManager[sqlite3.Connection]:
        """Run the block alone among all threads and processes; its end commits, an error undoes it.

        A file that cannot be used is a `StorageError`, and nothing of the block is stored.
        """
        return self._within("BEGIN IMMEDIATE")

    def reading(self) -> AbstractContextManager[sqlite3.Connection]:
        """Run the block on one state of the file, waiting for no other process that writes."""
        return self._within("BEGIN")

    def value(self, statement: str, *values: object) -> Any:
        """Return the first value that a statement reads; None where it finds no row."""
        with self.reading() as connection:
            return value_in(connection, statement, *values)

    @contextmanager
    def _within(self, begin: str) -> Iterator[sqlite3.Connection]:
        with self.lock:
            connection: sqlite3.Connection | None = None
            try:
                connection = self._opened()
                connection.execute(begin)
                yield connection
                connection.execute("COMMIT")
                if self._durable:
                    _await_disk(self.path)
            except (sqlite3.Error, OSError) as error:
                # A connection that met a full or failing disk is not used again; closing undoes
                # what it began.
                self._close()
                raise StorageError(f"{self.path} cannot be used: {error}; {_REMEDY}") from error
            except BaseException:
                if connection is not None and connection.in_transaction:
                    connection.execute("ROLLBACK")
                raise

    def empty_log(self) -> None:
        """Make everything durable and leave nothing of it in the write-ahead log.

        Raises `StorageError` also where another process keeps reading an old state of the file.
        """
        with self.lock:
            try:
                busy = value_in(self._opened(), "PRAGMA wal_checkpoint(TRUNCATE)")
            except (sqlite3.Error, OSError) as error:
                self._close()
                raise StorageError(f"{self.path} cannot be used: {error}; {_REMEDY}") from error
        if busy:
            raise StorageError(f"another process is using {self.path}; try again")

    def open(self) -> None:
        """Open the connection now, so that no transaction has to wait for it."""
        with self.reading():
            pass

    def close(self) -> None:
        """Close the connection; a later transaction opens it again."""
        with self.lock:
            self._close()

    def before_fork(self) -> None:
        """Close: a child that inherits SQLite's state would believe it holds its parent's locks."""
        super().before_fork()
        self._close()

    def _close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with suppress(sqlite3.Error):
                connection.close()

    def _opened(self) -> sqlite3.Connection:
        if self._connection is None:
            self._connection = self._open()
        return self._connection

    def _open(self) -> sqlite3.Connection:
        with _creation.lock:
            _create(self.path)
            connection = sqlite3.connect(
                self.path, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False
            )
        try:
            _use_write_ahead_log(connection)
            connection.execute("PRAGMA synchronous=NORMAL")
            connection.execute("PRAGMA fullfsync=ON")
            connection.execute("PRAGMA checkpoint_fullfsync=ON")
            connection.execute("PRAGMA secure_delete=ON")
            if not self._durable:
                # The durable connection copies the log into the database, since that waits for the
                # disk.
                connection.execute("PRAGMA wal_autocheckpoint=0")
            _prepare(connection)
            if not self._durable:
                _start_log(connection)
        except BaseException:
            connection.close()
            raise
        return connection


def value_in(connection: sqlite3.Connection, statement: str, *values: object) -> Any:
    """Return the first value that a statement reads in the caller's transaction, as `value`."""
    row = connection.execute(statement, values).fetchone()
    return None if row is None else row[0]


def _create(path: Path) -> None:
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    if path.stat().st_mode & 0o077:
        path.chmod(0o600)


def _await_disk(path: Path) -> None:
    # SQLite takes no locks on its log, so to close a descriptor of it drops none. If there is no
    # log any more, the process that emptied it has waited for the disk.
    with suppress(FileNotFoundError):
        log = os.open(f"{path}-wal", os.O_RDWR | getattr(os, "O_CLOEXEC", 0))
        try:
            if sys.platform == "darwin":
                fcntl.fcntl(log, fcntl.F_FULLFSYNC)
            else:
                os.fsync(log)
        finally:
            os.close(log)


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    # SQLite does not wait while another process switches the same new file to this mode.
    give_up = time.monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL").fetchall()
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() > give_up:
                raise
            time.sleep(0.005)
        else:
            return


def _prepare(connection: sqlite3.Connection) -> None:
    if _format(connection) == _FORMAT:
        return
    connection.execute("BEGIN IMMEDIATE")
    number = _format(connection)
    tables = value_in(connection, "SELECT count(*) FROM sqlite_master")
    statements = _SCHEMA if number == 0 and tables == 0 else _FROM_FORMAT.get(number)
    if statements is not None:
        for statement in statements.split(";\n"):
            connection.execute(statement)
        connection.execute(f"PRAGMA user_version={_FORMAT}")
    elif number != _FORMAT:
        raise sqlite3.DatabaseError(
            f"it is no device's file of format {_FORMAT}; give storage= another path, or update "
            "hushpoll"
        )
    connection.execute("COMMIT")


def _start_log(connection: sqlite3.Connection) -> None:
    # The first commit to an empty log waits for the disk in any mode, and should not do so within
    # an answer. To write the same number again makes such a commit.
    connection.execute("BEGIN IMMEDIATE")
    connection.execute(f"PRAGMA user_version={_FORMAT}")
    connection.execute("COMMIT")


def _format(connection: sqlite3.Connection) -> int:
    number: int = value_in(connection, "PRAGMA user_version")
    return number
