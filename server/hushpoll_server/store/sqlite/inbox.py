"""SQLite: reports are put into the inbox and read from it, and ids looked for and sealed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, Engine, select, text

from hushpoll_server.store.backend import TAKES_REPORTS, Cutoff, Deletions, Key, Row
from hushpoll_server.store.schema import ID_SIZE, OLD, TAG_SIZE, YOUNG, inbox
from hushpoll_server.store.sqlite.session import BUSY_MILLISECONDS

# A row with so many ids fills a page.
CHUNK_IDS: Final = 220
# Ids are in no order, so a batch writes to every page of the inbox: the smaller, the faster.
BULK_FACTOR: Final = 1
# The pages that this frees are written to next, so that each goes through the log once.
EMPTIES_FIRST: Final = True
# Reports that are read as one value.
READ_ROWS: Final = 65_536
READ_BYTES: Final = 64 * 2**20
CHECKPOINT_BUSY_MILLISECONDS = 50

# Whether {id} is in one of the two chunks that can hold it. The ids of a chunk are read only if the
# tag is in it. An id that is found in them must stand where an id begins: the end of one and the
# beginning of the next can make up a third.
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

# The places 0..last, at which rows are cut out of two values.
_PLACES: Final = """
WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i < :last)"""

_INSERT_AT_ONCE: Final = f"""
INSERT OR IGNORE INTO inbox (version_id, report_id, record) {_PLACES},
new(report_id, record) AS MATERIALIZED (
  SELECT substr(:ids, 1 + 16 * i, 16), substr(:records, 1 + :size * i, :size) FROM place
)
SELECT :version, report_id, record FROM new WHERE NOT {_is_sealed(":version", "report_id")}
AND EXISTS (
  SELECT 1 FROM survey_versions WHERE id = :version AND
  {TAKES_REPORTS.format(accepts_until=":accepts_until", closes=":closes")}
)
"""  # noqa: S608  # of this module's own text

_INSERT_BATCH: Final = f"""
INSERT OR IGNORE INTO inbox (version_id, report_id, record) {_PLACES}
SELECT :version, substr(:ids, 1 + 16 * i, 16), substr(:records, 1 + :size * i, :size)
FROM place
"""  # noqa: S608  # of this module's own text

# The ids are cut out once: each time would be a copy of all.
_ANY_SEALED: Final = f"""{_PLACES},
new(report_id) AS MATERIALIZED (SELECT substr(:ids, 1 + 16 * i, 16) FROM place)
SELECT EXISTS (SELECT 1 FROM sealed_ids WHERE version_id = :version)
  AND EXISTS (SELECT 1 FROM new WHERE {_is_sealed(":version", "report_id")})
