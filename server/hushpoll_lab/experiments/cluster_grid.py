"""The cells of an experiment on a Dask cluster (extra ``scale``).

The data is sent once, packed, and is unpacked by a task of its own: a worker that joins later, or
loses it, gets it again. A cell that kills its worker is tried on others and then recorded as
failed, like on one machine. Results are the same, since a cell depends on nothing but its setup;
so the workers must run the same versions of what computes, which is checked.
"""

from __future__ import annotations

import pickle
import zlib
from collections.abc import Generator, Iterable
from concurrent.futures import CancelledError
from typing import Any

from hushpoll_lab.experiments.kinds import AnyCell, grid_of
from hushpoll_lab.experiments.pool import Setup, attempt
from hushpoll_protocols.errors import HushpollError
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.learners.cluster import connected, require_versions


def run_on_cluster(
    tasks: Iterable[AnyCell], setup: Setup, address: str
) -> Generator[tuple[AnyCell, JsonMembers]]:
    """Run cells on a cluster's workers, and yield each with its result or ``error``.

    A worker runs as many cells at a time as it has threads, each cell with one thread. Closing
    takes back what has not begun. The address is the scheduler's, such as ``tcp://192.0.2.1:8786``;
    refuses workers of other versions.
    """
    with connected(address) as client:
        import distributed

        for learner in grid_of(setup.experiment).learners():
            require_versions(client, learner)
        packed = zlib.compress(pickle.dumps(setup), level=1)
        # Waited for: a scheduler still reading it would not know what the cells depend on.
        unpacked = client.submit(_unpack, packed, pure=False)
        unpacked.exception()
        cells = {client.submit(attempt, unpacked, task, pure=False): task for task in tasks}
        completed: Any = distributed.as_completed  # untyped
        running = completed(list(cells), loop=client.loop)
        try:
            for future in running:
                yield cells.pop(future), _result(future)
                future.release()
        finally:
            running.clear()
            client.cancel([unpacked, *cells])


def _result(future: Any) -> JsonMembers:
    try:
        # Waits once more where a worker has died with a result that was not
        # fetched: the scheduler has it computed again.
        error = future.exception()
        if error is None:
            result: JsonMembers = future.result()
            return result
    except CancelledError:
        raise HushpollError(
            "the cluster has gone away, or was restarted; what is done is kept: run again when it "
            "is back"
        ) from None
    return {"error": " ".join(f"{type(error).__name__}: {error}".split())}


def _unpack(packed: bytes) -> Setup:
    setup: Setup = pickle.loads(zlib.decompress(packed))  # noqa: S301  (our own, over Dask's wire)
    return setup
