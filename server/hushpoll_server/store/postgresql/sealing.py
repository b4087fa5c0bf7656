"""How PostgreSQL's inbox is read, emptied and forgotten, and sealed ids are written."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Final, cast

from psycopg import Connection as DriverConnection
from sqlalchemy import Connection, Engine, text
from sqlalchemy.exc import OperationalError

from hushpoll_server.store.backend import Waiting
from hushpoll_server.store.postgresql.session import SESSION
from hushpoll_server.store.tables.sealed_ids import ID_SIZE, TAG_SIZE

# Reports that are handed over as one value.
GATHERED_ROWS: Final = 65_536
GATHERED_BYTES: Final = 64 * 2**20
SMALL_RECORD: Final = 1_024
# Such a row is just below two kilobytes, beyond which it would be cut up and put elsewhere.
CHUNK_IDS: Final = 96
# Once ids are sealed, looking for new ones among them takes half as long as storing those.
BULK_FACTOR: Final = 100
# Nobody stores a report from then until the commit.
EMPTIES_FIRST: Final = False
VACUUM_LOCK_TIMEOUT: Final = "50ms"


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
    ((taken_for_empty,),) = driver.execute(_TAKEN_FOR_EMPTY).fetchall()
    if taken_for_empty:
        driver.execute("ANALYZE sealed_ids")


# %b: as it is, where text would have two characters for a byte.
_INSERT_CHUNKS: Final = f"""
INSERT INTO sealed_ids (version_id, age, first, tags, ids)
SELECT %(version)s, %(age)s,
  CASE i WHEN 0 THEN %(first)b ELSE substring(%(ids)b FROM {ID_SIZE} * i + 1 FOR {ID_SIZE}) END,
  substring(%(tags)b FROM {TAG_SIZE} * i + 1 FOR {TAG_SIZE} * %(most)s),
  substring(%(ids)b FROM {ID_SIZE} * i + 1 FOR {ID_SIZE} * %(most)s)
FROM generate_series(0, %(last)s, %(most)s) AS place(i)
"""  # noqa: S608  # of this module's own text

# Sessions keep the plans of what they ask often. One that was made while the table was taken for
# empty, as it is once it was vacuumed so, reads the whole table for every id; vacuuming again puts
# an end to that, but only for what begins later. Analysing has every session plan anew, before it
# sees these rows. A table that was never vacuumed is taken for one of ten pages.
_TAKEN_FOR_EMPTY: Final = """
SELECT relpages < 10 FROM pg_class WHERE oid = 'sealed_ids'::regclass
"""


def forget(engine: Engine, *, sealed: bool, erased: Collection[str] = ()) -> bool:
    """Vacuum what was deleted.

    A deleted row stays on its page, with the numbers of the transactions that wrote and deleted
    it: a spent token could be joined to the report that was stored by the same transaction. After a
    seal the inbox is written anew, and so are the tables `erased`, since vacuuming frees pages and
    parts of them without overwriting them.

    Returns
    -------
    bool
        False if an older transaction could still see the rows, or a table was in use; try again
        later.
    """
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        # Asked before: vacuuming leaves what they can see, even if they end meanwhile.
        hindered = connection.execute(text(_OLDER_TRANSACTIONS)).scalar_one()
        # Nobody should wait for this behind a reader.
        connection.execute(text(f"SET lock_timeout = '{VACUUM_LOCK_TIMEOUT}'"))
        try:
            connection.execute(text("VACUUM respondent_tokens"))
            if hindered:
                return False
            if sealed:
                if connection.execute(text("SELECT pg_relation_size('inbox')")).scalar_one():
                    connection.execute(text("VACUUM (FULL) inbox"))
                # What was written anew with a seal's reports would tell them from the older: a
                # segment, a chunk of ids, the counts.
                connection.execute(text("VACUUM segments, sealed_ids, folded_counts, releases"))
            for table in sorted(erased):
                connection.execute(text(f"VACUUM (FULL) {table}"))
        except OperationalError:
            return False
        finally:
            connection.execute(text(f"SET lock_timeout = '{SESSION['lock_timeout']}'"))
    return True


# Whether there are transactions that began before this one and keep others' deleted rows: with a
# snapshot or with changes of their own, those prepared to be committed, and those of a standby.
# Sessions without a database are such a standby's.
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
