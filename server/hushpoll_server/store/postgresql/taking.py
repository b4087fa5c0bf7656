"""How reports are put into PostgreSQL's inbox, and their ids looked for among the sealed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from psycopg import Connection as DriverConnection
from psycopg.errors import InsufficientPrivilege, UniqueViolation
from sqlalchemy import Connection, select, text
from sqlalchemy.exc import ProgrammingError

from hushpoll_server.store.postgresql.session import VERSION_LOCKS
from hushpoll_server.store.schema import inbox
from hushpoll_server.store.standing_connections import StandingConnections
from hushpoll_server.store.tables.closing import TAKES_REPORTS, Cutoff
from hushpoll_server.store.tables.sealed_ids import ID_SIZE, OLD, TAG_SIZE, YOUNG

# Signature, flags and length of the header's extension; a tuple of -1 fields ends the file.
COPY_HEADER: Final = b"PGCOPY\n\xff\r\n\0" + bytes(8)
COPY_TRAILER: Final = b"\xff\xff"


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
    connections: StandingConnections, rows: Sequence[tuple[int, bytes, bytes]], cutoff: Cutoff
) -> set[tuple[int, bytes]] | None:
    """Put rows of one version into the inbox in a transaction of one exchange; see `insert_new`.

    None if the role may make no temporary functions, or the version takes no reports.
    """
    version_id, size = rows[0][0], len(rows[0][2])
    ids = b"".join([row[1] for row in rows])
    with connections.use() as connection:
        if not _has_function(connection):
            return None
        parameters = (version_id, ids, size, b"".join([row[2] for row in rows]), *cutoff)
        stored = connection.exec_driver_sql(_CALL, parameters).scalar_one()
    if stored is None:
        return None
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


def sealed(connection: Connection, version_id: int, report_ids: Sequence[bytes]) -> set[bytes]:
    """Return those of the ids that are sealed."""
    found = connection.exec_driver_sql(_SEALED, ([version_id], list(report_ids)))
    return {bytes(one) for one in found.scalars()}


_SEALED: Final = f"""
SELECT new.report_id
FROM unnest(%s::integer[]) AS one (version_id), unnest(%s::bytea[]) AS new (report_id)
WHERE {_is_sealed("one.version_id", "new.report_id")}
"""  # noqa: S608  # of this module's own text


def waiting(
    connection: Connection, version_id: int, report_ids: Sequence[bytes]
) -> dict[bytes, bytes]:
    """Return the records of those of the ids that are in the inbox."""
    # Of ids PostgreSQL keeps no statistics: it takes each for that of every 200th report, and would
    # read all for some. A range it takes for few.
    found = select(inbox.c.report_id, inbox.c.record).where(
        inbox.c.version_id == version_id,
        inbox.c.report_id.in_(report_ids),
        inbox.c.report_id.between(min(report_ids), max(report_ids)),
    )
    return {row.report_id: row.record for row in connection.execute(found)}
