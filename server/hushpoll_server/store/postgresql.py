"""Everything that holds for PostgreSQL alone: settings, isolation, locks, vacuuming.

No other module but ``sqlite`` contains SQL that a second database would not accept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from psycopg import Connection as DriverConnection
from psycopg.errors import InsufficientPrivilege, UniqueViolation
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError, ProgrammingError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import NotDurable
from hushpoll_server.store.backend import Waiting
from hushpoll_server.store.sealed_ids import ID_SIZE, OLD, TAG_SIZE, YOUNG
from hushpoll_server.store.standing_connections import StandingConnections

# Reports that are handed over as one value.
GATHERED_ROWS: Final = 65_536
GATHERED_BYTES: Final = 64 * 2**20
SMALL_RECORD: Final = 1_024
ONE_WRITER: Final = False
# Such a row is just below two kilobytes, beyond which it would be cut up and put elsewhere.
CHUNK_IDS: Final = 96
# Once ids are sealed, looking for new ones among them takes half as long as storing those.
BULK_FOLDS: Final = 100
# Nobody stores a report from then until the commit.
EMPTIES_FIRST: Final = False
DRIVER: Final = "postgresql+psycopg"

# synchronous_commit can be switched off for a role or a database, so each session switches it on.
# A request gives up after 30 s; its statements should not outlive it by much, and a lock that a
# dead peer holds must not stop the writer for good.
SESSION: Final = {
    "synchronous_commit": "on",
    "lock_timeout": "25s",
    "statement_timeout": "10min",
    "idle_in_transaction_session_timeout": "10min",
}
# What only the server's own configuration can set, and what a power cut would otherwise cost.
DURABLE: Final = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}

# Advisory locks are numbers that only this program gives a meaning to, per database.
VERSION_LOCKS: Final = 0x68757368
CATALOGUE_LOCKS: Final = 0x68757369
# Signature, flags and length of the header's extension; a tuple of -1 fields ends the file.
COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER: Final = b"\xff\xff"
VACUUM_LOCK_TIMEOUT: Final = "50ms"


def check_url(url: URL) -> URL:
    """Return the URL with psycopg 3 as its driver.

    Raises
    ------
    InvalidParameter
        The URL asks for another driver, or names no database.
    """
    if url.drivername not in ("postgresql", DRIVER):
        raise InvalidParameter(
            f"DATABASE_URL asks for {url.drivername!r}; PostgreSQL is reached through psycopg 3: "
            "write postgresql://user@host/database",
            field="DATABASE_URL",
        )
    if not url.database:
        raise InvalidParameter(
            f"DATABASE_URL is {url.render_as_string()!r} and names no database; "
            "write postgresql://user@host/database",
            field="DATABASE_URL",
        )
    return url.set(drivername=DRIVER)


def make_ready(_url: URL) -> None:
    """Do nothing: the database is made by whoever runs PostgreSQL."""


def engine_options() -> dict[str, Any]:
    """Return arguments of ``create_engine``."""
    return {
        "isolation_level": "READ COMMITTED",
        "connect_args": {"connect_timeout": 10, "application_name": "hushpoll"},
        # hstore is not used, and looking for it costs every start a statement.
        "use_native_hstore": False,
    }


def install(engine: Engine) -> None:
    """Set each session's settings, and check that a commit is durable."""
    event.listen(engine, "connect", prepare)


def prepare(connection: DriverConnection[Any], _record: Any) -> None:
    """Set the settings of a new session.

    Raises
    ------
    NotDurable
        The server would acknowledge a commit that a crash can undo.
    """
    connection.autocommit = True
    try:
        for name, value in SESSION.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        for name, expected in DURABLE.items():
            row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            found = None if row is None else row[0]
            if found != expected:
                raise NotDurable(
                    f"PostgreSQL answers {name} = {found!r} where {expected!r} is needed for an "
                    "acknowledged report to be durable; set it in postgresql.conf and reload"
                )
    finally:
        connection.autocommit = False


def unusable(url: URL, reason: str) -> InvalidParameter:
    """Return the refusal of a database that cannot be connected to."""
    return InvalidParameter(
        f"DATABASE_URL is {url.render_as_string()!r}, where PostgreSQL cannot be used ({reason}); "
        "check that it runs there, and the names of database and user",
        field="DATABASE_URL",
    )


def for_reading(engine: Engine) -> Engine:
    """Return `engine` with transactions that see one state and change nothing."""
    return engine.execution_options(isolation_level="REPEATABLE READ", postgresql_readonly=True)


def for_writing(engine: Engine) -> Engine:
    """Return `engine` as it is: each statement sees what was committed before it.

    That is what the locks below are for: whoever has waited for one sees what its last holder did.
    """
    return engine


