"""Everything that holds for PostgreSQL alone: settings, isolation, locks, vacuuming.

No other module but ``sqlite`` contains SQL that a second database would not accept.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final, cast

import numpy as np
import numpy.typing as npt
from psycopg import Connection as DriverConnection
from psycopg.errors import UniqueViolation
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import OperationalError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import NotDurable

# Records that are handed over as one value.
GATHERED_ROWS: Final = 65_536
GATHERED_BYTES: Final = 64 * 2**20
ONE_WRITER: Final = False
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


# A LIMIT, as below, so that a sealed id is looked for in the index whatever the statistics say.
_INSERT_NEW: Final = """
INSERT INTO inbox (version_id, report_id, record)
SELECT * FROM unnest(%s::integer[], %s::bytea[], %s::bytea[]) AS new (version_id, report_id, record)
WHERE (
  SELECT true FROM seen_ids
  WHERE seen_ids.version_id = new.version_id AND seen_ids.report_id = new.report_id LIMIT 1
) IS NULL
ON CONFLICT DO NOTHING
RETURNING version_id, report_id
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
        if connection.execute(_ANY_SEEN, parameters).scalar_one():
            attempt.rollback()
            return False
    return True


# LIMIT keeps the planner to one look into the index per id: a join would be planned for the few
# rows that the table had when it was last analysed, and read it whole for every id.
_ANY_SEEN: Final = text("""
SELECT EXISTS (
  SELECT 1 FROM generate_series(0, CAST(:last AS integer)) AS place(i)
  CROSS JOIN LATERAL (
    SELECT 1 FROM seen_ids
    WHERE version_id = CAST(:version AS integer)
      AND report_id = substring(CAST(:ids AS bytea) FROM 16 * i + 1 FOR 16)
    LIMIT 1
  ) AS seen
)
""")


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


def gathered(connection: Connection, version_id: int, record_size: int) -> bytes:
    """Return the records that wait of a version, one after the other; many as one value."""
    rows = max(1, min(GATHERED_ROWS, GATHERED_BYTES // record_size))
    parts = connection.execute(_GATHERED, {"version": version_id, "rows": rows}).scalars()
    return b"".join(map(bytes, parts))


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
            connection.execute(text("VACUUM (FULL) inbox"))
            # A segment that was shuffled anew with a fold's reports would tell them from the older.
            connection.execute(text("VACUUM segments"))
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

_GATHERED: Final = text(
    "SELECT string_agg(record, '') FROM "
    "(SELECT record, (row_number() OVER () - 1) / :rows AS part FROM inbox "
    "WHERE version_id = :version) AS numbered GROUP BY part"
)
