"""What one report costs: single and in bulk, stored, sealed, estimated and exported."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collecting import REPORTS, Bytes, connect, empty_database, ids, publish, records
from benchmarks.harness import announced
from benchmarks.load.wrk import Generator
from benchmarks.scale.accounting import kept, logged, spent
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import pack_rows
from hushpoll_shared.wire.reports import REPORTS_MEDIA_TYPE

CONNECTIONS = (32, 256)
METRICS_TOKEN = "token-of-the-scale-study"
BATCH = 10_000
PATIENCE_SECONDS = 3600
Costs = dict[str, Any]


def costs(kind: str, sizes: list[int], rounds: int, seconds: int) -> Costs:
    """Return what a report costs on one kind of database.

    Parameters
    ----------
    kind : str
        ``sqlite`` or ``postgresql``.
    sizes : list of int
        Reports that wait, and are sealed at once.
    rounds : int
        How often each is measured; the least processor time counts.
    seconds : int
        Of a run of single reports.
    """
    return {
        "single": {
            str(connections): min(
                (_single(kind, connections, seconds) for _ in range(rounds)),
                key=lambda cost: cost["server"] + cost["database"],
            )
            for connections in CONNECTIONS
        },
        "stored": {str(size): best([_stored(kind, size) for _ in range(rounds)]) for size in sizes},
    }


def best(runs: list[Costs]) -> Costs:
    """Take the least of each number: others on the machine only ever add."""
    first = runs[0]
    if isinstance(first, dict):
        return {name: best([run[name] for run in runs]) for name in first}
    return min(runs)


def _single(kind: str, connections: int, seconds: int) -> Costs:
    """Send single reports as fast as they are taken; sealing is left out."""
    options = ("--sealing=worker", "--trusted-proxies=1", f"--metrics-token={METRICS_TOKEN}")
    with (
        announced(f"{kind}: single reports over {connections} connections"),
        empty_database(kind) as (url, folder),
        Server(
            folder, options=("--database-url", url, "--log-level", "warning", *options)
        ) as server,
    ):
        published = publish(server)
        (record,) = records(published, 1, np.random.default_rng(1))
        report = (REPORTS, published.digest, wire.b64encode(record.tobytes()))
        wrk = Generator(server.url, seconds, report)
        wrk.peak(connections)
        before, groups, log = spent(url), _groups(server), logged(url)
        run = wrk.peak(connections)
        after, later, log_after = spent(url), _groups(server), logged(url)
        count = later["sum"] - groups["sum"]
        used = after.seconds - before.seconds
        return {
            "reports": count,
            "rate": run.rate,
            "server": used["ingest"] / count,
            "database": used["database"] / count,
            "reports_per_commit": count / (later["count"] - groups["count"]),
            "written": (after.written - before.written) / count,
            "logged": None if log is None or log_after is None else (log_after - log) / count,
        }


def _groups(server: Server) -> dict[str, float]:
    connection = connect(server)
    connection.request("GET", "/metrics", headers={"Authorization": f"Bearer {METRICS_TOKEN}"})
    text = connection.getresponse().read().decode()
    connection.close()
    return {
        part: sum(map(float, re.findall(rf"^hushpoll_group_reports_{part} (\S+)$", text, re.M)))
        for part in ("sum", "count")
    }


def _stored(kind: str, size: int) -> Costs:
    """Store reports in bulk, then seal them, and so on; each with the bytes that are then kept."""
    with announced(f"{kind}: {size:,} reports"), empty_database(kind) as (url, folder):
        options = ("--database-url", url, "--log-level", "warning", "--sealing=worker")
        with Server(folder, options=options) as server:
            published = publish(server)
            before, log = spent(url), logged(url)
            upload(server, published, size)
            after, log_after = spent(url), logged(url)
            used = after.seconds - before.seconds
            bulk = {
                "server": used["ingest"] / size,
                "database": used["database"] / size,
                "written": (after.written - before.written) / size,
            }
            if log is not None and log_after is not None:
                bulk["logged"] = (log_after - log) / size
        waiting = kept(url)
        steps = in_process(url, "seal", "end", "estimates", "parquet")
        log_sealed = logged(url)
        if log_after is not None and log_sealed is not None:
            bulk["logged_sealing"] = (log_sealed - log_after) / size
        assert steps["seal"]["reports"] == steps["estimates"]["reports"] == size, steps
        return {"bulk": bulk, "waiting": waiting, "steps": steps}


def drawn(published: Published, reports: int, size: int) -> Iterator[tuple[Bytes, Bytes]]:
    """Yield ids and records, no record twice, as what compresses them must find them."""
    rng = np.random.default_rng(1)
    for start in range(0, reports, size):
        count = min(size, reports - start)
        yield ids(count, rng), records(published, count, rng)


class Uploader:
    """Sends batches on one connection, and again while the server asks for that.

    Attributes
    ----------
    refused : int
        Batches that were answered 503 and sent again.
    slowest : float
        Seconds of the slowest answer.
    """

    def __init__(self, server: Server, published: Published) -> None:
        self._connection = connect(server)
        self._connection.timeout = PATIENCE_SECONDS
        self._digest = published.digest
        self._headers = {
            "Content-Type": REPORTS_MEDIA_TYPE,
            "Authorization": f"Bearer {server.token}",
        }
        self.refused = 0
        self.slowest = 0.0

    def send(self, some_ids: Bytes, some_records: Bytes) -> None:
        """Send one batch until it is stored."""
        body = pack_rows(self._digest, some_ids, some_records)
        status = 503
        while status == 503:
            start = time.monotonic()
            self._connection.request("POST", REPORTS, body, self._headers)
            answer = self._connection.getresponse()
            status, content = answer.status, answer.read()
            self.slowest = max(self.slowest, time.monotonic() - start)
            if status == 503:
                self.refused += 1
                time.sleep(float(answer.headers["Retry-After"]))
        assert status == 200, content

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


def upload(server: Server, published: Published, count: int) -> None:
    """Send new reports in batches on one connection."""
    uploader = Uploader(server, published)
    for some_ids, some in drawn(published, count, BATCH):
        uploader.send(some_ids, some)
    uploader.close()


def in_process(url: str, *steps: str) -> Costs:
    """Do `steps` of ``sealing`` in a process of its own, whose memory is then theirs alone."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.scale.sealing", url, *steps],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
        cwd=Path.cwd(),
    )
    measured: Costs = json.loads(done.stdout.splitlines()[-1])
    return measured