def hold_version(connection: Connection, version_id: int, *, exclusive: bool) -> None:
    """Take the lock of a version until the transaction ends.

    Taking reports shares it and folding holds it alone. An id is in the inbox or among the seen
    ids, never in both and never in neither, and no constraint spans two tables.
    """
    connection.exec_driver_sql(
        "SELECT pg_advisory_xact_lock(%s, %s)"
        if exclusive
        else "SELECT pg_advisory_xact_lock_shared(%s, %s)",
        (VERSION_LOCKS, version_id),
    )


def hold_catalogue(connection: Connection) -> None:
    """Take the lock of rare changes that look before they write, however long that waits."""
    connection.execute(text("SET LOCAL lock_timeout = 0"))
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:class, 0)"), {"class": CATALOGUE_LOCKS})


def insert_new(
    connection: Connection, rows: Sequence[tuple[int, bytes, bytes]]
) -> set[tuple[int, bytes]]:
    """Put those rows (version, id, record) into the inbox whose id is new; return their keys."""
    parameters = tuple(map(list, zip(*rows, strict=True)))
    stored = connection.exec_driver_sql(_INSERT_NEW, parameters)
    return {(version_id, report_id) for version_id, report_id in stored}


# Whether {id} is in one of the two chunks that can hold it. Found anywhere, it is looked for at the
# places where ids begin: the end of one and the beginning of the next can make up a third. LIMIT
# has the chunk looked for in the index whatever the statistics say.
_IN_LIST: Final = """(
  SELECT CASE
    WHEN position(substring({id} FROM {tag}) IN chunk.tags) = 0 THEN false
    WHEN position({id} IN chunk.ids) = 0 THEN false
    ELSE EXISTS (
      SELECT 1 FROM generate_series(1, octet_length(chunk.ids), 16) AS place(i)
      WHERE substring(chunk.ids FROM place.i FOR 16) = {id}
    )
  END
  FROM sealed_ids AS chunk
  WHERE chunk.version_id = {version} AND chunk.age = {age} AND chunk.first <= {id}
  ORDER BY chunk.first DESC LIMIT 1
) IS TRUE"""


def _is_sealed(version: str, report_id: str) -> str:
    tag = ID_SIZE - TAG_SIZE + 1
    lists = [
        _IN_LIST.format(version=version, age=age, id=report_id, tag=tag) for age in (YOUNG, OLD)
    ]
    return f"({' OR '.join(lists)})"


_ROWS: Final = "unnest(%s::integer[], %s::bytea[], %s::bytea[])"
_CUT_ROWS: Final = """(
  SELECT
    a_version,
    substring(some_ids FROM 16 * i + 1 FOR 16),
    substring(some_records FROM a_size * i + 1 FOR a_size)
  FROM generate_series(0, octet_length(some_ids) / 16 - 1) AS place (i)
)"""

_INSERT_NEW: Final = f"""
INSERT INTO inbox (version_id, report_id, record)
SELECT * FROM unnest(%s::integer[], %s::bytea[], %s::bytea[]) AS new (version_id, report_id, record)
WHERE NOT {_is_sealed("new.version_id", "new.report_id")}
ON CONFLICT DO NOTHING
RETURNING version_id, report_id
"""  # noqa: S608  # of this module's own text


def insert_at_once(
    connections: StandingConnections, rows: Sequence[tuple[int, bytes, bytes]]
) -> set[tuple[int, bytes]] | None:
    """Put rows of one version into the inbox in a transaction of one exchange; see `insert_new`.

    None if the role may make no temporary functions.
    """
    version_id, size = rows[0][0], len(rows[0][2])
    ids = b"".join([row[1] for row in rows])
    with connections.use() as connection:
        if not _has_function(connection):
            return None
        parameters = (version_id, ids, size, b"".join([row[2] for row in rows]))
        stored = connection.exec_driver_sql(_CALL, parameters).scalar_one() or b""
    if len(stored) == len(ids):
        return {row[:2] for row in rows}
    return {(version_id, bytes(stored[at : at + 16])) for at in range(0, len(stored), 16)}


def _has_function(connection: Connection) -> bool:
    found: bool | None = connection.info.get(_CALL)
    if found is None:
        try:
            connection.exec_driver_sql(_FUNCTION)
        except ProgrammingError as error:
            if not isinstance(error.orig, InsufficientPrivilege):
                raise
            found = False
        else:
            found = True
        connection.info[_CALL] = found
    return found


