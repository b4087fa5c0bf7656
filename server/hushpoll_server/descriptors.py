"""How many connections a worker process may hold: each takes one of its descriptors."""

from __future__ import annotations

import resource
from typing import Final

from hushpoll_server.logs import get_logger

# Of one process. Those that wait hold no thread, and make room for new ones.
CONNECTIONS: Final = 1000
# Of a connection to the database; SQLite opens a file, its log and at times a temporary one.
OF_DATABASE: Final = 3
# Libraries, pipes, logs, the files of folding and of jobs.
OTHERS: Final = 128

log = get_logger(__name__)


def connections(*, pool_size: int, threads: int) -> int:
    """Raise the process's limit of descriptors as far as needed; return the connections within it.

    Parameters
    ----------
    pool_size : int
        Connections to the database that are kept open; at most twice as many are opened.
    threads : int
        Each may have a file open.

    Returns
    -------
    int
        Connections of clients, 1..1000.
    """
    reserve = 2 * OF_DATABASE * pool_size + threads + OTHERS
    limit = _raised(CONNECTIONS + reserve)
    # Where there is too little for either, neither is to take it all.
    found = max(1, min(CONNECTIONS, max(limit - reserve, limit // 4)))
    if found < CONNECTIONS:
        log.warning("few-descriptors", descriptors=limit, connections=found)
    return found


def _raised(wanted: int) -> int:
    """Return the limit, which is `wanted` or more where the system allows it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return wanted
    if soft >= wanted:
        return soft
    raised = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (raised, hard))
    except (OSError, ValueError):  # another limit of the system's is lower
        return soft
    return raised
