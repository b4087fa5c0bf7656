"""Single reports under load: beside an empty route of the same server, and past its capacity.

Run by ``scripts/load``; needs wrk (``apt-get install wrk``). The rounds alternate between the empty
route and the report, and then between the peak and three times it, on one server, so that a machine
that is busy meanwhile is so for both.
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
# In which the rate that is offered approaches it.
LEARNING_ROUNDS = 3
SHARE_OF_EMPTY_GOAL = 0.5
P99_GOAL_MS = 250.0
GOODPUT_GOAL = 0.8
REFUSALS = {"429", "503"}


@dataclass(frozen=True)
class Run:
    """What wrk saw: answers by status, and latency."""

    statuses: dict[str, int]
    seconds: float
    p50_ms: float
    p99_ms: float

    @property
    def rate(self) -> float:
        """Answers a second that are not refusals."""
        return (self.statuses.get("200", 0) + self.accepted) / self.seconds

    @property
    def offered(self) -> float:
        """Requests a second."""
        return sum(self.statuses.values()) / self.seconds

    @property
    def accepted(self) -> int:
        return self.statuses.get("201", 0)

    @property
    def refused(self) -> int:
        return sum(count for status, count in self.statuses.items() if status in REFUSALS)


class Generator:
    """Runs wrk against one server, on the same processors.

    Attributes
    ----------
    accepted : int
        Reports that were acknowledged in all runs together.
    """

    def __init__(self, url: str, seconds: int, report: tuple[str, str, str]) -> None:
        self._url = url
        self._seconds = seconds
        self._report = report
        self.accepted = 0

    def empty(self) -> Run:
        """Ask for nothing, on a route that does nothing."""
        return self._run(CONNECTIONS, "empty")

    def peak(self) -> Run:
        """Send reports as fast as they are taken."""
        return self._run(CONNECTIONS, *self._report)

    def offer(self, pause: float) -> Run:
        """Send reports whatever becomes of them, after a pause each of so many ms on average."""
        return self._run(OFFERING_CONNECTIONS, *self._report, str(max(1, round(pause))))

    def _run(self, connections: int, *arguments: str) -> Run:
        """Run wrk once; every answer must be a success, or a refusal with Retry-After."""
        wrk = shutil.which("wrk")
        assert wrk is not None, "wrk is missing; install it: apt-get install wrk"
        done = subprocess.run(
            [
                *(wrk, "--threads", "2", "--connections", str(connections)),
                *("--duration", f"{self._seconds}s", "--timeout", "30s", "--script", str(SCRIPT)),
                *(self._url, "--", *arguments),
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        found = json.loads(done.stdout.splitlines()[-1])
        assert found.pop("without_retry_after") == 0, found
        assert found.pop("socket_errors") == 0, found
        assert found["statuses"].keys() <= {"200", "201"} | REFUSALS, found
        one = Run(**found)
        self.accepted += one.accepted
        return one


def beside_empty_route(wrk: Generator, rounds: int) -> tuple[str, bool]:
    """Alternate between both routes; return the figures and whether they were reached."""
    empty, posts = [], []
    for _ in range(rounds):
        empty.append(wrk.empty())
        posts.append(wrk.peak())
    nothing, peak = median_rate(empty), median_rate(posts)
    p50, p99 = slowest(posts)
    return (
        f"{CONNECTIONS} connections: empty route {nothing:,.0f}/s, durable report {peak:,.0f}/s, "
        f"share {peak / nothing:.2f} (goal {SHARE_OF_EMPTY_GOAL}); p50 {p50:.0f} ms, p99 "
        f"{p99:.0f} ms (goal {P99_GOAL_MS:.0f})"
    ), peak >= SHARE_OF_EMPTY_GOAL * nothing and p99 < P99_GOAL_MS


def past_capacity(wrk: Generator, rounds: int) -> tuple[str, bool]:
    """Alternate between the peak and three times it; return the figures and whether reached.

    A connection pauses for a random time before each request. A refusal comes at once, so those
    that are refused go on offering; a taken report holds its connection for a while. So after each
    round the pause is corrected, towards three times the peak and a little more.
    """
    peaks, overs = [], []
    pause = 0.0
    for number in range(LEARNING_ROUNDS + rounds):
        peaks.append(wrk.peak())
        wanted = 1.1 * TIMES_CAPACITY * peaks[-1].rate
        if number == 0:
            pause = 700 * OFFERING_CONNECTIONS / wanted
        overs.append(wrk.offer(pause))
        pause += 1000 * OFFERING_CONNECTIONS * (1 / wanted - 1 / overs[-1].offered)
    peaks, overs = peaks[LEARNING_ROUNDS:], overs[LEARNING_ROUNDS:]
    peak, taken = median_rate(peaks), median_rate(overs)
    offered = statistics.median(one.offered for one in overs)
    refused = sum(one.refused for one in overs)
    assert refused, "nothing was refused"
    p50, p99 = slowest(overs)
    return (
        f"peak {peak:,.0f}/s; {offered:,.0f}/s offered over {OFFERING_CONNECTIONS} connections, "
        f"{offered / peak:.1f} times the peak (goal {TIMES_CAPACITY}): {taken:,.0f}/s taken, "
        f"{taken / peak:.2f} of the peak (goal {GOODPUT_GOAL}), {refused:,} refused, all by 429 or "
        f"503 with Retry-After; p50 {p50:.0f} ms, p99 {p99:.0f} ms"
    ), taken >= GOODPUT_GOAL * peak and offered >= TIMES_CAPACITY * peak


def median_rate(runs: list[Run]) -> float:
    return statistics.median(one.rate for one in runs)


def slowest(runs: list[Run]) -> tuple[float, float]:
    return max(one.p50_ms for one in runs), max(one.p99_ms for one in runs)


def measure(kind: str, rounds: int, seconds: int, options: list[str]) -> bool:
    """Measure one database; print the figures and return whether all were reached."""
    unlimited = ("--rate-limit-submit=0", "--rate-limit-read=0")
    with running(kind, *unlimited, *options) as (server, _, published):
        (record,) = records(published, 1, np.random.default_rng(1))
        report = (REPORTS, published.digest, wire.b64encode(record.tobytes()))
        wrk = Generator(server.url, seconds, report)
        wrk.empty()
        wrk.peak()
        reached = []
        for part in (beside_empty_route, past_capacity):
            figures, good = part(wrk, rounds)
            print(f"{kind}, {rounds} rounds of {seconds} s: {figures}", flush=True)
            reached.append(good)
        _, counts = ask(server, "GET", f"/api/v1/surveys/{published.name}/versions/1/counts")
        # wrk hangs up at the end: the last reports of each run are stored without its seeing it.
        assert counts["accepted"] >= wrk.accepted, (counts, wrk.accepted)
    return all(reached)


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
