"""The lock that lets one ``hushpoll serve`` at a time use a database file.

The writer's group commits, the clean-up of the log and the sealing of the inbox are coordinated
within one server. The server holds ``flock`` on a descriptor of the database file itself, so every
name of the file (a symbolic link, a hard link, a new name) leads to the same lock. The kernel
releases the lock when the last copy of that descriptor is closed: processes that inherited it keep
the lock after the death of the process that took it.

On Linux, ``flock`` and the record locks that SQLite uses do not see each other. But SQLite's locks
of a process are dropped when that process closes *any* descriptor of the file. So the descriptor
stays open while the process has the database open.
"""

from __future__ import annotations

import errno
import fcntl
import os
import sys
import time
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.store.database import parse_url
from hushpoll_server.store.sqlite.session import path_of

# A process of a server that was just killed holds the lock for a moment longer.
WAIT_SECONDS: Final = 2.0
POLL_SECONDS: Final = 0.05

# On BSD and macOS, `flock` on the database file would keep SQLite out. A file beside it is locked.
LOCKS_THE_DATABASE: Final = sys.platform == "linux"

# The files that this process has locked, by device and inode. A second attempt must not even open
# the file, since closing it would drop SQLite's locks.
_HELD: Final[set[tuple[int, int]]] = set()


class ServerLock:
    """The lock of a database file, or of nothing where the database is not a file.

    Use it as a context manager, around all use of the database by this process. The descriptor that
    holds the lock is closed by it.
    """

    def __init__(self, descriptor: int | None) -> None:
        self._descriptor = descriptor
        if descriptor is not None:
            _HELD.add(_identity(os.fstat(descriptor)))

    def fileno(self) -> int | None:
        """Return the descriptor that a child process needs for `adopt`; None without a file.

        A child that is only forked has it under this number. A new program gets it by
        ``subprocess.Popen(..., pass_fds=[number])``.
        """
        return self._descriptor

    def close(self) -> None:
        """Close the descriptor; call this after the database was closed."""
        if self._descriptor is not None:
            _HELD.discard(_identity(os.fstat(self._descriptor)))
            os.close(self._descriptor)
            self._descriptor = None

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()


def acquire(url: str) -> ServerLock:
    """Take the lock of a database file; wait up to two seconds for a server that was just killed.

    The lock has no descriptor for PostgreSQL, which takes any number of servers. Refused are a file
    that another server has locked, and a file system without locks.
    """
    path = _lock_path(url)
    if path is None:
        return ServerLock(None)
    if _held_here(path):
        raise _in_use(url)
    try:
        descriptor = _opened(path)
    except OSError as error:
        raise _unusable(path, error) from error
    try:
        if not _locked(descriptor, path):
            raise _in_use(url)
        return ServerLock(descriptor)
    except BaseException:
        os.close(descriptor)
        raise


def adopt(url: str, descriptor: int | None) -> ServerLock:
    """Share the lock that another process holds; it has passed its ``ServerLock.fileno`` on.

    Programs that this process starts from now on do not inherit it. A descriptor that is none of
    the file, or whose lock another server holds, is refused.
    """
    path = _lock_path(url)
    if path is None:
        return ServerLock(None)
    try:
        same = descriptor is not None and os.path.samestat(os.fstat(descriptor), Path(path).stat())
    except OSError:
        same = False
    if descriptor is None or not same:
        raise InvalidParameter(
            f"descriptor is {descriptor!r}, which is no open descriptor of {path!r}; pass on what "
            "the process that holds the lock has",
            field="descriptor",
        )
    # On the descriptor that holds the lock this changes nothing.
    if not _locked(descriptor, path):
        raise _in_use(url)
    os.set_inheritable(descriptor, False)
    return ServerLock(descriptor)


def _lock_path(url: str) -> str | None:
    parsed = parse_url(url)
    if parsed.get_backend_name() != "sqlite":
        # PostgreSQL's own transactions and advisory locks coordinate any number of servers.
        return None
    database = path_of(parsed)
    return database if LOCKS_THE_DATABASE else os.path.realpath(database) + "-lock"


def _held_here(path: str) -> bool:
    try:
        return _identity(Path(path).stat()) in _HELD
    except OSError:
        return False


def _identity(status: os.stat_result) -> tuple[int, int]:
    return status.st_dev, status.st_ino


def _opened(path: str) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        # A file that may only be read can be locked too.
        if error.errno not in (errno.EACCES, errno.EROFS) or not Path(path).is_file():
            raise
        return os.open(path, os.O_RDONLY | os.O_CLOEXEC)


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


def _in_use(url: str) -> InvalidParameter:
    return InvalidParameter(
        f"DATABASE_URL names the file {path_of(parse_url(url))!r}, which another hushpoll "
        "serve is using; end that one, or give another database with --database-url",
        field="DATABASE_URL",
    )


def _unusable(path: str, error: OSError) -> InvalidParameter:
    return InvalidParameter(
        f"DATABASE_URL needs the file {path!r}, which cannot be opened and locked "
        f"({error.strerror}); name a file in a directory that you may write to, on a local file "
        "system",
        field="DATABASE_URL",
    )
