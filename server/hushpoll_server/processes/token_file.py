"""The file that the first start's admin token is written into."""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def private_file(path: Path) -> Iterator[Callable[[str], None]]:
    """Open a file for a secret before there is one, so that no secret is made for nothing.

    A file that is there is kept as it is until something is written, which replaces its content;
    one that is not is made, and removed again if nothing was written.

    Parameters
    ----------
    path : Path
        The file; from its opening on, its owner alone can read it.

    Yields
    ------
    callable
        Writes a text into it.

    Raises
    ------
    OSError
        It cannot be opened for writing, or belongs to someone else.
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
