"""Opening the database, and the two kinds of transaction."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, Engine, create_engine, make_url, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError, DatabaseError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.store import sqlite

LOGGING_NAME = "hushpoll"


class Database:
    """A durable database with read and write transactions.

    Parameters
    ----------
    url : str
        SQLAlchemy URL; ``sqlite:///path``.
    pool_size : int
        Connections kept open.

    Raises
    ------
    InvalidParameter
        The URL cannot be read, names a database that this release does not serve, or a file that
        is none.
    NotDurable
        The database refuses the settings under which a commit is durable.
    """

    def __init__(self, url: str, *, pool_size: int = 32) -> None:
        self.engine = _open(url, pool_size)
        self._writing = self.engine.execution_options(**{sqlite.WRITING: True})
        # SQLite has one writer at a time and polls for its turn; threads of one process queue
        # here instead, which wakes them at once.
        self._turn = threading.Lock()
        # At the start as well: a process that was killed left its log behind.
        self._log_has_history = True

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a transaction that sees one consistent state and changes nothing."""
        with self.engine.begin() as connection:
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a transaction that is durable once the block has ended without an exception."""
        with self._turn, self._writing.begin() as connection:
            self._log_has_history = True
            yield connection

    def tidy(self) -> None:
        """Empty the log if anything was written since it was empty and no reader needs it.

        The log keeps what one transaction after the other wrote: the order in which reports
        arrived, the token that was spent with each, and reports that were folded since.
        """
        if self._log_has_history:
            with self._turn:
                self._log_has_history = not sqlite.truncate_log(self.engine)

    def ping(self) -> None:
        """Raise if the database does not answer."""
        with self.reading() as connection:
            connection.execute(text("SELECT 1"))

    def close(self) -> None:
        """Close every connection."""
        self.engine.dispose()


def parse_url(url: str) -> URL:
    """Return the URL of a database that this release serves.

    Raises
    ------
    InvalidParameter
        It cannot be read, or names another database than an SQLite file.
    """
    try:
        parsed = make_url(url)
    except ArgumentError as error:
        raise InvalidParameter(
            f"DATABASE_URL is {url!r}, which is no database URL; write sqlite:///path.sqlite",
            field="DATABASE_URL",
        ) from error
    if parsed.get_backend_name() != "sqlite":
        raise InvalidParameter(
            f"DATABASE_URL names {parsed.get_backend_name()!r}; this release serves SQLite files: "
            "write sqlite:///path.sqlite",
            field="DATABASE_URL",
        )
    sqlite.check_url(parsed)
    return parsed


def _open(url: str, pool_size: int) -> Engine:
    parsed = parse_url(url)
    sqlite.create_private(parsed)
    # An exception of the driver would otherwise print reports into the log, and the engine's own
    # log, where an embedding application has turned on DEBUG for everything, the rows of answers.
    logging.getLogger(f"sqlalchemy.engine.Engine.{LOGGING_NAME}").setLevel(logging.WARNING)
    engine = create_engine(
        parsed,
        pool_size=pool_size,
        max_overflow=pool_size,
        hide_parameters=True,
        logging_name=LOGGING_NAME,
    )
    sqlite.install(engine)
    try:
        engine.connect().close()
    except DatabaseError as error:
        engine.dispose()
        raise InvalidParameter(
            f"DATABASE_URL names the file {parsed.database!r}, which SQLite cannot use "
            f"({error.orig}); name a new file, or one that hushpoll made",
            field="DATABASE_URL",
        ) from None
    return engine
