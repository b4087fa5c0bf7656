"""How SQLite's inbox is read, emptied and forgotten, and sealed ids are written."""

from __future__ import annotations

from collections.abc import Collection
from typing import Final

from sqlalchemy import Connection, Engine, text

from hushpoll_server.store.backend import Waiting
from hushpoll_server.store.sqlite.session import BUSY_MILLISECONDS
from hushpoll_server.store.tables.sealed_ids import ID_SIZE, TAG_SIZE

# Reports that are handed over as one value.
GATHERED_ROWS: Final = 65_536
GATHERED_BYTES: Final = 64 * 2**20
# Such a row fills a page.
CHUNK_IDS: Final = 220
# Ids are in no order, so that a batch writes to every page of an inbox: the smaller, the faster.
BULK_FACTOR: Final = 1
# The pages that this frees are written to next, so that each goes through the log once.
EMPTIES_FIRST: Final = True
CHECKPOINT_BUSY_MILLISECONDS = 50


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


def forget(engine: Engine, *, sealed: bool, erased: Collection[str] = ()) -> bool:  # noqa: ARG001
    """Move the write-ahead log into the database file and empty it.

    What was deleted, and the order in which things were written, stay in the log's old frames
    until this has happened: all kinds of it. The file holds zeros in its place (secure_delete).

    Returns
    -------
    bool
        False if a reader still needs the log; try again later.
    """
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {CHECKPOINT_BUSY_MILLISECONDS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            answer = cursor.fetchone()
        finally:  # its next use waits for other processes as before
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
            cursor.close()
    finally:
        raw.close()
    return answer is not None and answer[0] == 0
