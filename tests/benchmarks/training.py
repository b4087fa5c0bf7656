"""Training on a million Adult records, of the protocol with the most indicators, by memory."""

from __future__ import annotations

import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.adult import SENSITIVE, draft, load_codes
from benchmarks.harness import Figure, against, announced

BYTES_LIMIT = 4e9
TREES = 100


def remembering(data: Path, scale: float) -> list[Figure]:
    """Train on a file of records in a fresh process for each encoding."""
    rows = int(1_000_000 * scale)
    figures = []
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "adult.records"
        with announced(f"{rows:,} Adult records under OUE at epsilon 1 (not part of the figure)"):
            write(path, data, rows)
        for encoding in ("indicator", "posterior"):
            with announced(f"train on them, {encoding}, {TREES} trees, one thread"):
                done = subprocess.run(
                    [sys.executable, "-m", "benchmarks.training", str(path), encoding],
                    check=True,
                    stdout=subprocess.PIPE,
                    text=True,
                )
            run = json.loads(done.stdout)
            print(f"  {run['seconds']:.0f} s, {run['columns']} columns", flush=True)
            assert run["rows"] == rows, run
            figures.append(
                against(
                    f"training on {rows:,} Adult records, {encoding}: peak of resident memory",
                    unit="GB",
                    ours=run["peak"] / 1e9,
                    peer=BYTES_LIMIT / 1e9,
                    peer_name="limit",
                    goal=1,
                    repeats=1,
                )
            )
    return figures


def write(path: Path, data: Path, rows: int) -> None:
    """Write records of respondents drawn from Adult's rows, as an export is."""
    from hushpoll_shared import Manifest
    from hushpoll_shared.wire.batch import encode_many
    from hushpoll_shared.wire.records_file import pack_records_header

    codes = load_codes(data / "adult_26k.csv")
    document = draft(codes, protocols=dict.fromkeys(SENSITIVE, "OUE"), split="uniform")
    survey = Manifest.from_dict(document | {"epsilon": "1"}).resolve()
    rng = np.random.default_rng(0)
    drawn = rng.integers(0, len(codes), rows)
    people = {name: codes[name].to_numpy()[drawn] for name in codes}
    with path.open("wb") as stream:
        stream.write(pack_records_header(survey, rows))
        stream.write(encode_many(survey, people, rng).tobytes())


def measure(path: Path, encoding: str) -> dict[str, float]:
    """Train as ``hushpoll train --records`` does."""
    from hushpoll_analysis import Records
    from hushpoll_training import FitOptions, Recipe, train_collected

    records = Records.read(path)
    start = time.perf_counter()
    outcome = train_collected(
        records, Recipe.of({"n_estimators": TREES}, encoding=encoding), FitOptions()
    )
    return {
        "rows": outcome.model.rows,
        "columns": len(outcome.model.features.names),
        "seconds": time.perf_counter() - start,
        "peak": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024.0,
    }


if __name__ == "__main__":
    print(json.dumps(measure(Path(sys.argv[1]), sys.argv[2])))
