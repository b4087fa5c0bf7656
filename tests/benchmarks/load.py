"""Single reports under load: beside an empty route of the same server, and past its capacity.

Run by ``scripts/load``; needs wrk (``apt-get install wrk``). The rounds alternate between the empty
route and the report, on one server, so that a machine that is busy meanwhile is so for both.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks.collecting import DATABASES, REPORTS, ask, records, running
from hushpoll_shared import wire

SCRIPT = Path(__file__).with_name("load.lua")
CONNECTIONS = 32
# More than the server's threads and queue take, so that the rest can go on offering.
OFFERING_CONNECTIONS = 900
TIMES_CAPACITY = 3
SHARE_OF_EMPTY_GOAL = 0.5
P99_GOAL_MS = 250.0
GOODPUT_GOAL = 0.8
REFUSALS = {"429", "503"}


@dataclass(frozen=True)
class Run:
    """What wrk saw: answers a second that are not refusals, latency, and answers by status."""

    rate: float
    p50_ms: float
    p99_ms: float
    statuses: dict[str, int]
    seconds: float

    @property
    def refused(self) -> int:
        return sum(count for status, count in self.statuses.items() if status in REFUSALS)


def run(url: str, connections: int, seconds: int, *arguments: str) -> Run:
    """Run wrk once; every answer must be a success, or a refusal with Retry-After."""
    wrk = shutil.which("wrk")
    assert wrk is not None, "wrk is missing; install it: apt-get install wrk"
    done = subprocess.run(
        [
            *(wrk, "--threads", "2", "--connections", str(connections)),
            *("--duration", f"{seconds}s", "--timeout", "30s", "--script", str(SCRIPT)),
            *(url, "--", *arguments),
        ],
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    found = json.loads(done.stdout.splitlines()[-1])
    good = sum(found["statuses"].get(status, 0) for status in ("200", "201"))
    assert found["without_retry_after"] == 0, found
    assert found["socket_errors"] == 0, found
    assert found["statuses"].keys() <= {"200", "201"} | REFUSALS, found
    return Run(
        good / found["seconds"],
        found["p50_ms"],
        found["p99_ms"],
        found["statuses"],
        found["seconds"],
    )


def overload(url: str, seconds: int, peak: float, report: tuple[str, ...]) -> tuple[Run, float]:
    """Offer three times the peak, whatever becomes of it; return the run and the rate offered.

    A connection pauses for a random time before each request. A refusal comes at once, so those
    that are refused go on offering; a taken report holds its connection for a while, so the pause
    is corrected until three times the peak are offered. The generator has the server's own
    processors, at the peak as well as here.
    """
    wanted = 1.05 * TIMES_CAPACITY * peak
    pause = 700 * OFFERING_CONNECTIONS / wanted
    for _ in range(6):
        over = run(url, OFFERING_CONNECTIONS, seconds, *report, str(max(1, round(pause))))
        offered = sum(over.statuses.values()) / over.seconds
        if TIMES_CAPACITY * peak <= offered <= 1.1 * wanted:
            break
        pause += 1000 * OFFERING_CONNECTIONS * (1 / wanted - 1 / offered)
    return over, offered


def measure(kind: str, rounds: int, seconds: int, options: list[str]) -> bool:
    """Measure one database; print the figures and return whether all were reached."""
    unlimited = ("--rate-limit-submit=0", "--rate-limit-read=0")
    with running(kind, *unlimited, *options) as (server, _, published):
        (record,) = records(published, 1, np.random.default_rng(1))
        report = (REPORTS, published.digest, wire.b64encode(record.tobytes()))
        run(server.url, CONNECTIONS, 2, "empty")
        run(server.url, CONNECTIONS, 2, *report)
        empty, posts = [], []
        for _ in range(rounds):
            empty.append(run(server.url, CONNECTIONS, seconds, "empty"))
            posts.append(run(server.url, CONNECTIONS, seconds, *report))
        nothing, peak = (statistics.median(one.rate for one in runs) for runs in (empty, posts))
        p50, p99 = (max(getattr(one, name) for one in posts) for name in ("p50_ms", "p99_ms"))
        print(
            f"{kind}: {CONNECTIONS} connections, {rounds} rounds of {seconds} s: empty route "
            f"{nothing:,.0f}/s, durable report {peak:,.0f}/s, share {peak / nothing:.2f} (goal "
            f"{SHARE_OF_EMPTY_GOAL}); p50 {p50:.0f} ms, p99 {p99:.0f} ms (goal {P99_GOAL_MS:.0f})",
            flush=True,
        )
        reached = peak >= SHARE_OF_EMPTY_GOAL * nothing and p99 < P99_GOAL_MS
        over, offered = overload(server.url, seconds, peak, report)
        accepted = over.statuses.get("201", 0)
        print(
            f"{kind}: {offered:,.0f} reports/s offered over {OFFERING_CONNECTIONS} connections, "
            f"{offered / peak:.1f} times the peak: {over.rate:,.0f}/s taken, "
            f"{over.rate / peak:.2f} of the peak (goal {GOODPUT_GOAL}), {over.refused:,} "
            f"refused, all by 429 or 503 with Retry-After; "
            f"p50 {over.p50_ms:.0f} ms, p99 {over.p99_ms:.0f} ms",
            flush=True,
        )
        assert over.refused, "nothing was refused"
        reached &= over.rate >= GOODPUT_GOAL * peak and offered >= TIMES_CAPACITY * peak
        _, counts = ask(server, "GET", f"/api/v1/surveys/{published.name}/versions/1/counts")
        acknowledged = accepted + sum(one.statuses.get("201", 0) for one in posts)
        # wrk hangs up at the end: the last reports of each run are stored without its seeing it.
        assert counts["accepted"] >= acknowledged, (counts, acknowledged)
    return reached


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--option", action="append", default=[], help="of hushpoll serve")
    given = parser.parse_args()
    results = [
        measure(kind, given.rounds, given.seconds, given.option)
        for kind in given.database or DATABASES
    ]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
