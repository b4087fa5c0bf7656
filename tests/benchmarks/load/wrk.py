"""Runs wrk: new reports, each connection as fast as its answers come."""

from __future__ import annotations

import json
import shutil
import statistics
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

SCRIPT = Path(__file__).with_name("load.lua")
CONNECTIONS = (32, 256)
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
    def accepted(self) -> int:
        """Reports that were acknowledged as new."""
        return self.statuses.get("201", 0)


class Generator:
    """Runs wrk against one server, on the processors of this process.

    Parameters
    ----------
    url : str
        Of the server.
    seconds : int
        Length of a run.
    report : tuple of str
        The route's path, the survey's digest and a record in base64url.
    threads : int
        Of wrk.

    Attributes
    ----------
    accepted : int
        Reports that were acknowledged in all runs together.
    """

    def __init__(
        self, url: str, seconds: int, report: tuple[str, str, str], *, threads: int = 2
    ) -> None:
        self._url = url
        self._seconds = seconds
        self._report = report
        self._threads = threads
        self.accepted = 0

    def peak(self, connections: int = CONNECTIONS[0]) -> Run:
        """Send reports as fast as they are taken; each answer is a success or has Retry-After."""
        wrk = shutil.which("wrk")
        assert wrk is not None, "wrk is missing; install it: apt-get install wrk"
        done = subprocess.run(
            [
                *(wrk, "--threads", str(self._threads), "--connections", str(connections)),
                *("--duration", f"{self._seconds}s", "--timeout", "30s", "--script", str(SCRIPT)),
                *(self._url, "--", *self._report),
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        seen = json.loads(done.stdout.splitlines()[-1])
        assert seen.pop("without_retry_after") == 0, seen
        assert seen.pop("socket_errors") == 0, seen
        assert seen["statuses"].keys() <= {"200", "201"} | REFUSALS, seen
        run = Run(**seen)
        self.accepted += run.accepted
        return run

    def peaks(self, rounds: int, connections: int = CONNECTIONS[0]) -> list[Run]:
        """Return so many runs."""
        return [self.peak(connections) for _ in range(rounds)]


def median_rate(runs: Sequence[Run]) -> float:
    """Return the median of the rates, in reports a second."""
    return statistics.median(run.rate for run in runs)


def slowest(runs: Sequence[Run]) -> float:
    """Return the worst p99 of the runs, in ms."""
    return max(run.p99_ms for run in runs)
