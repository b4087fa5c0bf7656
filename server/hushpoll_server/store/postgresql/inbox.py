"""PostgreSQL: reports are put into the inbox and read from it, and ids looked for and sealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from psycopg import Connection as DriverConnection
from psycopg.errors import InsufficientPrivilege, UniqueViolation
from sqlalchemy import Connection, Engine, select, text
from sqlalchemy.exc import OperationalError, ProgrammingError

from hushpoll_server.store.backend import TAKES_REPORTS, Cutoff, Deletions, Key, Row
from hushpoll_server.store.postgresql.session import SESSION, VERSION_LOCKS
from hushpoll_server.store.schema import ID_SIZE, OLD, TAG_SIZE, YOUNG, inbox

# A row with so many ids is just below two kilobytes, beyond which PostgreSQL would store it
# elsewhere.
CHUNK_IDS: Final = 96
# Once ids are sealed, looking for new ids among them takes half as long as storing those.
BULK_FACTOR: Final = 100
# From then until the commit no report can be stored.
EMPTIES_FIRST: Final = False
# Reports that are read as one value.
READ_ROWS: Final = 65_536
READ_BYTES: Final = 64 * 2**20
SMALL_RECORD: Final = 1_024
VACUUM_LOCK_TIMEOUT: Final = "50ms"
# An inbox up to this size is written anew after a withdrawal, which takes some hundredths of a
# second.
REWRITTEN_BYTES: Final = 4 * 2**20
# COPY's binary format: signature, flags and length of the header's extension. -1 fields end it.
COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER: Final = b"\xff\xff"


def insert_new(connection: Connection, rows: Sequence[Row]) -> set[Key]:
    """Insert the rows whose id is new, and return their keys."""
    parameters = tuple(map(list, zip(*rows, strict=True)))
    stored = connection.exec_driver_sql(_INSERT_NEW, parameters)
    return {(version_id, report_id) for version_id, report_id in stored}


# Whether {id} is in one of the two chunks that can hold it. An id that is found in a chunk must
# stand where an id begins: the end of one and the beginning of the next can make up a third. With
# LIMIT, PostgreSQL looks for the chunk in the index whatever its statistics say.
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


def insert_at_once(connection: Connection, rows: Sequence[Row], cutoff: Cutoff) -> set[Key] | None:
    """Insert rows of one version in a transaction of one exchange; see `insert_new`.

    None if the role may not create temporary functions, or the version takes no reports.
    """
    if not _has_function(connection):
        return None
    version_id, size = rows[0][0], len(rows[0][2])
    ids = b"".join([row[1] for row in rows])
    parameters = (version_id, ids, size, b"".join([row[2] for row in rows]), *cutoff)
    stored = connection.exec_driver_sql(_CALL, parameters).scalar_one()
    if stored is None:
        return None
    if len(stored) == len(ids):
        return {row[:2] for row in rows}
    return {(version_id, bytes(stored[at : at + 16])) for at in range(0, len(stored), 16)}


def _has_function(connection: Connection) -> bool:
    created: bool | None = connection.info.get(_CALL)
    if created is None:
        try:
            connection.exec_driver_sql(_FUNCTION)
        except ProgrammingError as error:
            if not isinstance(error.orig, InsufficientPrivilege):
                raise
            created = False
        else:
            created = True
        connection.info[_CALL] = created
    return created


# BEGIN, lock, INSERT and COMMIT would be four exchanges, and after each the thread would wait for
# its turn behind the requests. A single statement would not do: it sees what was committed before
# it began to wait for the lock. In a function, each statement sees what was committed before
# itself. The reports are parameters, since PostgreSQL logs the text of a statement that fails.
_FUNCTION: Final = f"""
CREATE FUNCTION pg_temp.hushpoll_insert(
  a_version integer, some_ids bytea, a_size integer, some_records bytea,
  a_until bigint, a_closing bigint
) RETURNS bytea LANGUAGE plpgsql AS $$
DECLARE stored_ids bytea;
BEGIN
  PERFORM pg_advisory_xact_lock_shared({VERSION_LOCKS}, a_version);
  PERFORM FROM survey_versions WHERE id = a_version AND
    {TAKES_REPORTS.format(accepts_until="a_until", closes="a_closing")};
  IF NOT FOUND THEN
    RETURN NULL;
  END IF;
  WITH stored AS ({_INSERT_NEW.replace(_ROWS, _CUT_ROWS)})
  SELECT coalesce(string_agg(stored.report_id, ''), '') INTO stored_ids FROM stored;
  RETURN stored_ids;
