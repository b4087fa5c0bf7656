"""Opening the database, and the two kinds of transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import Final

from sqlalchemy import Connection, Engine, Table, create_engine, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DatabaseError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.errors import Refused
from hushpoll_server.store import postgresql, sqlite
from hushpoll_server.store.backend import Backend
from hushpoll_server.store.standing_connections import StandingConnections
from hushpoll_server.store.tables.closing import Cutoff

LOGGING_NAME = "hushpoll"
RETRY_AFTER_SECONDS = 2
BACKENDS: Final[dict[str, Backend]] = {"sqlite": sqlite, "postgresql": postgresql}


class Database:
    """A durable database with read and write transactions.

    Parameters
    ----------
    url : str
        SQLAlchemy URL; ``sqlite:///path`` or ``postgresql://user@host/database``.
    pool_size : int
        Connections kept open.

    Raises
    ------
    InvalidParameter
        The URL cannot be read, names a database that this release does not serve, a file that
        is none, or a PostgreSQL that does not answer.
    NotDurable
        The database refuses the settings under which a commit is durable.
    """

    def __init__(self, url: str, *, pool_size: int = 32) -> None:
        parsed = parse_url(url)
        self.backend = backend_of(parsed)
        self._failures: tuple[type[Exception], ...] = (
            PoolTimeout,
            *self.backend.UNAVAILABLE,
        )
        self.engine = _open(parsed, self.backend, pool_size)
        self._reading = self.backend.for_reading(self.engine)
        self._writing = self.backend.for_writing(self.engine)
        self._at_once = StandingConnections(self.engine)
        # Where there is one writer at a time, it polls for its turn; threads of one process queue
        # here instead, which wakes them at once.
        self._turn = threading.Lock()
        # At the start as well: a process that was killed left its history behind.
        self._written = self._sealed = True
        self._erased: set[str] = set()

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one consistent state and changes nothing.

        Raises
        ------
        Refused
            ``unavailable``: the database is down, locked for too long, or out of space.
        """
        with self._available(), self._reading.begin() as connection:
            yield connection

    @contextmanager
    def writing(
        self, *, sealing: int | None = None, catalogue: bool = False
    ) -> Iterator[Connection]:
        """Open a transaction that is durable once the block has ended without an exception.

        Parameters
        ----------
        sealing : int or None
            Survey version whose inbox is moved: until the end, no report of it is taken and nobody
            else seals it, in this process or another.
        catalogue : bool
            No other transaction opened like this runs at the same time: for what looks before it
            writes, such as a migration or a publication.

        Raises
        ------
        Refused
            ``unavailable``, as ``reading``. What was written may be stored nevertheless, if it was
            the answer to the commit that was lost.
        """
        with ExitStack() as stack:
            stack.enter_context(self._available())
            if self.backend.ONE_WRITER:
                stack.enter_context(self._turn)
            connection = stack.enter_context(self._writing.begin())
            if catalogue:
                self.backend.hold_catalogue(connection)
            if sealing is not None:
                self.backend.hold_version(connection, sealing, exclusive=True)
            yield connection
            self._written = True
            if sealing is not None:
                self._sealed = True

    def insert_at_once(
        self, rows: Sequence[tuple[int, bytes, bytes]], cutoff: Cutoff
    ) -> set[tuple[int, bytes]] | None:
        """Put rows (version, id, record) of one version into the inbox, durably.

        Parameters
        ----------
        rows : sequence of (int, bytes, bytes)
            At least one.
        cutoff : Cutoff
            Nothing is done if the version takes no reports.

        Returns
        -------
        set of (int, bytes) or None
            The keys of those whose id is new; None if nothing was done, and a transaction of
            several statements is called for.

        Raises
        ------
        Refused
            ``unavailable``, as ``writing``.
        """
        with ExitStack() as stack:
            stack.enter_context(self._available())
            if self.backend.ONE_WRITER:
                stack.enter_context(self._turn)
            self._written = True
            return self.backend.insert_at_once(self._at_once, rows, cutoff)

    def share_version(self, connection: Connection, version_id: int) -> None:
        """Keep a version from being sealed until the transaction ends; to take reports of it.

        Whoever needs several takes them in ascending order.
        """
        self.backend.hold_version(connection, version_id, exclusive=False)

    def exclude_reports(self, connection: Connection, version_id: int) -> None:
        """Keep reports of a version from being taken until the transaction ends, in any process.

        Transactions that are taking some are waited for.
        """
        self.backend.hold_version(connection, version_id, exclusive=True)

    def erase(self, *tables: Table) -> None:
        """Remove, now or with a later `tidy`, all that is left of what was deleted from tables."""
        self._erased.update(table.name for table in tables)
        self.tidy()

    def tidy(self) -> None:
        """Remove the traces of what was deleted, unless nothing was written or a reader needs them.

        SQLite's log keeps what one transaction after the other wrote, and PostgreSQL's pages what
        was deleted and by which: the order in which reports arrived, the token that was spent with
        each, and reports that were sealed since.

        Raises
        ------
        Refused
            ``unavailable``, as ``reading``; what was to be done is left for the next time.
        """
        if not (self._written or self._sealed or self._erased):
            return
        with ExitStack() as stack:
            stack.enter_context(self._available())
            if self.backend.ONE_WRITER:
                stack.enter_context(self._turn)
            sealed, self._written, self._sealed = self._sealed, False, False
            erased = frozenset(self._erased)
            self._erased -= erased
            done = False
            try:
                done = self.backend.forget(self.engine, sealed=sealed, erased=erased)
            finally:
                if not done:
                    self._written, self._sealed = True, self._sealed or sealed
                    self._erased |= erased

    def ping(self) -> None:
        """Raise if the database does not answer."""
        with self.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close every connection."""
        self._at_once.close()
        self.engine.dispose()

    @contextmanager
    def _available(self) -> Iterator[None]:
        try:
            yield
        except Exception as error:
            # SQLAlchemy wraps what the driver raises, in most places.
            cause = error.orig if isinstance(error, DatabaseError) else error
            if not isinstance(cause, self._failures):
                raise
            raise Refused(
                "unavailable",
                f"the database does not answer; send the same again after {RETRY_AFTER_SECONDS} s",
                retry_after=RETRY_AFTER_SECONDS,
            ) from error


def parse_url(url: str) -> URL:
    """Return the URL of a database that this release serves, with its driver.

    Raises
    ------
    InvalidParameter
        It cannot be read, or names another database than an SQLite file or PostgreSQL.
    """
    try:
        parsed = make_url(url)
    except ArgumentError:
        # Such a text can hold a password in a place where nobody looks for one.
        shown = repr(url) if "@" not in url else "a text (not shown: it may hold a password)"
        raise InvalidParameter(
            f"DATABASE_URL is {shown}, which is no database URL; write sqlite:///path.sqlite or "
            "postgresql://user@host/database",
            field="DATABASE_URL",
        ) from None
    if parsed.get_backend_name() not in BACKENDS:
        raise InvalidParameter(
            f"DATABASE_URL names {parsed.get_backend_name()!r}; this release serves SQLite and "
            "PostgreSQL: write sqlite:///path.sqlite or postgresql://user@host/database",
            field="DATABASE_URL",
        )
    return backend_of(parsed).check_url(parsed)


def backend_of(url: URL) -> Backend:
    """Return the package that serves the database of a URL."""
    return BACKENDS[url.get_backend_name()]


def _open(url: URL, backend: Backend, pool_size: int) -> Engine:
    backend.make_ready(url)
    # An exception of the driver would otherwise print reports into the log, and the engine's own
    # log, where an embedding application has turned on DEBUG for everything, the rows of answers.
    logging.getLogger(f"sqlalchemy.engine.Engine.{LOGGING_NAME}").setLevel(logging.WARNING)
    engine = create_engine(
        url,
        pool_size=pool_size,
        max_overflow=pool_size,
        hide_parameters=True,
        logging_name=LOGGING_NAME,
        **backend.engine_options(),
    )
    backend.install(engine)
    try:
        engine.connect().close()
    except DatabaseError as error:
        engine.dispose()
        raise backend.unusable(url, str(error.orig).strip()) from None
    except BaseException:
        engine.dispose()
        raise
    return engine
