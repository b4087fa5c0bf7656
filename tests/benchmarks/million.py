"""One million Adult records in SQLite: decoded and estimated, in a process of its own."""

from __future__ import annotations

import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.adult import MIXED, draft, load_codes
from benchmarks.harness import REPEATS, Figure, against, announced

SECONDS_LIMIT = 10.0
BYTES_LIMIT = 1.5e9
BATCH = 10_000


def reading(data: Path, scale: float) -> list[Figure]:
    """Fill a database through the bulk upload, then read it in fresh processes."""
    rows = int(1_000_000 * scale)
    with tempfile.TemporaryDirectory() as folder:
        database = Path(folder) / "million.sqlite"
        with announced(f"upload of {rows:,} Adult records into SQLite (not part of the figure)"):
            fill(database, data, rows)
        runs = []
        for run in range(REPEATS):
            with announced(f"decode and estimate them, run {run + 1} of {REPEATS}"):
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.million", str(database)],
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            runs.append(json.loads(done.stdout))
    assert all(run["n"] == rows for run in runs), runs
    title = f"{rows:,} Adult records in SQLite, decoded and estimated"
    return [
        against(
            title,
            unit="s",
            ours=statistics.median(run["seconds"] for run in runs),
            peer=SECONDS_LIMIT,
            peer_name="limit",
            goal=1,
        ),
        against(
            f"{title}: peak of resident memory",
            unit="GB",
            ours=statistics.median(run["peak"] for run in runs) / 1e9,
            peer=BYTES_LIMIT / 1e9,
            peer_name="limit",
            goal=1,
        ),
    ]


def fill(database: Path, data: Path, rows: int) -> None:
    """Publish Adult, another protocol an attribute; upload respondents drawn from its rows."""
    from hushpoll_server import create_app
    from hushpoll_shared import Manifest
    from hushpoll_shared.wire.batch import encode_many, pack_rows

    codes = load_codes(data / "adult_26k.csv")
    document = draft(codes, protocols=MIXED, split="k-based")
    survey = Manifest.from_dict(document).resolve()
    app = create_app({"DATABASE_URL": f"sqlite:///{database}"})
    services = app.extensions["hushpoll"]
    headers = {"Authorization": f"Bearer {services.access.first_admin()}"}
    answer = app.test_client().post("/api/v1/surveys", json=document, headers=headers)
    assert answer.status_code == 201, answer.get_data(as_text=True)
    rng = np.random.default_rng(0)
    for start in range(0, rows, BATCH):
        size = min(BATCH, rows - start)
        drawn = rng.integers(0, len(codes), size)
        records = encode_many(survey, {name: codes[name].to_numpy()[drawn] for name in codes}, rng)
        ids = rng.integers(0, 256, (size, 16), dtype=np.uint8)
        checked = services.batches.check("adult", pack_rows(survey.digest, ids, records))
        (outcomes,) = services.reports.insert([checked.batch])
        assert outcomes is not None
        assert len(outcomes) == size
    services.stop()


def measure(database: Path) -> dict[str, float]:
    """Decode every record into indicators and estimate every attribute."""
    from hushpoll_analysis import Records
    from hushpoll_analysis.estimates.frequencies import frequencies_from_counts
    from hushpoll_analysis.records.counts import Counts
    from hushpoll_server import create_app

    services = create_app({"DATABASE_URL": f"sqlite:///{database}"}).extensions["hushpoll"]
    row = services.surveys.version("adult", 1)
    survey = services.surveys.published(row)
    start = time.perf_counter()
    n, support = 0, None
    for block in services.segments.blocks(row.id, row.record_size):
        decoded = Records.trusted(survey, block)
        names = [attribute.name for attribute in survey.attributes]
        sums = {name: decoded.indicators(name).sum(0, np.int64) for name in names}
        support = sums if support is None else {k: support[k] + v for k, v in sums.items()}
        n += len(decoded)
    frequencies_from_counts(survey, Counts(n, support or {}))
    seconds = time.perf_counter() - start
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    return {"n": n, "seconds": seconds, "peak": float(peak)}


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]))))
