"""How much memory a worker and its jobs may take, and what is said of a job that needs more.

The limit is of data (``RLIMIT_DATA``), of each process alone. Address space would be the wrong
thing to limit: libraries reserve much more of it than they use.
"""

from __future__ import annotations

import os
import resource
from contextlib import suppress
from pathlib import Path
from typing import Final

from hushpoll_server.errors import Refused

MEGABYTE: Final = 10**6
OUT_OF_MEMORY: Final = "job-out-of-memory"
_OF_A_CONTAINER: Final = (
    "/sys/fs/cgroup/memory.max",
    "/sys/fs/cgroup/memory/memory.limit_in_bytes",
)


def bound(megabytes: int) -> None:
    """Let this process, and each that it starts, have so many megabytes of data and no more."""
    _, hard = resource.getrlimit(resource.RLIMIT_DATA)
    limit = megabytes * MEGABYTE
    if hard != resource.RLIM_INFINITY:
        limit = min(limit, hard)
    resource.setrlimit(resource.RLIMIT_DATA, (limit, limit))


def half() -> int:
    """Return half of the memory of this machine, or of this container, in megabytes."""
    memory = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    for path in _OF_A_CONTAINER:
        with suppress(OSError, ValueError):  # it is another kind of group, or "max"
            memory = min(memory, int(Path(path).read_text(encoding="ascii")))
    return max(1, memory // 2 // MEGABYTE)


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether an exception says that there was no memory; LightGBM has it in words."""
    return isinstance(error, MemoryError) or "bad_alloc" in str(error)


def refusal() -> Refused:
    """Return what an analyst reads about a job that needed too much memory."""
    limit, _ = resource.getrlimit(resource.RLIMIT_DATA)
    most = "than there is"
    if limit != resource.RLIM_INFINITY:
        most = f"than the {limit // MEGABYTE:,} MB that a job may have here"
    return Refused(OUT_OF_MEMORY, f"it needed more memory {most}")
