"""The command of ``scripts/load``."""

from __future__ import annotations

import argparse
import os
import resource
import sys
import time

from benchmarks.collecting import DATABASES
from benchmarks.load import analysts, carriers, dashboard, fleet, honest, overload, workers
from benchmarks.load.figures import HEADER, Case, Options

CASES: dict[str, tuple[Case, str]] = {
    "peak": (
        honest.peak,
        "single reports, each durable before its answer, beside a Flask app of one file under "
        "gunicorn, over 32 and 256 connections",
    ),
    "overload": (
        overload.overload,
        "1.5, 3 and 10 times the peak offered by the clock over 2,000 connections: what is still "
        "taken, how the rest is refused, and the rate 2 s later. The server has one processor and "
        "the generator the others. Needs two processors",
    ),
    "slow": (
        honest.slow,
        "honest reports beside 1,000 idle connections, 500 slow heads and 200 slow bodies",
    ),
    "slow-bodies": (
        honest.slow_bodies,
        "honest reports beside one shape of slow bodies after the other, all without a token",
    ),
    "sealing": (honest.sealing, "honest reports while the --reports of another survey are sealed"),
    "analysts": (
        analysts.analysts,
        "honest reports while ten analysts click through surveys, counts, estimates, cross-tables "
        "and the survey's page over --reports that were collected before",
    ),
    "simulate": (
        fleet.simulate,
        "hushpoll simulate with --respondents, beside bare sessions that post reports made before; "
        "and --bulk with a hundred times as many",
    ),
    "workers": (
        workers.workers,
        "two servers with --workers 2 on one PostgreSQL, each ended by SIGTERM and started again "
        "in every round while clients send and retry: no report is lost or stored twice",
    ),
    "dashboard": (
        dashboard.dashboard,
        "every page of the dashboard, of a survey with --reports reports, while another survey's "
        "come in at half the peak; only where it is asked for, as it takes some minutes",
    ),
    "start": (honest.start, "from the start of the program to the first answer to a device"),
    "carriers": (
        carriers.carriers,
        "the ASGI application behind uvicorn and behind granian; only where it is asked for, since "
        "granian is no dependency: give --carrier-python",
    ),
}
ASKED_FOR = ("carriers", "dashboard")


def main() -> int:
    """Measure, print a table, and return whether every goal was reached as the exit code."""
    lines = [f"  {name:12} {words}" for name, (_, words) in CASES.items()]
    parser = argparse.ArgumentParser(
        prog="scripts/load",
        description="Measures what a server takes, on this machine. Prints one row a figure: its "
        "goal, what was measured, and what stands beside it. Ends with code 1 if a goal was "
        "missed.",
        epilog="\n".join(["cases:", *lines]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--rounds", type=int, default=3, help="of each figure (3)")
    parser.add_argument("--seconds", type=int, default=10, help="of a round (10)")
    parser.add_argument(
        "--reports", type=int, default=1_000_000,
        help="that are sealed, or analysed by the analysts (1,000,000)",
    )  # fmt: skip
    parser.add_argument(
        "--respondents", type=int, default=1500, help="of hushpoll simulate, a round (1,500)"
    )
    parser.add_argument(
        "--case", choices=CASES, action="append", help="repeat for several; all by default"
    )
    parser.add_argument(
        "--database", choices=DATABASES, action="append", help="repeat for both; both by default"
    )
    parser.add_argument(
        "--option",
        action="append",
        default=[],
        help="of hushpoll serve, such as --option=--threads=8",
    )
    parser.add_argument(
        "--carrier-python", default="", metavar="PROGRAM", help="an interpreter that has granian"
    )
    chosen = parser.parse_args()
    options = Options(
        chosen.rounds,
        chosen.seconds,
        chosen.reports,
        chosen.respondents,
        tuple(chosen.option),
        chosen.carrier_python,
    )
    names = chosen.case or [name for name in CASES if name not in ASKED_FOR]
    # Thousands of connections; a shell allows 1,024 descriptors.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    load, processors = os.getloadavg()[0], len(os.sched_getaffinity(0))
    print(
        f"{time.strftime('%Y-%m-%d')}, {options.rounds} rounds of {options.seconds} s, "
        f"{processors} processors, load {load:.1f} before\n\n{HEADER}",
        flush=True,
    )
    reached = True
    for kind in chosen.database or DATABASES:
        for name in names:
            for figure in CASES[name][0](kind, options):
                print(figure.row(kind), flush=True)
                reached &= figure.reached is not False
    return 0 if reached else 1


if __name__ == "__main__":
    sys.exit(main())
