"""Command line of the benchmarks: all of them, or those named with --only."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable
from pathlib import Path

from benchmarks import (
    answering,
    cells,
    cluster,
    device,
    fleet,
    ingest,
    inviting,
    kernels,
    memory,
    million,
    paper,
    private,
    regression,
    sealing,
    training,
    waiting,
)
from benchmarks.harness import Figure
from benchmarks.results import Result, keep, show


def main() -> int:
    """Run the benchmarks, print their figures, and return 1 if a goal was missed."""
    parser = argparse.ArgumentParser(prog="scripts/bench", description=__doc__)
    data = Path(os.environ.get("HUSHPOLL_DATA", "../shared/data"))
    parser.add_argument("--data", type=Path, default=data, help="folder of adult_26k.csv")
    parser.add_argument(
        "--json", type=Path, help="also keep the figures here, beside those of other benchmarks"
    )
    parser.add_argument(
        "--scale", type=float, default=1.0, help="share of the full size, for a quick look"
    )
    parser.add_argument("--only", action="append", metavar="NAME", help="one benchmark by name")
    parser.add_argument(
        "--before", type=Path, help="a checkout of an earlier commit, whose server ingest measures"
    )
    options = parser.parse_args()
    benchmarks: dict[str, Callable[[], list[Figure]]] = {
        "import": device.importing,
        "answer": answering.answering,
        "record": lambda: device.randomising(options.data),
        "counting": lambda: kernels.counting(options.scale),
        "encoding": lambda: kernels.encoding(options.data, options.scale),
        "cell": lambda: cells.overhead(options.data),
        "grid": lambda: cells.grid(options.data, max(1, round(3 * options.scale))),
        "paper": lambda: paper.reproducing(options.data),
        "million": lambda: million.reading(options.data, options.scale),
        "cluster": lambda: cluster.agreeing(options.data, options.scale),
        "training": lambda: training.remembering(options.data, options.scale),
        "fleet-bulk": lambda: fleet.bulk(options.data, options.scale),
        "fleet-wire": lambda: fleet.wire(options.data, options.scale),
        "ingest": lambda: ingest.taking(options.scale, options.before),
        "inviting": lambda: inviting.inviting(options.scale),
        "memory": lambda: memory.keeping(options.scale),
        "waiting": lambda: waiting.waiting(options.scale),
        "sealing": lambda: sealing.sealing(options.data, options.scale),
        "regression": lambda: regression.fitting(options.data, options.scale),
        "estimates": lambda: sealing.estimates(options.data, options.scale),
    }
    unknown = set(options.only or ()) - set(benchmarks)
    if unknown:
        parser.error(f"--only {', '.join(sorted(unknown))}: choose from {', '.join(benchmarks)}")
    results: dict[str, Result] = {}
    for name in options.only or benchmarks:
        load = os.getloadavg()[0]
        results[name] = Result(benchmarks[name](), load, options.scale)
        if options.json:  # after each, since some of them take long
            keep(options.json, [*benchmarks, *private.NAMES], results)
    figures = [figure for result in results.values() for figure in result.figures]
    show(figures)
    return 0 if all(figure.reached for figure in figures) else 1


if __name__ == "__main__":
    sys.exit(main())