# BEGIN, lock, INSERT and COMMIT would be four exchanges, and after each the thread waits for its
# turn behind the requests. One statement alone cannot do it: what it sees was committed before it
# began to wait for the lock. Each statement of a function sees what was committed before itself.
# The reports are parameters, since PostgreSQL logs the text of a statement that fails.
_FUNCTION: Final = f"""
CREATE FUNCTION pg_temp.hushpoll_insert(
  a_version integer, some_ids bytea, a_size integer, some_records bytea
) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE stored_ids bytea;
BEGIN
  PERFORM pg_advisory_xact_lock_shared({VERSION_LOCKS}, a_version);
  WITH stored AS ({_INSERT_NEW.replace(_ROWS, _CUT_ROWS)})
  SELECT string_agg(stored.report_id, '') INTO stored_ids FROM stored;
  RETURN stored_ids;
END
$$
"""  # noqa: S608  # of this module's own text
_CALL: Final = "SELECT pg_temp.hushpoll_insert(%s::integer, %s::bytea, %s::integer, %s::bytea)"


def insert_batch(
    connection: Connection,
    version_id: int,
    ids: npt.NDArray[np.uint8],
    records: npt.NDArray[np.uint8],
) -> bool:
    """Put uint8[n, 16] ids and uint8[n, L] records into the inbox if every id is new, by COPY."""
    driver = cast("DriverConnection[Any]", connection.connection.driver_connection)
    with connection.begin_nested() as attempt:
        try:
            with (
                driver.cursor() as cursor,
                cursor.copy(
                    "COPY inbox (version_id, report_id, record) FROM STDIN (FORMAT BINARY)"
                ) as copy,
            ):
                copy.write(copy_rows(version_id, ids, records))
        except UniqueViolation:
            attempt.rollback()
            return False
        parameters = {"version": version_id, "last": len(ids) - 1, "ids": ids.tobytes()}
        if connection.execute(_ANY_SEALED, parameters).scalar_one():
            attempt.rollback()
            return False
    return True


_ANY_SEALED: Final = text(f"""
SELECT EXISTS (
  SELECT 1 FROM (
    SELECT substring(CAST(:ids AS bytea) FROM 16 * i + 1 FOR 16) AS report_id
    FROM generate_series(0, CAST(:last AS integer)) AS place(i)
  ) AS new
  WHERE {_is_sealed("CAST(:version AS integer)", "new.report_id")}
)
""")  # noqa: S608  # of this module's own text


def copy_rows(version_id: int, ids: npt.NDArray[np.uint8], records: npt.NDArray[np.uint8]) -> bytes:
    """Return a file in COPY's binary format, made as one array.

    A tuple is its number of fields and, per field, length and bytes, big-endian
    (PostgreSQL's documentation of COPY, "Binary Format").
    """
    size = records.shape[1]
    row = np.dtype(
        [
            *(("fields", ">i2"), ("version_size", ">i4"), ("version", ">i4")),
            *(("id_size", ">i4"), ("id", np.uint8, (16,))),
            *(("record_size", ">i4"), ("record", np.uint8, (size,))),
        ]
    )
    rows = np.empty(len(ids), dtype=row)
    rows["fields"], rows["version_size"], rows["version"] = 3, 4, version_id
    rows["id_size"], rows["id"] = 16, ids
    rows["record_size"], rows["record"] = size, records
    return COPY_HEADER + rows.tobytes() + COPY_TRAILER


