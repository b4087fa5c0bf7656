"""Everything that holds for SQLite alone: pragmas, transaction modes, checkpoints.

No other module but ``postgresql`` contains SQL that a second database would not accept.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from typing import Any, Final, cast
from urllib.parse import unquote, urlsplit

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import URL

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import NotDurable
from hushpoll_server.store.backend import Waiting
from hushpoll_server.store.sealed_ids import ID_SIZE, OLD, TAG_SIZE, YOUNG
from hushpoll_server.store.standing_connections import StandingConnections

# Reports that are handed over as one value.
GATHERED_ROWS: Final = 65_536
GATHERED_BYTES: Final = 64 * 2**20
FOLD_CACHE_KIB: Final = 64 * 1024
# One transaction writes at a time, and `BEGIN IMMEDIATE` waits for it, in this process or another.
ONE_WRITER: Final = True
# Such a row fills a page.
CHUNK_IDS: Final = 220
# Ids are in no order, so that a batch writes to every page of an inbox: the smaller, the faster.
BULK_FOLDS: Final = 1
# The pages that this frees are written to next, so that each goes through the log once.
EMPTIES_FIRST: Final = True
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
    options = connection.get_execution_options()
    if options.get("isolation_level") == "AUTOCOMMIT":
        return  # whoever uses such a connection opens its transactions
    writing = options.get(WRITING, False)
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


# Whether {id} is in one of the two chunks that can hold it. Found anywhere, it is looked for at the
# places where ids begin: the end of one and the beginning of the next can make up a third. The ids
# are not read unless the tag is there.
_IN_LIST: Final = """EXISTS (
  SELECT 1 FROM (
    SELECT CASE WHEN instr(tags, substr({id}, -{tag})) THEN ids END AS ids FROM sealed_ids
    WHERE version_id = {version} AND age = {age} AND first <= {id}
    ORDER BY first DESC LIMIT 1
  ) WHERE instr(ids, {id}) AND {id} IN (
    WITH RECURSIVE place(i) AS (SELECT 1 UNION ALL SELECT i + 16 FROM place LIMIT {most})
    SELECT substr(ids, i, 16) FROM place
  )
)"""


def _is_sealed(version: str, report_id: str) -> str:
    lists = [
        _IN_LIST.format(version=version, age=age, id=report_id, tag=TAG_SIZE, most=CHUNK_IDS)
        for age in (YOUNG, OLD)
    ]
    return f"({' OR '.join(lists)})"


_INSERT_NEW: Final = f"""
INSERT OR IGNORE INTO inbox (version_id, report_id, record) SELECT ?1, ?2, ?3
WHERE NOT {_is_sealed("?1", "?2")}
"""  # of this module's own text


def insert_at_once(
    connections: StandingConnections, rows: Sequence[tuple[int, bytes, bytes]]
) -> set[tuple[int, bytes]] | None:
    """Put rows of one version into the inbox by one statement, in a transaction of its own.

    A statement for each row would have to wait for its turn behind other threads after each. None
    if an id is not new: it is for those statements to tell which.
    """
    parameters = {
        "last": len(rows) - 1,
        "version": rows[0][0],
        "size": len(rows[0][2]),
        "ids": b"".join([row[1] for row in rows]),
        "records": b"".join([row[2] for row in rows]),
    }
    with connections.use() as connection:
        # Where anything fails the connection is given up, and what it has begun rolled back.
        connection.exec_driver_sql("BEGIN IMMEDIATE")
        all_new = connection.exec_driver_sql(_INSERT_AT_ONCE, parameters).rowcount == len(rows)
        connection.exec_driver_sql("COMMIT" if all_new else "ROLLBACK")
    return {row[:2] for row in rows} if all_new else None


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
        known = {"version": version_id, "last": len(ids) - 1, "ids": parameters["ids"]}
        if inserted != len(ids) or connection.exec_driver_sql(_ANY_SEALED, known).scalar_one():
            attempt.rollback()
            return False
    return True


_INSERT_BATCH: Final = """
INSERT OR IGNORE INTO inbox (version_id, report_id, record)
WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i < :last)
SELECT :version, substr(:ids, 1 + 16 * i, 16), substr(:records, 1 + :size * i, :size)
FROM place
"""

_INSERT_AT_ONCE: Final = f"""
INSERT OR IGNORE INTO inbox (version_id, report_id, record)
WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i < :last),
new(report_id, record) AS MATERIALIZED (
  SELECT substr(:ids, 1 + 16 * i, 16), substr(:records, 1 + :size * i, :size) FROM place
)
SELECT :version, report_id, record FROM new WHERE NOT {_is_sealed(":version", "report_id")}
"""  # noqa: S608  # of this module's own text

# The ids are cut out once: each time would be a copy of all.
_ANY_SEALED: Final = f"""
WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i < :last),
new(report_id) AS MATERIALIZED (SELECT substr(:ids, 1 + 16 * i, 16) FROM place)
SELECT EXISTS (SELECT 1 FROM sealed_ids WHERE version_id = :version)
  AND EXISTS (SELECT 1 FROM new WHERE {_is_sealed(":version", "report_id")})
