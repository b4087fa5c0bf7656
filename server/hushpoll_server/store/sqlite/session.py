"""SQLite: the database file, the settings of connections, and transactions."""

from __future__ import annotations

import errno
import os
import shutil
import sqlite3
from contextlib import suppress
from pathlib import Path
from typing import Any, Final
from urllib.parse import unquote, urlsplit

from sqlalchemy import Connection, Engine, event
from sqlalchemy.engine import URL

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import NotDurable

# `BEGIN IMMEDIATE` waits for the transaction that writes, in this process or another.
ONE_WRITER: Final = True
UNAVAILABLE: tuple[type[Exception], ...] = (sqlite3.OperationalError,)
# Eight pages; the commit of one report writes about four.
PROBE_BYTES: Final = 32 * 1024
WRITING = "hushpoll_writing"
FULL = 2
SEAL_CACHE_KIB: Final = 64 * 1024
BUSY_MILLISECONDS = 30_000

# secure_delete overwrites what is deleted from the inbox with zeros, and temp_store keeps the data
# of large sorts in memory. Without them, reports would stay in free pages and in temporary files.
PRAGMAS = (
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", FULL),
    ("secure_delete", "ON", 1),
    ("foreign_keys", "ON", 1),
    ("temp_store", "MEMORY", 2),
    ("busy_timeout", str(BUSY_MILLISECONDS), BUSY_MILLISECONDS),
)


def check_url(url: URL) -> URL:
    """Return the URL as it is, and refuse a database in memory, or a temporary one."""
    database = url.database
    if not database or ":memory:" in database or url.query.get("mode") == "memory":
        raise InvalidParameter(
            f"DATABASE_URL is {url.render_as_string()!r}, a database in memory, which cannot keep "
            "the promise that an acknowledged report survives; name a file: sqlite:///path.sqlite",
            field="DATABASE_URL",
        )
    return url


def make_ready(url: URL) -> None:
    """Create the database file readable by its owner only; the log inherits that.

    An existing file is not opened: closing it would drop the locks that SQLite holds for other
    connections of this process. Refused is a file that cannot be written to, or has a second name.
    """
    path = str(url.database)
    if not path.startswith("file:"):
        try:
            _create(path)
        except OSError as error:
            raise InvalidParameter(
                f"DATABASE_URL names the file {path!r}, which cannot be opened for writing "
                f"({error.strerror}); name a file in a directory that you may write to",
                field="DATABASE_URL",
            ) from error
    _refuse_second_names(path_of(url))


def _create(path: str) -> None:
    with suppress(FileExistsError):
        os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600))
        return
    if Path(path).is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
    if not os.access(path, os.R_OK | os.W_OK):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


def _refuse_second_names(path: str) -> None:
    try:
        names = Path(path).stat().st_nlink
    except OSError:
        return  # SQLite's own error will say what is wrong
    if names > 1:
        raise InvalidParameter(
            f"DATABASE_URL names the file {path!r}, which has {names} names (hard links); SQLite "
            "keeps what it has not yet written into the file beside one of them, and loses it when "
            "the file is opened by another; remove the other names, or copy the file",
            field="DATABASE_URL",
        )


def path_of(url: URL) -> str:
    """Return the path of the database file, also where it is given as a ``file:`` URI."""
    database = str(url.database)
    return unquote(urlsplit(database).path) if database.startswith("file:") else database


def engine_options() -> dict[str, object]:
    """Return arguments of ``create_engine``."""
    return {}


def check_server(engine: Engine) -> None:
    """Open the file."""
    engine.connect().close()


def unusable(url: URL, reason: str) -> InvalidParameter:
    """Return the refusal of a file that is no database."""
    return InvalidParameter(
        f"DATABASE_URL names the file {url.database!r}, which SQLite cannot use ({reason}); "
        "name a new file, or one that hushpoll made",
        field="DATABASE_URL",
    )


def for_reading(engine: Engine) -> Engine:
    """Return `engine` as it is: a transaction sees the state that its first statement saw."""
    return engine


def for_writing(engine: Engine) -> Engine:
    """Return `engine` with transactions that wait for their turn before they read."""
    return engine.execution_options(**{WRITING: True})


def hold_version(connection: Connection, _version_id: int, *, exclusive: bool) -> None:
    """Enlarge the cache for a seal; writing transactions run one at a time without any lock.

    A page that does not fit into the cache is written to the log and read back by the same
    transaction.
    """
    if exclusive:
        connection.exec_driver_sql(f"PRAGMA cache_size = -{SEAL_CACHE_KIB}")


def hold_catalogue(_connection: Connection) -> None:
    """Do nothing: writing transactions run one at a time, over all processes."""


def install(engine: Engine) -> None:
    """Set and check the pragmas of each connection, and open transactions explicitly."""
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", _begin)


def prepare(connection: sqlite3.Connection, _record: Any) -> None:
    """Set the pragmas of a new connection; refuse an SQLite that does not accept one of them."""
    connection.isolation_level = None
    for name, value, expected in PRAGMAS:
        connection.execute(f"PRAGMA {name} = {value}").close()
        (answer,) = connection.execute(f"PRAGMA {name}").fetchone()
        if answer != expected:
            raise NotDurable(
                f"SQLite answers {name} = {answer!r} where {expected!r} is needed for an "
                "acknowledged report to be durable and a sealed one to be gone; "
                "put the database on a local file system that supports it"
            )


def _begin(connection: Connection) -> None:
    # A transaction that first reads and then writes can fail when another one has written
    # meanwhile; writers therefore take the lock before they read.
    options = connection.get_execution_options()
    if options.get("isolation_level") == "AUTOCOMMIT":
        return  # the user of such a connection opens its transactions
    writing = options.get(WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def hold_inbox(_connection: Connection) -> None:
    """Do nothing: a transaction goes on seeing the state that it began to read."""


def room(connection: Connection) -> tuple[int, int, int]:
    """Return the bytes of the database and of its log, and those free and in all on the disk."""
    databases = connection.exec_driver_sql("PRAGMA database_list").all()
    path = Path(next(file for _, name, file in databases if name == "main"))
    size = path.stat().st_size
    with suppress(FileNotFoundError):  # there is no log after a clean end
        size += path.with_name(f"{path.name}-wal").stat().st_size
    disk = shutil.disk_usage(path.parent)
    return size, disk.free, disk.total
