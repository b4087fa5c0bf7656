"""Ten analysts who click while reports come in."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import cycle, islice

import numpy as np
import requests

from benchmarks.collecting import SURVEY, ask
from benchmarks.load.figures import Figure, Options, at_least
from benchmarks.load.honest import fill
from benchmarks.load.site import Site, site
from benchmarks.load.wrk import median_rate, slowest

ANALYSTS = 10
# A person looks at what a click showed before the next one.
LOOK_SECONDS = 1.0
GOAL = 0.6
SEEN_SECONDS = 60.0

VERSION = f"/api/v1/surveys/{SURVEY}/versions/1"
CLICKS = (
    "/api/v1/surveys",
    f"/api/v1/surveys/{SURVEY}",
    f"{VERSION}/counts",
    f"{VERSION}/estimates",
    f"{VERSION}/cross-tables?a=gender&b=country",
    f"{VERSION}/cross-tables?a=age&b=income",
    f"{VERSION}/cross-tables?a=race&b=education",
    f"/s/{SURVEY}",
)


class Analyst:
    """One analyst, with a token and an address of their own.

    Attributes
    ----------
    seconds : list of float
        How long each click took.
    statuses : Counter
        Answers by status.
    """

    def __init__(self, url: str, token: str, number: int) -> None:
        self._url = url
        self._first = number
        self._headers = {
            "Authorization": f"Bearer {token}",
            "X-Forwarded-For": f"192.0.2.{number + 1}",
        }
        self.seconds: list[float] = []
        self.statuses: Counter[int] = Counter()

    def click(self, stop: threading.Event, pause: float) -> None:
        """Click until told to stop, each analyst beginning elsewhere."""
        with requests.Session() as session:
            session.headers.update(self._headers)
            for path in islice(cycle(CLICKS), self._first, None):
                began = time.monotonic()
                with session.get(self._url + path, timeout=60) as answer:
                    self.statuses[answer.status_code] += 1
                self.seconds.append(time.monotonic() - began)
                if stop.wait(pause):
                    return


@contextmanager
def clicking(url: str, token: str, pause: float) -> Iterator[list[Analyst]]:
    """Let ten analysts click for the length of a ``with`` block."""
    stop = threading.Event()
    analysts = [Analyst(url, token, number) for number in range(ANALYSTS)]
    threads = [threading.Thread(target=analyst.click, args=(stop, pause)) for analyst in analysts]
    for thread in threads:
        thread.start()
    try:
        yield analysts
    finally:
        stop.set()
        for thread in threads:
            thread.join()


def analysts(kind: str, options: Options) -> Iterator[Figure]:
    """Honest reports beside analysts; a look of a second between clicks, and none."""
    with site(kind, options) as ours:
        fill(ours.server, ours.published, min(options.reports, 1_000_000))
        token = reader(ours)
        wait_for_estimates(ours)
        for pause, goal in ((LOOK_SECONDS, GOAL), (0.0, None)):
            before = ours.wrk.peaks(options.rounds)
            with clicking(ours.server.url, token, pause) as people:
                during = ours.wrk.peaks(options.rounds)
            share = median_rate(during) / median_rate(before)
            seconds = [second for analyst in people for second in analyst.seconds]
            statuses = sum((analyst.statuses for analyst in people), Counter[int]())
            name = f"rate while {ANALYSTS} analysts click, {pause:g} s after each answer"
            beside = (
                f"{median_rate(before):,.0f}/s without; {len(seconds):,} clicks, p99 "
                f"{1000 * float(np.percentile(seconds, 99)):,.0f} ms, answers {dict(statuses)}; "
                f"reports' p99 {slowest(during):.0f} ms of {slowest(before):.0f} ms"
            )
            unit = " of the rate without"
            if goal is None:
                yield Figure(name, "none", f"{share:.2f}{unit}", beside)
            else:
                yield at_least(name, share, goal, unit=unit, beside=beside)
                yield Figure(
                    "clicks answered 200", "all", f"{statuses[200]:,} of {statuses.total():,}",
                    "", statuses[200] == statuses.total(),
                )  # fmt: skip
        yield ours.lost(filled(options))


def filled(options: Options) -> int:
    """Return how many reports were uploaded beforehand."""
    return -(-min(options.reports, 1_000_000) // 10_000) * 10_000


def reader(ours: Site) -> str:
    """Return a new token that may read."""
    status, answer = ask(ours.server, "POST", "/api/v1/tokens", b'{"scopes": ["read"]}')
    assert status == 201, answer
    return str(answer["token"])


def wait_for_estimates(ours: Site) -> None:
    """Wait until there are sealed reports to estimate from."""
    deadline = time.monotonic() + SEEN_SECONDS
    while True:
        status, answer = ask(ours.server, "GET", f"{VERSION}/estimates")
        if status == 200:
            return
        assert time.monotonic() < deadline, answer
        time.sleep(0.2)
