"""Single reports under load, beside what a user would otherwise write, and past the capacity.

Run by ``scripts/load``; needs wrk (``apt-get install wrk``). Rounds alternate between the server
and its peer, so that a machine that is busy meanwhile is so for both. The server has metrics on and
limits on, and its clients come from behind a declared proxy.
"""

from __future__ import annotations

import argparse
import json
import shutil
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from benchmarks import hostile_load, peer
from benchmarks.collecting import (
    DATABASES,
    DRAFT,
    REPORTS,
    ask,
    connect,
    empty_database,
    ids,
    records,
    running,
)
from hushpoll_fleet.processes import Server
from hushpoll_shared import wire
from hushpoll_shared.batch import pack_rows
from hushpoll_shared.published import Published

SCRIPT = Path(__file__).with_name("load.lua")
CONNECTIONS = (32, 256)
OFFERING_CONNECTIONS = 2000
# Times the peak that is offered, and the least share of the peak that is taken then.
OVERLOADS = ((1.5, 0.8), (3.0, 0.4), (10.0, 0.4))
# In which the rate that is offered approaches it.
LEARNING_ROUNDS = 3
PEER_GOALS = {"sqlite": 3.0, "postgresql": 2.5}
SLOW_P99_GOAL = 3.0
SEALING_GOAL = 0.6
START_GOAL_SECONDS = 1.5
BATCH = 10_000
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

    def peak(self, connections: int = CONNECTIONS[0]) -> Run:
        """Send reports as fast as they are taken."""
        return self._run(connections, *self._report)

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


class Case:
    """One server, and all that is measured on it."""

    def __init__(self, kind: str, server: Server, published: Published, given: Options) -> None:
        self._kind = kind
        self._server = server
        self._published = published
        self._given = given
        (record,) = records(published, 1, np.random.default_rng(1))
        self._report = (REPORTS, published.digest, wire.b64encode(record.tobytes()))
        self.wrk = Generator(server.url, given.seconds, self._report)
        self.wrk.peak()

    def peak(self) -> tuple[str, bool]:
        """Durable single reports beside the peer's."""
        words, reached = [], True
        with empty_database(self._kind) as (url, _), peer.running(url) as address:
            other = Generator(address, self._given.seconds, self._report)
            other.peak()
            for connections in CONNECTIONS:
                ours, theirs = [], []
                for _ in range(self._given.rounds):
                    theirs.append(other.peak(connections))
                    ours.append(self.wrk.peak(connections))
                rate, their_rate = median_rate(ours), median_rate(theirs)
                p99, their_p99 = slowest(ours)[1], slowest(theirs)[1]
                goal = PEER_GOALS[self._kind]
                reached &= rate >= goal * their_rate and p99 <= their_p99
                words.append(
                    f"{connections} connections: {rate:,.0f}/s, p99 {p99:.0f} ms; peer "
                    f"{their_rate:,.0f}/s, p99 {their_p99:.0f} ms; {rate / their_rate:.2f} times "
                    f"(goal {goal})"
                )
        return "; ".join(words), reached

    def overload(self) -> tuple[str, bool]:
        """More than can be taken, offered whatever becomes of it.

        A connection pauses for a random time before each request. A refusal comes at once, so those
        that are refused go on offering. After each round the pause is corrected, towards the rate
        that is wanted.
        """
        words, reached = [], True
        for times, goal in OVERLOADS:
            peaks, overs = [], []
            pause = 0.0
            for number in range(LEARNING_ROUNDS + self._given.rounds):
                peaks.append(self.wrk.peak())
                wanted = times * peaks[-1].rate
                if number == 0:
                    pause = 1000 * OFFERING_CONNECTIONS / wanted
                overs.append(self.wrk.offer(pause))
                pause += 1000 * OFFERING_CONNECTIONS * (1 / wanted - 1 / overs[-1].offered)
                pause = max(0.0, pause)
            time.sleep(2)
            after = self.wrk.peak()
            peaks, overs = peaks[LEARNING_ROUNDS:], overs[LEARNING_ROUNDS:]
            peak, taken = median_rate(peaks), median_rate(overs)
            offered = statistics.median(one.offered for one in overs)
            refused = sum(one.refused for one in overs)
            reached &= taken >= goal * peak
            words.append(
                f"{offered / peak:.1f} times the peak of {peak:,.0f}/s offered (of {times}) over "
                f"{OFFERING_CONNECTIONS} connections: {taken / peak:.2f} taken (goal {goal}), "
                f"{refused:,} refused with Retry-After, p99 {slowest(overs)[1]:.0f} ms; "
                f"{after.rate / peak:.2f} of the peak 2 s later"
            )
        return "; ".join(words), reached

    def slow(self) -> tuple[str, bool]:
        """Honest reports beside idle connections, slow heads and slow bodies."""
        before = [self.wrk.peak() for _ in range(self._given.rounds)]
        with hostile_load.held(self._server.url):
            during = [self.wrk.peak() for _ in range(self._given.rounds)]
        without, p99 = slowest(before)[1], slowest(during)[1]
        return (
            f"{median_rate(during):,.0f}/s of {median_rate(before):,.0f}/s; p99 {p99:.0f} ms of "
            f"{without:.0f} ms, {p99 / without:.1f} times (goal {SLOW_P99_GOAL})"
        ), p99 <= SLOW_P99_GOAL * without

    def sealing(self) -> tuple[str, bool]:
        """Honest reports while the reports of another survey are sealed; see ``--reports``."""
        document = {**DRAFT, "name": "sealed"}
        status, answer = ask(self._server, "POST", "/api/v1/surveys", json.dumps(document).encode())
        assert status in (200, 201), answer
        other = Published.from_json(answer["manifest"])
        self._fill(other)
        before = [self.wrk.peak() for _ in range(self._given.rounds)]
        path = "/api/v1/surveys/sealed/versions/1/close"
        closing = threading.Thread(
            target=ask, args=(self._server, "POST", path, b'{"grace_seconds": 0}')
        )
        started = time.monotonic()
        closing.start()
        during = self.wrk.peak()
        closing.join()
        seconds = time.monotonic() - started
        share = during.rate / median_rate(before)
        return (
            f"{share:.2f} of {median_rate(before):,.0f}/s while {self._given.reports:,} reports "
            f"are sealed in {seconds:.1f} s (goal {SEALING_GOAL})"
        ), share >= SEALING_GOAL

    def _fill(self, published: Published) -> None:
        rng = np.random.default_rng(2)
        rows = records(published, BATCH, rng)
        connection = connect(self._server)
        path = f"/api/v1/surveys/{published.name}/reports"
        headers = {
            "Content-Type": wire.REPORTS_MEDIA_TYPE,
            "Authorization": f"Bearer {self._server.token}",
        }
        for _ in range(0, self._given.reports, BATCH):
            body = pack_rows(published.digest, ids(BATCH, rng), rows)
            connection.request("POST", path, body, headers)
            answer = connection.getresponse()
            answer.read()
            assert answer.status == 200
        connection.close()

    def check(self) -> None:
        """Every report that was acknowledged is there."""
        _, counts = ask(
            self._server, "GET", f"/api/v1/surveys/{self._published.name}/versions/1/counts"
        )
        # wrk hangs up at the end: the last reports of each run are stored without its seeing it.
        assert counts["accepted"] >= self.wrk.accepted, (counts, self.wrk.accepted)


