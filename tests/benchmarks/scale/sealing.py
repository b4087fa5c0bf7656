"""What is done with reports once they are stored, in a process of its own.

They are sealed, the survey is ended, estimates are asked for, and the records are exported to
Parquet and counted by Dask. Each step prints its processor seconds.
"""

from __future__ import annotations

import json
import resource
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil

from benchmarks.collecting import SURVEY, records
from benchmarks.scale.accounting import kept, spent

ESTIMATES = 50
PATH = f"/api/v1/surveys/{SURVEY}/versions/1/estimates"

Steps = dict[str, dict[str, Any]]


class Stopwatch:
    """Collects what each step took."""

    def __init__(self, url: str) -> None:
        self._url = url
        self.done: Steps = {}

    @contextmanager
    def step(self, name: str) -> Iterator[dict[str, Any]]:
        """Measure what is done inside; the caller may add to the result."""
        measured: dict[str, Any] = {}
        before, own, start = self._database(), time.process_time(), time.perf_counter()
        yield measured
        measured |= {
            "wall": time.perf_counter() - start,
            "own": time.process_time() - own,
            "database": self._database() - before,
            "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
        }
        self.done[name] = measured

    def _database(self) -> float:
        return spent(self._url).seconds["database"]


def after(url: str, wanted: list[str]) -> Steps:
    """Do the steps that are wanted, in their order, on a database that no server serves."""
    from hushpoll_analysis import Records
    from hushpoll_analysis.records.counts import count_pairs
    from hushpoll_server import create_app
    from hushpoll_server.store.segments import shuffled

    app = create_app({"DATABASE_URL": url, "SEALING": "worker"})
    services = app.extensions["hushpoll"]
    row = services.surveys.version(SURVEY, 1)
    watch = Stopwatch(url)
    with watch.step("start"):
        published = services.surveys.published(row)
        some = records(published, 1000, np.random.default_rng(1))
        count_pairs(Records(published, shuffled(some)))  # compiled before it is measured
    if "seal" in wanted:
        with watch.step("seal") as step:
            step["reports"] = services.sealing.seal(row)
        step["kept"] = kept(url)
    if "end" in wanted:
        with watch.step("end"):
            services.sealing.seal(row, last=True)
        watch.done["end"]["kept"] = kept(url)
    if "estimates" in wanted:
        token = services.access.issue(["read"]).token
        client, headers = app.test_client(), {"Authorization": f"Bearer {token}"}
        assert client.get(PATH, headers=headers).status_code == 200
        with watch.step("estimates") as step:
            for _ in range(ESTIMATES):
                answer = client.get(PATH, headers=headers)
            step["reports"] = answer.get_json()["n"]
    if "parquet" in wanted:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "all.parquet"
            with watch.step("parquet") as step, path.open("wb") as file:
                for block in services.exports.export(row, format="parquet").blocks:
                    file.write(block)
            step["bytes"] = path.stat().st_size
            _by_dask(path, watch)
    services.stop()
    return watch.done


def _by_dask(path: Path, watch: Stopwatch) -> None:
    import distributed

    from hushpoll_analysis.records.parquet import ParquetRecords

    with (
        distributed.LocalCluster(
            n_workers=1,
            threads_per_worker=1,
            host="127.0.0.1",
            dashboard_address="127.0.0.1:0",
            memory_limit=None,
        ) as cluster,
        distributed.Client(cluster) as client,
    ):
        client.run(_ready)
        with watch.step("dask") as step:
            before = _children()
            parts = client.map(_count, *zip(*ParquetRecords.of([path]).groups, strict=True))
            counts = client.gather(parts)
            step["workers"] = _children() - before
            step["reports"] = sum(one.n for one in counts)


def _count(path: str, group: int) -> Any:
    """Count one row group; runs on a worker."""
    from hushpoll_analysis import count
    from hushpoll_analysis.records.parquet import read_row_group

    return count(read_row_group(path, group))


def _ready() -> None:
    """Have a worker compile what it counts with."""
    import numpy as np

    from benchmarks.collecting import DRAFT, records
    from hushpoll_analysis import Records, count
    from hushpoll_shared.drafts.manifest import Manifest

    published = Manifest.from_dict(DRAFT).resolve()
    count(Records(published, records(published, 1000, np.random.default_rng(1))))


def _children() -> float:
    return sum(
        sum(process.cpu_times()[:2]) for process in psutil.Process().children(recursive=True)
    )


if __name__ == "__main__":
    print(json.dumps(after(sys.argv[1], sys.argv[2:])))