def gathered(connection: Connection, version_id: int, record_size: int) -> Waiting:
    """Return the reports that wait of a version; many as one value, in the driver's binary form."""
    driver = cast("DriverConnection[Any]", connection.connection.driver_connection)
    rows = max(1, min(GATHERED_ROWS, GATHERED_BYTES // record_size))
    with driver.cursor(binary=True) as cursor:
        (size,) = cursor.execute("SELECT pg_relation_size('inbox')").fetchall()[0]
        # Numbering takes as long as the rest. A small record is in its row: this bounds them.
        small = size <= GATHERED_BYTES and record_size <= SMALL_RECORD
        statement = _GATHERED if small else _GATHERED_IN_PARTS
        found = cursor.execute(statement, {"version": version_id, "rows": rows}).fetchall()
    parts = [(ids or b"", records or b"") for ids, records in found]
    ids, records = (b"".join(part) for part in zip(*parts, strict=True)) if parts else (b"", b"")
    return Waiting.of(ids, records, record_size)


_GATHERED: Final = """
SELECT string_agg(report_id, ''), string_agg(record, '') FROM inbox
WHERE version_id = %(version)s
"""

_GATHERED_IN_PARTS: Final = """
SELECT string_agg(report_id, ''), string_agg(record, '') FROM (
  SELECT report_id, record, (row_number() OVER () - 1) / %(rows)s AS part
  FROM inbox WHERE version_id = %(version)s
) AS numbered GROUP BY part
"""


def empty_inbox(connection: Connection, version_id: int) -> None:
    """Delete the reports that wait of a version.

    Where no others wait, and nobody is reading, the table gets a new file: nothing is left to
    vacuum. Whoever stores a report meanwhile waits for the commit.
    """
    with connection.begin_nested() as attempt:
        connection.execute(text(f"SET LOCAL lock_timeout = '{VACUUM_LOCK_TIMEOUT}'"))
        try:
            connection.execute(text("LOCK TABLE inbox IN ACCESS EXCLUSIVE MODE"))
        except OperationalError:
            attempt.rollback()
        else:
            connection.execute(text(f"SET LOCAL lock_timeout = '{SESSION['lock_timeout']}'"))
            if not connection.execute(_OTHERS_WAIT, {"version": version_id}).scalar_one():
                connection.execute(text("TRUNCATE inbox"))
                return
            attempt.rollback()  # and let go of the lock
    connection.execute(
        text("DELETE FROM inbox WHERE version_id = :version"), {"version": version_id}
    )


# Of a table that was not analysed, the planner would read all rows to find others. The least and
# the greatest it takes from the index.
_OTHERS_WAIT: Final = text("""
SELECT coalesce(min(version_id) <> :version OR max(version_id) <> :version, false) FROM inbox
""")


def hold_inbox(connection: Connection) -> None:
    """Take a lock that emptying the inbox waits for.

    A table that is truncated looks empty to a transaction that began to read before; a LOCK is not
    yet reading (PostgreSQL's documentation of LOCK and of TRUNCATE, "Notes").
    """
    connection.execute(text("LOCK TABLE inbox IN ACCESS SHARE MODE"))


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
        "last": len(ids) // ID_SIZE - 1,
        "most": CHUNK_IDS,
    }
    driver = cast("DriverConnection[Any]", connection.connection.driver_connection)
    driver.execute(_INSERT_CHUNKS, parameters)


# %b: as it is, where text would have two characters for a byte.
_INSERT_CHUNKS: Final = f"""
INSERT INTO sealed_ids (version_id, age, first, tags, ids)
SELECT %(version)s, %(age)s,
  CASE i WHEN 0 THEN %(first)b ELSE substring(%(ids)b FROM {ID_SIZE} * i + 1 FOR {ID_SIZE}) END,
  substring(%(tags)b FROM {TAG_SIZE} * i + 1 FOR {TAG_SIZE} * %(most)s),
  substring(%(ids)b FROM {ID_SIZE} * i + 1 FOR {ID_SIZE} * %(most)s)
FROM generate_series(0, %(last)s, %(most)s) AS place(i)
"""  # noqa: S608  # of this module's own text


def sealed(connection: Connection, version_id: int, report_ids: Sequence[bytes]) -> set[bytes]:
    """Return those of the ids that are sealed."""
    found = connection.exec_driver_sql(_SEALED, ([version_id], list(report_ids)))
    return {bytes(one) for one in found.scalars()}


_SEALED: Final = f"""
SELECT new.report_id
FROM unnest(%s::integer[]) AS one (version_id), unnest(%s::bytea[]) AS new (report_id)
WHERE {_is_sealed("one.version_id", "new.report_id")}
"""  # noqa: S608  # of this module's own text


def forget(engine: Engine, *, folded: bool) -> bool:
    """Vacuum what was deleted.

    A deleted row stays on its page, with the numbers of the transactions that wrote and deleted
    it: a spent token could be joined to the report that was stored by the same transaction. After a
    fold the inbox is written anew, since vacuuming frees its pages without overwriting them.

    Returns
    -------
    bool
        False if an older transaction could still see the rows; try again later.
    """
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        connection.execute(text("VACUUM respondent_tokens"))
        if not folded:
            return True
        if connection.execute(text(_OLDER_SNAPSHOTS)).scalar_one():
            return False
        # Nobody should wait for this behind a reader.
        connection.execute(text(f"SET lock_timeout = '{VACUUM_LOCK_TIMEOUT}'"))
        try:
            if connection.execute(text("SELECT pg_relation_size('inbox')")).scalar_one():
                connection.execute(text("VACUUM (FULL) inbox"))
            # A segment that was shuffled anew with a fold's reports would tell them from the older,
            # and so would a chunk of ids.
            connection.execute(text("VACUUM segments, sealed_ids"))
        except OperationalError:
            return False
        finally:
            connection.execute(text(f"SET lock_timeout = '{SESSION['lock_timeout']}'"))
    return True


# Sessions of this database, other than this one, whose snapshot is older than now.
_OLDER_SNAPSHOTS: Final = """
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_xmin IS NOT NULL
"""
