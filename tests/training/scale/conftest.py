"""A Dask cluster of two processes on this machine, on loopback alone."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from hushpoll_shared.wire.batch import column
from waiting import LONGEST_SECONDS


# For one module: a cluster that does nothing takes a tenth of a processor to look at itself.
@pytest.fixture(scope="module")
def cluster():
    """Two workers of one thread each; the scheduler's address is ``cluster.scheduler_address``."""
    import dask
    import distributed

    settings = {
        "distributed.worker.memory.target": False,
        "distributed.worker.memory.spill": False,
        "distributed.worker.memory.pause": False,
        "distributed.worker.memory.terminate": False,
        "distributed.worker.profile.enabled": False,
        "distributed.admin.tick.interval": "1 s",
        "distributed.scheduler.allowed-failures": 1,
        # A worker that is killed comes again. One that takes longer than this, by default 15 s,
        # would be given up, and a busy machine takes that long.
        "distributed.deploy.lost-worker-timeout": f"{LONGEST_SECONDS} s",
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


@pytest.fixture(autouse=True)
def both_workers(request):
    """Wait until the worker that a test before has killed is there again."""
    if "cluster" in request.fixturenames:
        request.getfixturevalue("cluster").wait_for_workers(2, timeout=LONGEST_SECONDS)


@pytest.fixture(scope="session")
def write_parquet():
    """Write records as an export does, some to a row group, and return the path."""

    def write(path, published, records, rows):
        columns = {}
        for one in published.attributes:
            part = np.ascontiguousarray(column(published.layout, records, one.name))
            if one.oracle is None:
                codes = part.view(f"<u{part.shape[1]}").ravel()
                columns[one.name] = pa.array([one.domain[code] for code in codes])
            else:
                width = pa.binary(one.oracle.record_size)
                columns[one.name] = pa.array([row.tobytes() for row in part], width)
        described = {"hushpoll.content": "records", "hushpoll.manifest": published.canonical}
        table = pa.table(columns).replace_schema_metadata(described)
        parquet.write_table(table, path, row_group_size=rows)
        return path

    return write
