"""How reports are put into SQLite's inbox, and their ids looked for among the sealed ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from sqlalchemy import Connection, select

from hushpoll_server.store.schema import inbox
from hushpoll_server.store.sqlite.sealing import CHUNK_IDS
from hushpoll_server.store.standing_connections import StandingConnections
from hushpoll_server.store.tables.closing import TAKES_REPORTS, Cutoff
from hushpoll_server.store.tables.sealed_ids import OLD, TAG_SIZE, YOUNG


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
    connections: StandingConnections, rows: Sequence[tuple[int, bytes, bytes]], cutoff: Cutoff
) -> set[tuple[int, bytes]] | None:
    """Put rows of one version into the inbox by one statement, in a transaction of its own.

    A statement for each row would have to wait for its turn behind other threads after each. None
    if an id is not new, or the version takes no reports: it is for those statements to tell which.
    """
    parameters = {
        "last": len(rows) - 1,
        "version": rows[0][0],
        "size": len(rows[0][2]),
        "ids": b"".join([row[1] for row in rows]),
        "records": b"".join([row[2] for row in rows]),
        **cutoff._asdict(),
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
AND EXISTS (
  SELECT 1 FROM survey_versions WHERE id = :version AND
  {TAKES_REPORTS.format(accepts_until=":accepts_until", closes=":closes")}
)
"""  # noqa: S608  # of this module's own text

# The ids are cut out once: each time would be a copy of all.
_ANY_SEALED: Final = f"""
WITH RECURSIVE place(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM place WHERE i < :last),
new(report_id) AS MATERIALIZED (SELECT substr(:ids, 1 + 16 * i, 16) FROM place)
SELECT EXISTS (SELECT 1 FROM sealed_ids WHERE version_id = :version)
  AND EXISTS (SELECT 1 FROM new WHERE {_is_sealed(":version", "report_id")})
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


def waiting(
    connection: Connection, version_id: int, report_ids: Sequence[bytes]
) -> dict[bytes, bytes]:
    """Return the records of those of the ids that are in the inbox."""
    # With a range beside them SQLite would read all of the range.
    found = select(inbox.c.report_id, inbox.c.record).where(
        inbox.c.version_id == version_id, inbox.c.report_id.in_(report_ids)
    )
    return {row.report_id: row.record for row in connection.execute(found)}
