"""A Dask cluster of two processes on this machine, on loopback alone."""

from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def cluster():
    """Two workers of one thread each; the scheduler's address is ``cluster.scheduler_address``."""
    import dask
    import distributed

    settings = {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        "distributed.scheduler.allowed-failures": 1,
    }
    with (
        dask.config.set(settings),
        distributed.LocalCluster(
            n_workers=2,
            threads_per_worker=1,
            processes=True,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=None,
        ) as started,
    ):
        yield started
