"""Everything that holds for SQLite alone: pragmas, transaction modes, checkpoints.

No other module but ``postgresql`` contains SQL that a second database would not accept.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any, Final
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import URL

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import NotDurable

# Records that are handed over as one value.
GATHERED_ROWS: Final = 65_536
GATHERED_BYTES: Final = 64 * 2**20
FOLD_CACHE_KIB: Final = 64 * 1024
# One transaction writes at a time, and `BEGIN IMMEDIATE` waits for it, in this process or another.
ONE_WRITER: Final = True
WRITING = "hushpoll_writing"
FULL = 2
BUSY_MILLISECONDS = 30_000
CHECKPOINT_BUSY_MILLISECONDS = 50

# secure_delete overwrites what leaves the inbox with zeros; temp_store keeps sort spills off the
# disk. Both would otherwise leave reports lying in free pages and temporary files.
PRAGMAS = (
    ("journal_mode", "WAL", "wal"),
    ("synchronous", "FULL", FULL),
    ("secure_delete", "ON", 1),
    ("foreign_keys", "ON", 1),
    ("temp_store", "MEMORY", 2),
    ("busy_timeout", str(BUSY_MILLISECONDS), BUSY_MILLISECONDS),
)


def check_url(url: URL) -> URL:
    """Return the URL as it is, and refuse databases that forget.

    Raises
    ------
    InvalidParameter
        The URL names an SQLite database in memory, or a temporary one.
    """
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

    Raises
    ------
    InvalidParameter
        The file cannot be made or opened.
    """
    path = str(url.database)
    if path.startswith("file:"):
        return
    try:
        os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    except OSError as error:
        raise InvalidParameter(
            f"DATABASE_URL names the file {path!r}, which cannot be opened for writing "
            f"({error.strerror}); name a file in a directory that you may write to",
            field="DATABASE_URL",
        ) from error


def path_of(url: URL) -> str:
    """Return the path of the database file, also where it is given as a ``file:`` URI."""
    database = str(url.database)
    return unquote(urlsplit(database).path) if database.startswith("file:") else database


def engine_options() -> dict[str, Any]:
    """Return arguments of ``create_engine``."""
    return {}


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
    """Make room for a fold: writing transactions run one after another, over all processes.

    What does not fit into the cache is written to the log and read back within the transaction.
    """
    if exclusive:
        connection.exec_driver_sql(f"PRAGMA cache_size = -{FOLD_CACHE_KIB}")


def hold_catalogue(_connection: Connection) -> None:
    """Do nothing: writing transactions run one after another, over all processes."""


def install(engine: Engine) -> None:
    """Set and check the pragmas of each connection, and open transactions explicitly."""
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", _begin)


def prepare(connection: sqlite3.Connection, _record: Any) -> None:
    """Set the pragmas of a new connection.

    Raises
    ------
    NotDurable
        One of them did not take.
    """
    connection.isolation_level = None
    for name, value, expected in PRAGMAS:
        connection.execute(f"PRAGMA {name} = {value}").close()
        (found,) = connection.execute(f"PRAGMA {name}").fetchone()
        if found != expected:
            raise NotDurable(
                f"SQLite answers {name} = {found!r} where {expected!r} is needed for an "
                "acknowledged report to be durable and a folded one to be gone; "
                "put the database on a local file system that supports it"
            )


def _begin(connection: Connection) -> None:
    # A deferred transaction that first reads and then writes can fail when another writer came
    # between; writers therefore take the lock before they read.
    writing = connection.get_execution_options().get(WRITING, False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writing else "BEGIN")


def insert_new(
    connection: Connection, rows: Sequence[tuple[int, bytes, bytes]]
) -> set[tuple[int, bytes]]:
    """Put those rows (version, id, record) into the inbox whose id is new; return their keys."""
    cursor = connection.connection.cursor()
    try:
        return {row[:2] for row in rows if cursor.execute(_INSERT_NEW, row).rowcount}
    finally:
        cursor.close()


_INSERT_NEW: Final = """
INSERT OR IGNORE INTO inbox (version_id, report_id, record) SELECT ?1, ?2, ?3
WHERE NOT EXISTS (SELECT 1 FROM seen_ids WHERE version_id = ?1 AND report_id = ?2)
"""


def insert_batch(
    connection: Connection,
    version_id: int,
    ids: npt.NDArray[np.uint8],
    records: npt.NDArray[np.uint8],
) -> bool:
    """Put uint8[n, 16] ids and uint8[n, L] records into the inbox if every id is new.

    One statement cuts the rows out of two blobs: no object is made per report, and other threads
    run meanwhile. It takes half the time of one statement per row.
    """
    parameters = {
        "last": len(ids) - 1,
        "version": version_id,
        "size": records.shape[1],
        "ids": ids.tobytes(),
        "records": records.tobytes(),
    }
    with connection.begin_nested() as attempt:
        inserted = connection.exec_driver_sql(_INSERT_BATCH, parameters).rowcount
        if inserted != len(ids):
            attempt.rollback()
            return False
    return True


_INSERT_BATCH: Final = """
INSERT OR IGNORE INTO inbox (version_id, report_id, record)
WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i < :last)
SELECT :version, substr(:ids, 1 + 16 * i, 16), substr(:records, 1 + :size * i, :size)
FROM place
WHERE NOT EXISTS (
  SELECT 1 FROM seen_ids
  WHERE version_id = :version AND report_id = substr(:ids, 1 + 16 * i, 16)
)
"""


def gathered(connection: Connection, version_id: int, record_size: int) -> bytes:
    """Return the records that wait of a version, one after the other.

    Many as one hexadecimal text, for nothing joins blobs: that is read several times as fast as a
    row for each.
    """
    rows = max(1, min(GATHERED_ROWS, GATHERED_BYTES // record_size))
    parts: list[bytes] = []
    after: bytes | None = b""
    while after is not None:
        found, after = connection.execute(
            _GATHERED, {"version": version_id, "after": after, "rows": rows}
        ).one()
        parts.append(bytes.fromhex(found or ""))
    return b"".join(parts)


def forget(engine: Engine, *, folded: bool) -> bool:  # noqa: ARG001  # the log holds all kinds
    """Move the write-ahead log into the database file and empty it.

    What was deleted, and the order in which things were written, stay in the log's old frames
    until this has happened.

    Returns
    -------
    bool
        False if a reader still needs the log; try again later.
    """
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {CHECKPOINT_BUSY_MILLISECONDS}")
        cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
        answer = cursor.fetchone()
        cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
        cursor.close()
    finally:
        raw.close()
    return answer is not None and answer[0] == 0


_GATHERED: Final = text(
    "SELECT group_concat(record, ''), max(report_id) FROM (SELECT hex(record) AS record, report_id "
    "FROM inbox WHERE version_id = :version AND report_id > :after ORDER BY report_id LIMIT :rows)"
)