END
$$
"""  # noqa: S608  # of this module's own text
_CALL: Final = """
SELECT pg_temp.hushpoll_insert(
  %s::integer, %s::bytea, %s::integer, %s::bytea, %s::bigint, %s::bigint
)
"""


def insert_batch(
    connection: Connection,
    version_id: int,
    ids: npt.NDArray[np.uint8],
    records: npt.NDArray[np.uint8],
) -> bool:
    """Insert uint8[n, 16] ids and uint8[n, L] records if every id is new, by COPY."""
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
    """Return rows of the inbox in COPY's binary format, made as one array.

    A row is its number of fields and, for each field, length and bytes, big-endian
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


def sealed(connection: Connection, version_id: int, report_ids: Sequence[bytes]) -> set[bytes]:
    """Return those of the ids that are sealed."""
    known = connection.exec_driver_sql(_SEALED, ([version_id], list(report_ids)))
    return {bytes(report_id) for report_id in known.scalars()}


_SEALED: Final = f"""
SELECT new.report_id
FROM unnest(%s::integer[]) AS asked (version_id), unnest(%s::bytea[]) AS new (report_id)
WHERE {_is_sealed("asked.version_id", "new.report_id")}
"""  # noqa: S608  # of this module's own text


def waiting(
    connection: Connection, version_id: int, report_ids: Sequence[bytes]
) -> dict[bytes, bytes]:
    """Return the records of those of the ids that are in the inbox."""
    # PostgreSQL keeps no statistics of ids, and assumes that every 200th report has any given id;
    # for several ids it would read the whole inbox. It assumes that few ids are in a range.
    records = select(inbox.c.report_id, inbox.c.record).where(
        inbox.c.version_id == version_id,
        inbox.c.report_id.in_(report_ids),
        inbox.c.report_id.between(min(report_ids), max(report_ids)),
    )
    return {row.report_id: row.record for row in connection.execute(records)}