"""  # noqa: S608  # of this module's own text


def gathered(connection: Connection, version_id: int, record_size: int) -> Waiting:
    """Return the reports that wait of a version, in the order of their ids.

    Many as one value, which is read several times as fast as a row for each.
    """
    rows = max(1, min(GATHERED_ROWS, GATHERED_BYTES // record_size))
    ids: list[bytes] = []
    records: list[bytes] = []
    found = rows
    while found == rows:
        parameters = {
            "version": version_id,
            "after": ids[-1][-ID_SIZE:] if ids else b"",
            "rows": rows,
        }
        found, some, their = connection.execute(_GATHERED, parameters).one()
        if len(some or b"") != ID_SIZE * found or len(their or b"") != record_size * found:
            # Some releases of SQLite end such a value at its first zero.
            _, some, their = connection.execute(_GATHERED_IN_HEX, parameters).one()
            some, their = bytes.fromhex(some), bytes.fromhex(their)
        ids.append(some or b"")
        records.append(their or b"")
    return Waiting.of(b"".join(ids), b"".join(records), record_size)


# Nothing joins blobs, but texts are joined, and taken for what they are, byte by byte.
_GATHERED: Final = text("""
SELECT count(*),
  CAST(group_concat(CAST(report_id AS TEXT), '') AS BLOB),
  CAST(group_concat(CAST(record AS TEXT), '') AS BLOB)
FROM (
  SELECT report_id, record FROM inbox WHERE version_id = :version AND report_id > :after
  ORDER BY report_id LIMIT :rows
)
""")

_GATHERED_IN_HEX: Final = text("""
SELECT count(*), group_concat(hex(report_id), ''), group_concat(hex(record), '')
FROM (
  SELECT report_id, record FROM inbox WHERE version_id = :version AND report_id > :after
  ORDER BY report_id LIMIT :rows
)
""")


def empty_inbox(connection: Connection, version_id: int) -> None:
    """Delete the reports that wait of a version: by the page where no others wait."""
    others = connection.execute(_OTHERS_WAIT, {"version": version_id}).scalar_one()
    if others:
        connection.execute(_EMPTY_OF, {"version": version_id})
    else:
        connection.exec_driver_sql("DELETE FROM inbox")


_OTHERS_WAIT: Final = text("""
SELECT EXISTS (SELECT 1 FROM inbox WHERE version_id < :version)
  OR EXISTS (SELECT 1 FROM inbox WHERE version_id > :version)
""")
_EMPTY_OF: Final = text("DELETE FROM inbox WHERE version_id = :version")


def hold_inbox(_connection: Connection) -> None:
    """Do nothing: what a transaction has begun to read stays as it is."""


def insert_chunks(
    connection: Connection, version_id: int, age: int, *, first: bytes, ids: bytes, tags: bytes
) -> None:
    """Insert ascending ids, one after the other, as chunks; see ``sealed_ids``."""
    parameters = {
        "version": version_id,
        "age": age,
        "first": first,
        "tags": tags,
        "ids": ids,
        "count": len(ids) // ID_SIZE,
        "most": CHUNK_IDS,
    }
    connection.exec_driver_sql(_INSERT_CHUNKS, parameters)


_INSERT_CHUNKS: Final = f"""
INSERT INTO sealed_ids (version_id, age, first, tags, ids)
WITH RECURSIVE place(i) AS (
  SELECT 0 UNION ALL SELECT i + :most FROM place WHERE i + :most < :count
)
SELECT :version, :age,
  CASE i WHEN 0 THEN :first ELSE substr(:ids, {ID_SIZE} * i + 1, {ID_SIZE}) END,
  substr(:tags, {TAG_SIZE} * i + 1, {TAG_SIZE} * :most),
  substr(:ids, {ID_SIZE} * i + 1, {ID_SIZE} * :most)
FROM place
"""  # noqa: S608  # of this module's own text


def sealed(connection: Connection, version_id: int, report_ids: Sequence[bytes]) -> set[bytes]:
    """Return those of the ids that are sealed."""
    cursor = connection.connection.cursor()
    try:
        return {
            one
            for one in report_ids
            if cast("Any", cursor.execute(_SEALED, (version_id, one))).fetchone()[0]
        }
    finally:
        cursor.close()


_SEALED: Final = "SELECT " + _is_sealed("?1", "?2")


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
