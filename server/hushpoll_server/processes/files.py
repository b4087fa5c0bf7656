"""What a server makes in the file system: the admin token's file, and temporary folders.

A server locks its folders as long as it lives; the next one removes those of a killed one.
"""

from __future__ import annotations

import fcntl
import os
import stat
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Final

from hushpoll_server.metrics import DIRECTORY_VARIABLE

SOCKET_PREFIX: Final = "hushpoll-web-"
SOCKET_NAME: Final = "web.sock"
METRICS_PREFIX: Final = "hushpoll-metrics-"
METRICS_SUFFIX: Final = ".db"


@contextmanager
def socket_folder() -> Iterator[Path]:
    """Give a new folder for the web process's socket, and remove those of killed servers."""
    with _own_folder(SOCKET_PREFIX, lambda name: name == SOCKET_NAME) as folder:
        yield folder


@contextmanager
def metrics_folder() -> Iterator[None]:
    """Let this process and those that it starts count together, in files of a new folder.

    Must be entered before prometheus_client is imported. Folders of killed servers are removed.
    """
    with _own_folder(METRICS_PREFIX, lambda name: name.endswith(METRICS_SUFFIX)) as folder:
        os.environ[DIRECTORY_VARIABLE] = str(folder)
        yield


@contextmanager
def _own_folder(prefix: str, ours: Callable[[str], bool]) -> Iterator[Path]:
    """Give a new folder of a server, and remove those of servers that were killed.

    Each server locks its folder as long as it lives, so no server removes that of another. A folder
    that is a link, another user's, or has files of other names is left alone.
    """
    parent = Path(tempfile.gettempdir())
    with suppress(OSError):  # the new folder can be made, though others cannot be listed
        for old in parent.glob(f"{prefix}*"):
            _remove_dead(old, ours)
    folder, lock = _locked_folder(prefix)
    maker = os.getpid()
    try:
        yield folder
    finally:
        if os.getpid() == maker:  # and not a process that was forked from it
            _empty(folder, lock, ours)
        os.close(lock)


def _locked_folder(prefix: str) -> tuple[Path, int]:
    while True:
        folder = Path(tempfile.mkdtemp(prefix=prefix))
        # Another start may take it for a dead server's before it is locked.
        try:
            lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        except FileNotFoundError:
            continue
        fcntl.flock(lock, fcntl.LOCK_EX)
        if folder.exists():
            return folder, lock
        os.close(lock)


def _remove_dead(folder: Path, ours: Callable[[str], bool]) -> None:
    with suppress(OSError):  # a link, another user's, or in use
        lock = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(lock).st_uid == os.geteuid():
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _empty(folder, lock, ours)
        finally:
            os.close(lock)


def _empty(folder: Path, descriptor: int, ours: Callable[[str], bool]) -> None:
    """Remove the server's files, and the folder if nothing else is in it."""
    for name in filter(ours, os.listdir(descriptor)):
        with suppress(OSError):
            os.unlink(name, dir_fd=descriptor)
    with suppress(OSError):
        folder.rmdir()


@contextmanager
def private_file(path: Path) -> Iterator[Callable[[str], None]]:
    """Open a file for a secret before there is a secret, so that none is made for nothing.

    A file that exists is kept as it is until something is written, which replaces its content; a
    new one is removed again if nothing was written. From its opening on, its owner alone can read
    it; what is yielded writes a text into it.
    """
    created = True
    try:
        descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    except FileExistsError:
        created = False
        descriptor = os.open(path, os.O_WRONLY)
    written = False

    def write(text: str) -> None:
        nonlocal written
        if stat.S_ISREG(os.fstat(descriptor).st_mode):
            os.ftruncate(descriptor, 0)
        with os.fdopen(descriptor, "w", closefd=False) as stream:
            stream.write(text)
        written = True

    try:
        try:
            os.fchmod(descriptor, 0o600)
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(path)) from error
        yield write
    finally:
        os.close(descriptor)
        if created and not written:
            path.unlink(missing_ok=True)
