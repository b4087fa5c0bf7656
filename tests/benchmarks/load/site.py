"""The server of a case, as users run it: with metrics, with limits, behind a declared proxy."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from benchmarks.collecting import REPORTS, ask, records, running
from benchmarks.load.figures import Figure, Options, lost
from benchmarks.load.wrk import Generator
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire

AS_USUAL = ("--trusted-proxies=1", "--metrics-token=token-of-the-load-test")


@dataclass
class Site:
    """One server, its survey, and what sends reports to it.

    Attributes
    ----------
    url : str
        Of the database.
    """

    server: Server
    url: str
    published: Published
    wrk: Generator
    report: tuple[str, str, str]

    def counted(self) -> int:
        """Return how many reports the server has taken."""
        path = f"/api/v1/surveys/{self.published.name}/versions/1/counts"
        status, counts = ask(self.server, "GET", path)
        assert status == 200, counts
        return int(counts["accepted"])

    def lost(self, more: int = 0) -> Figure:
        """Return the figure of lost reports; `more` were acknowledged to others than wrk.

        wrk hangs up at the end of a run: its last reports are stored without its seeing it.
        """
        return lost(self.wrk.accepted + more, self.counted())


@contextmanager
def site(kind: str, options: Options, *more: str, threads: int = 2) -> Iterator[Site]:
    """Serve the survey from a new database, and send reports for one run beforehand."""
    with running(kind, *AS_USUAL, *more, *options.server) as (server, url, published):
        report = one_report(published)
        generator = Generator(server.url, options.seconds, report, threads=threads)
        generator.peak()
        yield Site(server, url, published, generator, report)


def one_report(published: Published) -> tuple[str, str, str]:
    """Return the route's path, the digest and a record in base64url."""
    (record,) = records(published, 1, np.random.default_rng(1))
    return REPORTS, published.digest, wire.b64encode(record.tobytes())


@contextmanager
def only_on(processors: Sequence[int]) -> Iterator[None]:
    """Let processes that are started meanwhile, and this thread, use these processors alone."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, processors)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)