def read_inbox(connection: Connection, version_id: int, record_size: int) -> tuple[bytes, bytes]:
    """Return the ids of waiting reports and their records; many as one value, in binary form."""
    driver = cast("DriverConnection[Any]", connection.connection.driver_connection)
    rows = max(1, min(READ_ROWS, READ_BYTES // record_size))
    with driver.cursor(binary=True) as cursor:
        (size,) = cursor.execute("SELECT pg_relation_size('inbox')").fetchall()[0]
        # Numbering the rows takes as long as the rest. Where all records are small, each is in its
        # row, and the size of the table bounds the value.
        small = size <= READ_BYTES and record_size <= SMALL_RECORD
        statement = _READ if small else _READ_IN_PARTS
        parameters = {"version": version_id, "rows": rows, "size": record_size}
        parts = cursor.execute(statement, parameters).fetchall()
    ids = b"".join(part[0] or b"" for part in parts)
    return ids, b"".join(part[1] or b"" for part in parts)


_READ: Final = """
SELECT string_agg(report_id, ''), string_agg(record, '') FROM inbox
WHERE version_id = %(version)s AND length(record) = %(size)s
"""

_READ_IN_PARTS: Final = """
SELECT string_agg(report_id, ''), string_agg(record, '') FROM (
  SELECT report_id, record, (row_number() OVER () - 1) / %(rows)s AS part
  FROM inbox WHERE version_id = %(version)s AND length(record) = %(size)s
) AS numbered GROUP BY part
"""


def empty_inbox(connection: Connection, version_id: int) -> None:
    """Delete the waiting reports of a version.

    Where no other reports wait and no transaction reads the table, it is truncated: nothing is left
    to vacuum. A transaction that stores a report meanwhile waits for the commit.
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
            attempt.rollback()  # which also releases the lock
    connection.execute(
        text("DELETE FROM inbox WHERE version_id = :version"), {"version": version_id}
    )


# The least and the greatest are looked up in the index. To find any other version, the planner
# would read all rows of a table that was not analysed.
_OTHERS_WAIT: Final = text("""
SELECT coalesce(min(version_id) <> :version OR max(version_id) <> :version, false) FROM inbox
""")


def insert_chunks(connection: Connection, chunks: dict[str, object]) -> None:
    """Insert ascending ids and their tags as chunks of a list."""
    driver = cast("DriverConnection[Any]", connection.connection.driver_connection)
    driver.execute(_INSERT_CHUNKS, chunks)
    ((planned_as_empty,),) = driver.execute(_PLANNED_AS_EMPTY).fetchall()
    if planned_as_empty:
        driver.execute("ANALYZE sealed_ids")


# %b passes bytes as they are, where text would take two characters for each.
_INSERT_CHUNKS: Final = f"""
INSERT INTO sealed_ids (version_id, age, first, tags, ids)
SELECT %(version)s, %(age)s,
  CASE i WHEN 0 THEN %(first)b ELSE substring(%(ids)b FROM {ID_SIZE} * i + 1 FOR {ID_SIZE}) END,
  substring(%(tags)b FROM {TAG_SIZE} * i + 1 FOR {TAG_SIZE} * %(most)s),
  substring(%(ids)b FROM {ID_SIZE} * i + 1 FOR {ID_SIZE} * %(most)s)
FROM generate_series(0, %(count)s - 1, %(most)s) AS place(i)
"""  # noqa: S608  # of this module's own text

# Sessions keep the plans of frequent statements. A plan that was made while PostgreSQL took the
# table for empty, as it does after a vacuum of the empty table, reads the whole table for every id.
# A later vacuum changes that only for statements that begin after it. ANALYZE has every session
# plan anew before it sees these rows. PostgreSQL assumes ten pages for a table that was never
# vacuumed.
_PLANNED_AS_EMPTY: Final = """
SELECT relpages < 10 FROM pg_class WHERE oid = 'sealed_ids'::regclass
"""


def vacuum(engine: Engine, deletions: Deletions) -> bool:
    """Vacuum the tables of which rows were deleted or replaced.

    A deleted row stays on its page with the numbers of the transactions that wrote and deleted it,
    so a spent token could be joined to the report that the same transaction stored. VACUUM frees
    pages and parts of them without overwriting them; so after a seal the inbox is written anew, and
    so are the tables that were erased. Return False if an older transaction could still see the
    rows, or a table was in use.
    """
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        # This is asked before: a vacuum leaves what they can see, even if they end meanwhile.
        hindered = connection.execute(text(_OLDER_TRANSACTIONS)).scalar_one()
        # Other statements would wait behind this one while it waits for a reader.
        connection.execute(text(f"SET lock_timeout = '{VACUUM_LOCK_TIMEOUT}'"))
        try:
            connection.execute(text("VACUUM respondent_tokens, invitations"))
            if hindered:
                return False
            if deletions.sealed:
                if connection.execute(text("SELECT pg_relation_size('inbox')")).scalar_one():
                    connection.execute(text("VACUUM (FULL) inbox"))
                # Earlier rows of these would tell the reports of the last seal from older reports.
                connection.execute(text("VACUUM segments, sealed_ids, aggregates, releases"))
            for table in sorted(deletions.erased):
                connection.execute(text(f"VACUUM ({_how(connection, table)}) {table}"))
        except OperationalError:
            return False
        finally:
            connection.execute(text(f"SET lock_timeout = '{SESSION['lock_timeout']}'"))
    return True


def _how(connection: Connection, table: str) -> str:
    """Return how to vacuum a table of which rows were erased.

    A withdrawn record leaves the inbox while devices send. Nobody can store anything while a table
    is written anew, so a large inbox is only vacuumed, and written anew by the next seal.
    """
    if table != inbox.name:
        return "FULL"
    size = connection.execute(text("SELECT pg_relation_size('inbox')")).scalar_one()
    return "FULL" if size <= REWRITTEN_BYTES else "TRUNCATE"


# Whether a transaction that began before this one could still see deleted rows: one with a snapshot
# or with changes of its own, one prepared to be committed, or one of a standby. Sessions without a
# database belong to such a standby.
_OLDER_TRANSACTIONS: Final = """
SELECT
  EXISTS (
    SELECT 1 FROM pg_stat_activity
    WHERE coalesce(datname, current_database()) = current_database()
      AND pid <> pg_backend_pid() AND greatest(age(backend_xmin), age(backend_xid)) > 0
  )
  OR EXISTS (SELECT 1 FROM pg_prepared_xacts WHERE database = current_database())
  OR EXISTS (SELECT 1 FROM pg_replication_slots WHERE age(xmin) > 0)
"""
