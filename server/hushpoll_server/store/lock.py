"""One ``hushpoll serve`` per database file.

The writer's group commits, the clean-up of the log and the folding of the inbox are coordinated
within one process. The lock is a file of its own beside the database, ``<database>-lock``: SQLite's
own locks on the database file are dropped by any other use of it within the process. The kernel
releases the lock however the process ends; the empty file stays.
"""

from __future__ import annotations

import fcntl
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.store import sqlite
from hushpoll_server.store.database import parse_url

# The worker of a server that was just killed holds the lock for a moment longer.
WAIT_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.05


@contextmanager
def only_server(url: str) -> Iterator[None]:
    """Hold the lock of a database file, which processes forked meanwhile share.

    Parameters
    ----------
    url : str
        SQLAlchemy URL of the database.

    Raises
    ------
    InvalidParameter
        Another server holds it; the URL names no database that can be served; or the file system
        has no locks.
    """
    parsed = parse_url(url)
    if parsed.get_backend_name() != "sqlite":
        # Its transactions and advisory locks hold between any number of servers.
        yield
        return
    sqlite.make_ready(parsed)
    database = sqlite.path_of(parsed)
    # Two names of one file have one lock.
    path = os.path.realpath(database) + "-lock"
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        if not _locked(descriptor, path):
            raise InvalidParameter(
                f"DATABASE_URL names the file {database!r}, which another hushpoll serve is using; "
                "end that one, or give another database with --database-url",
                field="DATABASE_URL",
            )
        yield
    finally:
        os.close(descriptor)


def _locked(descriptor: int, path: str) -> bool:
    deadline = time.monotonic() + WAIT_SECONDS
    while True:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            if time.monotonic() >= deadline:
                return False
            time.sleep(POLL_SECONDS)
        except OSError as error:
            raise _unusable(path, error) from error
        else:
            return True


def _unusable(path: str, error: OSError) -> InvalidParameter:
    return InvalidParameter(
        f"DATABASE_URL needs the lock file {path!r} beside the database, which cannot be locked "
        f"({error.strerror}); put the database into a directory that you may write to, on a local "
        "file system",
        field="DATABASE_URL",
    )
