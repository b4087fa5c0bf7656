"""Metrics of the server for Prometheus.

Labels hold a request's method, its route as it is written in the code, and its status, and nothing
else of a request: no address, id, token or survey. Every number is about the whole server; a
survey's counts are for its analysts.

Several processes count together in files, if the library finds ``PROMETHEUS_MULTIPROC_DIR`` in the
environment when it is first imported; ``processes.files`` sets it.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib.metadata import version
from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

DIRECTORY_VARIABLE: Final = "PROMETHEUS_MULTIPROC_DIR"


def process_ended(pid: int) -> None:
    """Drop the gauges of a process that has ended; its counters stay."""
    if DIRECTORY_VARIABLE in os.environ:
        from prometheus_client import multiprocess

        multiprocess.mark_process_dead(pid)  # type: ignore[no-untyped-call]  # it has no types


class Metrics:
    """The server's metrics, in a registry of their own.

    Every method may be called from any thread.
    """

    def __init__(self) -> None:
        # Imported here, after the variable is set, and not at all by a server without metrics.
        from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

        registry = self._registry = CollectorRegistry()
        self._reports = Counter(
            "hushpoll_reports",
            "Reports by outcome: accepted, duplicate, or the reason of a refusal.",
            ["outcome"],
            registry=registry,
        )
        self._requests = Counter(
            "hushpoll_http_requests",
            "Requests by method, route and status; route is the template.",
            ["method", "route", "status"],
            registry=registry,
        )
        self._request_seconds = Histogram(
            "hushpoll_http_request_seconds",
            "Time from a request's arrival to its answer; without the time of streaming a body.",
            ["method", "route"],
            buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30),
            registry=registry,
        )
        self._of_request: dict[tuple[str, str, int], tuple[Counter, Histogram]] = {}
        self._queued: int | None = None
        self._rate_limited = Counter(
            "hushpoll_rate_limited", "Requests answered with 429.", registry=registry
        )
        self._broken_off = Counter(
            "hushpoll_answers_broken_off",
            "Answers of the web process that ended half way, such as an export while it was "
            "killed; their connections are closed.",
            registry=registry,
        )
        self._commit_seconds = Histogram(
            "hushpoll_commit_seconds",
            "Time of one durable transaction that stores a group of reports.",
            buckets=(0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5),
            registry=registry,
        )
        self._group_reports = Histogram(
            "hushpoll_group_reports",
            "Reports in one such transaction.",
            buckets=(1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 10_000),
            registry=registry,
        )
        self._queue = Gauge(
            "hushpoll_queue_reports",
            "Reports that wait for their commit.",
            multiprocess_mode="livesum",
            registry=registry,
        )
        self._inbox = Gauge(
            "hushpoll_inbox_reports",
            "Stored reports that wait to be sealed.",
            multiprocess_mode="livemostrecent",
            registry=registry,
        )
        self._seal_lag = Gauge(
            "hushpoll_seal_lag_seconds",
            "Upper limit of the time for which the oldest report in an inbox has waited to be "
            "sealed, as far as the server has seen since its start; no time is stored.",
            multiprocess_mode="livemostrecent",
            registry=registry,
        )
        self._jobs = Gauge(
            "hushpoll_jobs",
            "Background jobs by state: queued, running, done, failed, cancelled.",
            ["state"],
            multiprocess_mode="livemostrecent",
            registry=registry,
        )
        self._maintenance_failing = Gauge(
            "hushpoll_maintenance_failing",
            "Survey versions that could not be sealed or released when it was last tried; where "
            "workers seal, those that are overdue by a minute: the worker's log says why "
            "(version-not-maintained).",
            multiprocess_mode="livemostrecent",
            registry=registry,
        )
        self._database_up = Gauge(
            "hushpoll_database_up",
            "1 if the database answered when it was last asked, at most 10 s ago, else 0.",
            multiprocess_mode="livemostrecent",
            registry=registry,
        )
        Gauge(
            "hushpoll_info",
            "Always 1.",
            ["version"],
            multiprocess_mode="max",
            registry=registry,
        ).labels(version("hushpoll")).set(1)

    def reports(self, outcome: str, count: int = 1) -> None:
        """Count reports of one outcome."""
        self._reports.labels(outcome).inc(count)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count an answered request; `route` is a template, never a path."""
        # Looked up once: for each request it would take as long as the counting.
        key = (method, route, status)
        counted = self._of_request.get(key)
        if counted is None:
            counted = self._of_request[key] = (
                self._requests.labels(method, route, str(status)),
                self._request_seconds.labels(method, route),
            )
        requests, request_seconds = counted
        requests.inc()
        request_seconds.observe(seconds)
        if status == 429:
            self._rate_limited.inc()

    def broken_off(self) -> None:
        """Count an answer that ended half way."""
        self._broken_off.inc()

    def committed(self, reports: int, seconds: float) -> None:
        """Count a transaction that stored a group."""
        self._group_reports.observe(reports)
        self._commit_seconds.observe(seconds)

    def queue(self, reports: int) -> None:
        """Set how many reports wait for their commit in this process."""
        if reports != self._queued:
            self._queued = reports
            self._queue.set(reports)

    def maintenance_failing(self, versions: int) -> None:
        """Set how many survey versions could not be sealed or released."""
        self._maintenance_failing.set(versions)

    def sampled(
        self, *, up: bool, inbox: int = 0, seal_lag: float = 0.0, jobs: Mapping[str, int] = {}
    ) -> None:
        """Set the database's numbers; while it is down, the last values stay."""
        self._database_up.set(up)
        if up:
            self._inbox.set(inbox)
            self._seal_lag.set(seal_lag)
            for state, count in jobs.items():
                self._jobs.labels(state).set(count)

    def queue_reports(self) -> int:
        """Return how many reports wait for their commit, in all processes together."""
        families = self._together().collect()
        samples = (sample for family in families for sample in family.samples)
        return int(sum(one.value for one in samples if one.name == "hushpoll_queue_reports"))

    def exposition(self) -> tuple[bytes, str]:
        """Return the text for Prometheus and its media type, of all processes together."""
        from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

        return generate_latest(self._together()), CONTENT_TYPE_LATEST

    def _together(self) -> CollectorRegistry:
        """Return a registry of what all processes count."""
        from prometheus_client import CollectorRegistry
        from prometheus_client.multiprocess import MultiProcessCollector

        if DIRECTORY_VARIABLE not in os.environ:
            return self._registry
        registry = CollectorRegistry()
        MultiProcessCollector(registry)  # type: ignore[no-untyped-call]  # it has no types
        return registry
