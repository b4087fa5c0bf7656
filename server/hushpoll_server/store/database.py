"""The database: its connections, transactions that read or write, and vacuum."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from typing import Any, Final

from sqlalchemy import (
    Connection,
    Engine,
    Executable,
    Table,
    create_engine,
    delete,
    event,
    insert,
)
from sqlalchemy.engine import URL, ExceptionContext, Result
from sqlalchemy.exc import DatabaseError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.url_text import read_url
from hushpoll_server.errors import Refused
from hushpoll_server.store.backend import Backend, Cutoff, Deletions, Key, Row, Session
from hushpoll_server.store.schema import write_probe

LOGGING_NAME = "hushpoll"
RETRY_AFTER_SECONDS = 2
BACKENDS: Final = ("sqlite", "postgresql")


class AutocommitConnections:
    """Open connections on which each statement is a transaction of its own, unless it opens one.

    There are as many as were ever in use at the same time. To take a connection out of a pool and
    to return it would cost a busy process more time than the statement does.
    """

    def __init__(self, engine: Engine) -> None:
        self._engine = engine.execution_options(isolation_level="AUTOCOMMIT")
        self._unused: list[tuple[int, Connection]] = []
        # Counts how often the database was found to have hung up: connections that were opened
        # before the last time are dead.
        self._age = 0
        event.listen(engine, "handle_error", self._note)

    @contextmanager
    def use(self) -> Iterator[Connection]:
        """Give a connection to one user; close it if anything fails on it."""
        age, connection = self._take()
        try:
            yield connection
        except BaseException:
            connection.invalidate()
            connection.close()
            raise
        self._unused.append((age, connection))

    def close(self) -> None:
        """Close the connections that are not in use."""
        while self._unused:
            self._unused.pop()[1].close()

    def _take(self) -> tuple[int, Connection]:
        current = self._age
        while self._unused:
            try:
                age, connection = self._unused.pop()
            except IndexError:  # another thread was faster
                break
            if age == current:
                return age, connection
            connection.invalidate()
            connection.close()
        return current, self._engine.connect()

    def _note(self, context: ExceptionContext) -> None:
        if context.is_disconnect:
            self._age += 1


class Database:
    """A durable database with transactions that read and transactions that write.

    Its URL is ``sqlite:///path`` or ``postgresql://user@host/database``; refused are others, a file
    that is no database, a server that does not answer, and settings under which no commit is
    durable. `session` and `inbox` are statements in the database's own SQL; see ``backend``. Its
    methods raise ``unavailable`` where it is down, locked for too long, out of space or read-only.
    """

    def __init__(self, url: str, *, pool_size: int = 32) -> None:
        parsed = parse_url(url)
        self.session, self.inbox = backend_of(parsed)
        self._failures: tuple[type[Exception], ...] = (PoolTimeout, *self.session.UNAVAILABLE)
        self.engine = _open(parsed, self.session, pool_size)
        self._reading = self.session.for_reading(self.engine)
        self._writing = self.session.for_writing(self.engine)
        self._autocommit = AutocommitConnections(self.engine)
        # SQLite polls for its lock. The threads of one process wait for their turn here instead,
        # where they are woken at once.
        self._turn = threading.Lock()
        # True at first: a process that was killed may have left something to vacuum.
        self._written = self._sealed = True
        self._erased: set[str] = set()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one consistent state and changes nothing."""
        with self._available(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def writing(
        self, *, sealing: int | None = None, catalogue: bool = False
    ) -> Iterator[Connection]:
        """Open a transaction that is durable once the block has ended without an exception.

        Until the commit no other transaction of any process stores reports of the version
        `sealing`, or seals it. With `catalogue` no other one that was opened so runs at the same
        time: for those that read before they write, such as a migration or a publication. If the
        answer to the commit was lost, the writes may have been stored though ``unavailable`` is
        raised.
        """
        with ExitStack() as stack:
            stack.enter_context(self._available())
            if self.session.ONE_WRITER:
                stack.enter_context(self._turn)
            connection = stack.enter_context(self._writing.begin())
            if catalogue:
                self.session.hold_catalogue(connection)
            if sealing is not None:
                self.session.hold_version(connection, sealing, exclusive=True)
            yield connection
            self._written = True
            if sealing is not None:
                self._sealed = True

    def read(self, statement: Executable) -> Result[*tuple[Any, ...]]:
        """Return the rows of a statement that is alone in its transaction."""
        with self.reading() as connection:
            return connection.execute(statement).freeze()()

    def write(self, statement: Executable, rows: Sequence[Mapping[str, Any]] | None = None) -> int:
        """Execute a statement that is alone in its transaction; return how many rows it changed."""
        with self.writing() as connection:
            return connection.execute(statement, rows).rowcount

    def insert_at_once(self, rows: Sequence[Row], cutoff: Cutoff) -> set[Key] | None:
        """Insert rows of one version into the inbox, in one durable exchange with the database.

        A row is (version, id, record); returned are the keys (version, id) that are new, or None if
        nothing was done, because of `cutoff` or since several statements are needed.
        """
        with ExitStack() as stack:
            stack.enter_context(self._available())
            if self.session.ONE_WRITER:
                stack.enter_context(self._turn)
            connection = stack.enter_context(self._autocommit.use())
            self._written = True
            return self.inbox.insert_at_once(connection, rows, cutoff)

    def share_version(self, connection: Connection, version_id: int) -> None:
        """Keep a version from being sealed until the transaction, which stores reports of it, ends.

        A transaction that needs several versions asks for them in ascending order.
        """
        self.session.hold_version(connection, version_id, exclusive=False)

    def exclude_reports(self, connection: Connection, version_id: int) -> None:
        """Keep every process from storing reports of a version until the transaction ends.

        Transactions that are storing some end first.
        """
        self.session.hold_version(connection, version_id, exclusive=True)

    def erase(self, *tables: Table) -> None:
        """Remove, now or in a later `vacuum`, all that is left of what was deleted from tables."""
        self._erased.update(table.name for table in tables)
        self.vacuum()

    def erase_soon(self, *tables: Table) -> None:
        """Let the next `vacuum` remove all that is left of what was deleted from tables."""
        self._erased.update(table.name for table in tables)

    def vacuum(self) -> bool:
        """Remove the traces of deleted rows; return False if that must be tried again later.

        SQLite's log keeps what each transaction wrote, and PostgreSQL's pages keep deleted rows
        with the transactions that deleted them. Both would tell in which order reports were stored,
        which token was spent with each, and which reports were sealed since. After ``unavailable``
        the next call does what is left to do.
        """
        if not (self._written or self._sealed or self._erased):
            return True
        with ExitStack() as stack:
            stack.enter_context(self._available())
            if self.session.ONE_WRITER:
                stack.enter_context(self._turn)
            deletions = Deletions(self._sealed, frozenset(self._erased))
            self._written = self._sealed = False
            self._erased -= deletions.erased
            done = False
            try:
                done = self.inbox.vacuum(self.engine, deletions)
            finally:
                if not done:
                    self._written, self._sealed = True, self._sealed or deletions.sealed
                    self._erased |= deletions.erased
        return done

    def probe(self) -> None:
        """Make a small durable write, which shows whether the database can store anything.

        On SQLite it is larger than the commit of one report: a smaller one would still find room in
        the log that a failed commit has left on a full disk.
        """
        with self.writing() as connection:
            connection.execute(delete(write_probe))
            zeros = bytes(self.session.PROBE_BYTES)
            connection.execute(insert(write_probe).values(id=1, data=zeros))

    def room(self) -> tuple[int, int | None, int | None]:
        """Return the bytes of the database, and those free and in all on its disk.

        The last two are None of a database on another machine.
        """
        with self.reading() as connection:
            return self.session.room(connection)

    def close(self) -> None:
        """Close every connection."""
        self._autocommit.close()
        self.engine.dispose()

    @contextmanager
    def _available(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # In most places SQLAlchemy wraps the driver's exceptions.
            cause = error.orig if isinstance(error, DatabaseError) else error
            if not isinstance(cause, self._failures):
                raise
            raise Refused(
                "unavailable",
                f"the database does not answer; send the same again after {RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            ) from error


class Store:
    """Statements on some of a database's tables."""

    def __init__(self, database: Database) -> None:
        self._database = database


def parse_url(url: str) -> URL:
    """Return the URL of a database that this release serves, with its driver; refuse any other."""
    parsed = read_url(url)
    if parsed is None:
        # Such a text can contain a password.
        shown = repr(url) if "@" not in url else "a text (not shown: it may hold a password)"
        remedy = "write sqlite:///path.sqlite or postgresql://user@host/database"
        if "@" in url:
            remedy += (
                ", and percent-encode what a password has of @ : / ? # [ ] %: @ is %40, : is %3A, "
                "/ is %2F, ? is %3F, # is %23, [ is %5B, ] is %5D, % is %25"
            )
        raise InvalidParameter(
            f"DATABASE_URL is {shown}, which is no database URL; {remedy}", field="DATABASE_URL"
        ) from None
    if parsed.get_backend_name() not in BACKENDS:
        raise InvalidParameter(
            f"DATABASE_URL names {parsed.get_backend_name()!r}; this release serves SQLite and "
            "PostgreSQL: write sqlite:///path.sqlite or postgresql://user@host/database",
            field="DATABASE_URL",
        )
    return backend_of(parsed).session.check_url(parsed)


def backend_of(url: URL) -> Backend:
    """Return the modules that serve the database of a URL, which has the name of a backend.

    Each is loaded with its first URL: a server on SQLite needs no driver of PostgreSQL.
    """
    if url.get_backend_name() == "sqlite":
        from hushpoll_server.store.sqlite import inbox as sqlite_inbox
        from hushpoll_server.store.sqlite import session as sqlite_session

        return Backend(sqlite_session, sqlite_inbox)
    from hushpoll_server.store.postgresql import inbox as postgresql_inbox
    from hushpoll_server.store.postgresql import session as postgresql_session

    return Backend(postgresql_session, postgresql_inbox)


def _open(url: URL, session: Session, pool_size: int) -> Engine:
    session.make_ready(url)
    # Otherwise exceptions of the driver would print reports into the log, and so would the engine's
    # own log where an embedding application has turned on DEBUG for all loggers.
    logging.getLogger(f"sqlalchemy.engine.Engine.{LOGGING_NAME}").setLevel(logging.WARNING)
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        hide_parameters=True,
        logging_name=LOGGING_NAME,
        **session.engine_options(),
    )
    session.install(engine)
    try:
        session.check_server(engine)
    except DatabaseError as error:
        engine.dispose()
        raise session.unusable(url, str(error.orig).strip()) from None
    except BaseException:
        engine.dispose()
        raise
    return engine
