"""Cutting the rows of an array into blocks, and running the blocks on threads."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

import numpy as np
import numpy.typing as npt

CELLS_PER_BLOCK = 1 << 21
"""Rows times categories of one block: about a millisecond of work, which hides a thread's start."""

_MOST_THREADS = 16
"""Past this, counting waits for memory, and the blocks in flight would take more of it."""

Scalar = TypeVar("Scalar", bound=np.generic)


def spans(n: int, rows: int) -> Iterator[slice]:
    """Cut n rows into consecutive slices of at most `rows` (and at least one) rows."""
    step = max(rows, 1)
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def read_only(array: npt.NDArray[Scalar]) -> npt.NDArray[Scalar]:
    """Return the array C-contiguous and read-only.

    Copied only where it must be. numba compiles a function once per layout and mutability of its
    arguments, so that giving it a single kind saves a compilation for frombuffer and for slices.
    """
    contiguous = np.ascontiguousarray(array).view()
    contiguous.flags.writeable = False
    return contiguous


def run(jobs: Iterable[Callable[[], None]]) -> None:
    """Run jobs that release the GIL, on as many threads as numba is configured to use.

    They are taken in order, in the calling thread, and only a few ahead of the threads; a single
    one runs in the calling thread. What the first job (in order) that failed has raised is raised.
    """
    pending = iter(jobs)
    first = next(pending, None)
    if first is None:
        return
    second = next(pending, None)
    import numba  # slow to import, but the jobs have loaded it already

    configured: int = numba.config.NUMBA_NUM_THREADS  # type: ignore[attr-defined] # set at run time
    threads = min(configured, _MOST_THREADS)
    if second is None or threads == 1:
        first()
        if second is not None:
            second()
        for job in pending:
            job()
        return
    # A pool per call: one kept between calls would have lost its threads in a forked child.
    with ThreadPoolExecutor(threads, thread_name_prefix="hushpoll-kernel") as pool:
        flying: deque[Future[None]] = deque((pool.submit(first), pool.submit(second)))
        for job in pending:
            flying.append(pool.submit(job))
            if len(flying) > threads:
                flying.popleft().result()
        while flying:
            flying.popleft().result()
