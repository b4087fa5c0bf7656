"""PostgreSQL: the settings of sessions, transactions, and advisory locks."""

from __future__ import annotations

from typing import Any, Final

from psycopg import Connection as DriverConnection
from psycopg import OperationalError as DriverError
from psycopg.errors import ReadOnlySqlTransaction
from sqlalchemy import Connection, Engine, event, text
from sqlalchemy.engine import URL

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import NotDurable

ONE_WRITER: Final = False
# A lost connection, a statement that was cancelled or has waited for too long, a full disk; and a
# standby, or a database that was made read-only.
UNAVAILABLE: tuple[type[Exception], ...] = (DriverError, ReadOnlySqlTransaction)
# Such a row fits into a page; what is stored outside of a row would need a vacuum after each write.
PROBE_BYTES: Final = 1024
DRIVER: Final = "postgresql+psycopg"
ENCODING: Final = "UTF8"
# How often one session is asked for its number, and another one in between.
LOOKS: Final = 3

# synchronous_commit can be switched off for a role or a database, so each session switches it on.
# A request gives up after 30 s, so its statements must not wait much longer for a lock, and a lock
# of a lost client must not stop the writer for good.
SESSION: Final = {
    "synchronous_commit": "on",
    "lock_timeout": "25s",
    "statement_timeout": "10min",
    "idle_in_transaction_session_timeout": "10min",
}
# Without these, an acknowledged report could be lost in a power cut. The first two are settings of
# the server's own configuration.
DURABLE: Final = {"fsync": "on", "full_page_writes": "on", "synchronous_commit": "on"}

# Advisory locks are numbers in a database that have the meaning which a program gives them.
VERSION_LOCKS: Final = 0x68757368
CATALOGUE_LOCKS: Final = 0x68757369


def check_url(url: URL) -> URL:
    """Return the URL with psycopg 3 as its driver; refuse another driver, and no database."""
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
    """Do nothing: an administrator of PostgreSQL creates the database."""


def engine_options() -> dict[str, object]:
    """Return arguments of ``create_engine``."""
    return {
        "isolation_level": "READ COMMITTED",
        "connect_args": {
            "connect_timeout": 10,
            "application_name": "hushpoll",
            # Whatever a role, a database or PGCLIENTENCODING says.
            "client_encoding": ENCODING,
        },
        # hstore is not used; looking for it would cost every start a statement.
        "use_native_hstore": False,
    }


def install(engine: Engine) -> None:
    """Set each session's settings, and check that a commit is durable."""
    event.listen(engine, "connect", prepare)
    event.listen(engine, "begin", _begin)


def prepare(connection: DriverConnection[Any], _record: Any) -> None:
    """Set the settings of a new session; refuse a server whose commits a crash can undo."""
    connection.autocommit = True
    try:
        for name, value in SESSION.items():
            connection.execute("SELECT set_config(%s, %s, false)", (name, value))
        for name, expected in DURABLE.items():
            row = connection.execute("SELECT current_setting(%s)", (name,)).fetchone()
            answer = None if row is None else row[0]
            if answer != expected:
                raise NotDurable(
                    f"PostgreSQL answers {name} = {answer!r} where {expected!r} is needed for an "
                    "acknowledged report to be durable; set it in postgresql.conf and reload"
                )
    finally:
        connection.autocommit = False


def check_server(engine: Engine) -> None:
    """Refuse a database whose encoding, schema or connections are not fit."""
    autocommit = engine.execution_options(isolation_level="AUTOCOMMIT")
    with autocommit.connect() as connection:
        encoding, schema, path = connection.exec_driver_sql(
            "SELECT current_setting('server_encoding'), current_schema(), "
            "current_setting('search_path')"
        ).one()
        name = engine.url.database
        if encoding != ENCODING:
            raise InvalidParameter(
                f"DATABASE_URL names the database {name!r}, whose encoding is {encoding} and which "
                "cannot hold every text of a survey; make one with CREATE DATABASE name "
                "ENCODING 'UTF8' TEMPLATE template0, and move what is in this one by pg_dump",
                field="DATABASE_URL",
            )
        if schema is None:
            raise InvalidParameter(
                f"DATABASE_URL names the database {name!r}, in which search_path is {path!r} and "
                "names no schema that exists and that the user may use; create it (CREATE SCHEMA), "
                "allow its use (GRANT USAGE), or correct search_path in the URL's options, by "
                "ALTER ROLE or by ALTER DATABASE",
                field="DATABASE_URL",
            )
        _require_session(connection, engine)


def _require_session(connection: Connection, engine: Engine) -> None:
    """Refuse a pooler that gives a session to others between two transactions of a connection.

    One connection is asked for its session's number, while another one keeps a transaction open.
    In a session of its own, the number stays, and no other connection has it.
    """
    own = {_number(connection) for _ in range(LOOKS)}
    with engine.connect() as other:
        taken = _number(other)
        shared = len(own) > 1 or taken in own
        shared = shared or {_number(connection) for _ in range(LOOKS)} != own
        other.rollback()
    if shared:
        raise InvalidParameter(
            "DATABASE_URL leads to a connection pooler that gives the session to others after each "
            "transaction (in PgBouncer: pool_mode = transaction). Settings that make a commit "
            "durable, and a function that stores reports, belong to a session, so reports would be "
            "refused or lost. Give the address of PostgreSQL itself, or set pool_mode = session "
            "for this database in the pooler",
            field="DATABASE_URL",
        )


def _number(connection: Connection) -> int:
    return int(connection.exec_driver_sql("SELECT pg_backend_pid()").scalar_one())


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

    So a transaction that has waited for a lock sees what the lock's last holder wrote.
    """
    return engine


def _begin(connection: Connection) -> None:
    # After a read-only transaction SQLAlchemy sets the connection to READ WRITE, which would
    # override an operator's default_transaction_read_only on that connection alone.
    driver = connection.connection.driver_connection
    if isinstance(driver, DriverConnection) and not connection.get_execution_options().get(
        "postgresql_readonly"
    ):
        driver.read_only = None


def hold_version(connection: Connection, version_id: int, *, exclusive: bool) -> None:
    """Take the lock of a version until the transaction ends.

    Storing reports shares it and sealing holds it alone. No constraint spans two tables, and an id
    must be in the inbox or among the sealed ids, never in both and never in neither.
    """
    connection.exec_driver_sql(
        "SELECT pg_advisory_xact_lock(%s, %s)"
        if exclusive
        else "SELECT pg_advisory_xact_lock_shared(%s, %s)",
        (VERSION_LOCKS, version_id),
    )


def hold_catalogue(connection: Connection) -> None:
    """Take the lock of rare changes that read before they write, however long that takes."""
    connection.execute(text("SET LOCAL lock_timeout = 0"))
    connection.execute(text("SET LOCAL statement_timeout = 0"))
    connection.execute(text("SELECT pg_advisory_xact_lock(:class, 0)"), {"class": CATALOGUE_LOCKS})


def hold_inbox(connection: Connection) -> None:
    """Take a lock for which emptying the inbox waits.

    A truncated table looks empty to a transaction that began to read before; taking a lock is not
    yet reading (PostgreSQL's documentation of LOCK and of TRUNCATE, "Notes").
    """
    connection.execute(text("LOCK TABLE inbox IN ACCESS SHARE MODE"))


def room(connection: Connection) -> tuple[int, None, None]:
    """Return the bytes of the database; its disk may be another machine's."""
    statement = text("SELECT pg_database_size(current_database())")
    return int(connection.execute(statement).scalar_one()), None, None