"""  # noqa: S608  # of this module's own text


def insert_new(connection: Connection, rows: Sequence[Row]) -> set[Key]:
    """Insert the rows whose id is new, and return their keys."""
    cursor = connection.connection.cursor()
    try:
        return {row[:2] for row in rows if cursor.execute(_INSERT_NEW, row).rowcount}
    finally:
        cursor.close()


def insert_at_once(connection: Connection, rows: Sequence[Row], cutoff: Cutoff) -> set[Key] | None:
    """Insert rows of one version by one statement, in a transaction of its own.

    After each of several statements the thread would wait for its turn behind other threads. None
    if an id is not new, or the version takes no reports: several statements find out which.
    """
    parameters = {
        "last": len(rows) - 1,
        "version": rows[0][0],
        "size": len(rows[0][2]),
        "ids": b"".join([row[1] for row in rows]),
        "records": b"".join([row[2] for row in rows]),
        **cutoff._asdict(),
    }
    # Where a statement fails the connection is closed, and the transaction rolled back.
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
    """Insert uint8[n, 16] ids and uint8[n, L] records if every id is new.

    One statement cuts the rows out of two values, in half the time of a statement for each row:
    Python makes no object for each report, and other threads run meanwhile.
    """
    last, data = len(ids) - 1, ids.tobytes()
    parameters = {
        "last": last,
        "version": version_id,
        "size": records.shape[1],
        "ids": data,
        "records": records.tobytes(),
    }
    with connection.begin_nested() as attempt:
        inserted = connection.exec_driver_sql(_INSERT_BATCH, parameters).rowcount
        known = {"version": version_id, "last": last, "ids": data}
        if inserted != len(ids) or connection.exec_driver_sql(_ANY_SEALED, known).scalar_one():
            attempt.rollback()
            return False
    return True


def waiting(
    connection: Connection, version_id: int, report_ids: Sequence[bytes]
) -> dict[bytes, bytes]:
    """Return the records of those of the ids that are in the inbox."""
    # With a range as an additional condition SQLite would read the whole range.
    records = select(inbox.c.report_id, inbox.c.record).where(
        inbox.c.version_id == version_id, inbox.c.report_id.in_(report_ids)
    )
    return {row.report_id: row.record for row in connection.execute(records)}


def sealed(connection: Connection, version_id: int, report_ids: Sequence[bytes]) -> set[bytes]:
    """Return those of the ids that are sealed."""
    cursor = connection.connection.cursor()
    try:
        return {
            report_id
            for report_id in report_ids
            if cast("Any", cursor.execute(_SEALED, (version_id, report_id))).fetchone()[0]
        }
    finally:
        cursor.close()


_SEALED: Final = "SELECT " + _is_sealed("?1", "?2")


def read_inbox(connection: Connection, version_id: int, record_size: int) -> tuple[bytes, bytes]:
    """Return the ids of waiting reports, ascending, and their records.

    Many reports as one value are read several times as fast as a row for each.
    """
    rows = max(1, min(READ_ROWS, READ_BYTES // record_size))
    ids: list[bytes] = []
    records: list[bytes] = []
    count = rows
    while count == rows:
        after = ids[-1][-ID_SIZE:] if ids else b""
        parameters = {"version": version_id, "after": after, "rows": rows, "size": record_size}
        count, joined_ids, joined_records = connection.execute(_READ, parameters).one()
        lengths = (len(joined_ids or b""), len(joined_records or b""))
        if lengths != (ID_SIZE * count, record_size * count):
            # Some releases of SQLite end such a value at its first zero.
            _, *in_hex = connection.execute(_READ_IN_HEX, parameters).one()
            joined_ids, joined_records = map(bytes.fromhex, in_hex)
        ids.append(joined_ids or b"")
        records.append(joined_records or b"")
    return b"".join(ids), b"".join(records)


_NEXT_ROWS: Final = """
FROM (
  SELECT report_id, record FROM inbox
  WHERE version_id = :version AND report_id > :after AND length(record) = :size
  ORDER BY report_id LIMIT :rows
)
"""

# SQLite joins texts but not blobs; it takes a blob for a text as it is, byte by byte.
_READ: Final = text(f"""
SELECT count(*),
  CAST(group_concat(CAST(report_id AS TEXT), '') AS BLOB),
  CAST(group_concat(CAST(record AS TEXT), '') AS BLOB) {_NEXT_ROWS}
""")  # of this module's own text

_READ_IN_HEX: Final = text(f"""
SELECT count(*), group_concat(hex(report_id), ''), group_concat(hex(record), '') {_NEXT_ROWS}
""")  # of this module's own text


def empty_inbox(connection: Connection, version_id: int) -> None:
    """Delete the waiting reports of a version; whole pages where no other version's wait."""
    if connection.execute(_OTHERS_WAIT, {"version": version_id}).scalar_one():
        connection.execute(_EMPTY_OF, {"version": version_id})
    else:
        connection.exec_driver_sql("DELETE FROM inbox")


_OTHERS_WAIT: Final = text("""
SELECT EXISTS (SELECT 1 FROM inbox WHERE version_id < :version)
  OR EXISTS (SELECT 1 FROM inbox WHERE version_id > :version)
""")
_EMPTY_OF: Final = text("DELETE FROM inbox WHERE version_id = :version")


def insert_chunks(connection: Connection, chunks: dict[str, object]) -> None:
    """Insert ascending ids and their tags as chunks of a list."""
    connection.exec_driver_sql(_INSERT_CHUNKS, chunks)


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


def vacuum(engine: Engine, _deletions: Deletions) -> bool:
    """Move the write-ahead log into the file and empty it; False if a reader still needs it.

    Until then old pages of the log hold what was deleted, whatever it was, and the order in which
    everything was written. In the file, zeros overwrite what is deleted (``secure_delete``).
    """
    raw = engine.raw_connection()
    try:
        cursor = raw.cursor()
        cursor.execute(f"PRAGMA busy_timeout = {CHECKPOINT_BUSY_MILLISECONDS}")
        try:
            cursor.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            answer = cursor.fetchone()
        finally:  # the connection's next user waits for other processes as long as before
            cursor.execute(f"PRAGMA busy_timeout = {BUSY_MILLISECONDS}")
            cursor.close()
    finally:
        raw.close()
    return answer is not None and answer[0] == 0