def start(kind: str, given: Options) -> tuple[str, bool]:
    """From the start of the program to the first answer to a device, on an existing database."""
    seconds = []
    with empty_database(kind) as (url, folder):
        options = ("--database-url", url, "--log-level", "warning")
        for number in range(given.rounds + 1):
            began = time.monotonic()
            with Server(folder, options=options) as server:
                status, _ = ask(server, "GET", "/health")
                assert status == 200
                if number:  # the first makes the database
                    seconds.append(time.monotonic() - began)
    found = statistics.median(seconds)
    return f"{found:.2f} s (goal {START_GOAL_SECONDS})", found <= START_GOAL_SECONDS


def median_rate(runs: list[Run]) -> float:
    return statistics.median(one.rate for one in runs)


def slowest(runs: list[Run]) -> tuple[float, float]:
    return max(one.p50_ms for one in runs), max(one.p99_ms for one in runs)


@dataclass(frozen=True)
class Options:
    """Of the command line."""

    rounds: int
    seconds: int
    reports: int
    cases: tuple[str, ...]
    server: tuple[str, ...]


CASES = ("peak", "overload", "slow", "sealing", "start")


def measure(kind: str, given: Options) -> bool:
    """Measure one database; print the figures and return whether all were reached."""
    reached = []

    def told(case: str, work: Callable[[], tuple[str, bool]]) -> None:
        if case in given.cases:
            figures, good = work()
            print(
                f"{kind}, {case}, {given.rounds} rounds of {given.seconds} s: {figures}", flush=True
            )
            reached.append(good)

    on_as_usual = ("--trusted-proxies=1", "--metrics-token=token-of-the-load-test")
    if set(given.cases) - {"start"}:
        with running(kind, *on_as_usual, *given.server) as (server, _, published):
            case = Case(kind, server, published, given)
            for name in CASES[:-1]:
                told(name, getattr(case, name))
            case.check()
    told("start", lambda: start(kind, given))
    return all(reached)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=10)
    parser.add_argument("--reports", type=int, default=1_000_000, help="that are sealed")
    parser.add_argument("--case", choices=CASES, action="append")
    parser.add_argument("--database", choices=DATABASES, action="append")
    parser.add_argument("--option", action="append", default=[], help="of hushpoll serve")
    given = parser.parse_args()
    options = Options(
        given.rounds,
        given.seconds,
        given.reports,
        tuple(given.case or CASES),
        tuple(given.option),
    )
    results = [measure(kind, options) for kind in given.database or DATABASES]
    return 0 if all(results) else 1


if __name__ == "__main__":
    sys.exit(main())
