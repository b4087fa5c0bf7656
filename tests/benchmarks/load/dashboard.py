"""How long the dashboard's pages of a large survey take while reports come in."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import requests

from benchmarks.collecting import DRAFT, ask
from benchmarks.load.figures import Figure, Options, at_most
from benchmarks.load.honest import fill
from benchmarks.load.open_loop import Answers, Offer, offer
from benchmarks.load.site import Site, site
from hushpoll_server.services.people.users import Users
from hushpoll_server.store.database import Database
from hushpoll_server.store.users import UserStore
from hushpoll_shared.spelling.clock import SystemClock
from hushpoll_shared.survey.published import Published

FILLED = "filled"
VERSION = f"/dashboard/surveys/{FILLED}/versions/1"
PROTECTED = {"attribute": "gender", "unprivileged": "F", "privileged": "M"}
PAGES = (
    "/dashboard/",
    VERSION,
    f"{VERSION}/estimates?confidence={{}}",
    f"{VERSION}/estimates?attribute=age&confidence={{}}",
    f"{VERSION}/cross-tables?a=age&b=country&confidence={{}}",
    f"{VERSION}/cross-tables?a=race&b=education&share=row&confidence={{}}",
    f"{VERSION}/models",
    f"{VERSION}/fairness",
    f"{VERSION}/quality",
    f"{VERSION}/jobs",
)
# The first is asked for again and again, the others once each: their charts are in no cache.
CONFIDENCES = ("0.95", "0.8", "0.9", "0.99")
ASKS = 100
# Of a quick look at few reports.
FEW_ASKS, FEW_REPORTS = 10, 100_000
CACHED_MS, UNCACHED_MS, MOST_KB = 200, 600, 400
SEEN_SECONDS = 900.0
CONNECTIONS = 64
NAME, PASSWORD = "bench", "correct horse battery"
FORM_TOKEN = re.compile(r'name="form_token" value="([^"]*)"')
LINKED = re.compile(r'(?:href|src)="([^"]*/page/[^"]+)"')


def dashboard(kind: str, options: Options) -> Iterator[Figure]:
    """Pages of a survey with --reports reports, while another survey's come at half the peak."""
    asks = ASKS if options.reports > FEW_REPORTS else FEW_ASKS
    with site(kind, options) as ours:
        published = _publish(ours)
        fill(ours.server, published, options.reports)
        _wait_until_sealed(ours)
        peak = ours.wrk.peaks(options.rounds)
        rate = sorted(run.rate for run in peak)[len(peak) // 2] / 2
        with _signed_in(ours) as session, _coming_in(ours, rate, options.seconds) as answers:
            for page in PAGES:
                yield from _of_page(ours.server.url, session, page, asks, options.reports)
        taken = sum(answer.taken for answer in answers)
        scheduled = sum(answer.scheduled for answer in answers)
        yield Figure(
            "reports that came in meanwhile", "none", f"{taken:,} of {scheduled:,} taken",
            f"{rate:,.0f}/s offered, half of the peak",
        )  # fmt: skip
        yield ours.lost(sum(answer.accepted for answer in answers))


def _of_page(
    url: str, session: requests.Session, page: str, asks: int, reports: int
) -> Iterator[Figure]:
    """Ask for one page, first with charts that no cache has, then again and again."""
    name = page.removeprefix(VERSION).partition("&confidence")[0].partition("?confidence")[0]
    about = f"page {name or '(overview)'} of {reports:,} reports"
    if "{}" in page:
        first = [_seconds(session, url + page.format(one)) for one in CONFIDENCES[1:]]
        yield at_most(
            f"{about}, charts not cached, slowest of {len(first)}", 1000 * max(first), UNCACHED_MS,
            unit=" ms",
        )  # fmt: skip
    address = url + page.format(CONFIDENCES[0])
    _seconds(session, address)
    seconds = [_seconds(session, address) for _ in range(asks)]
    p50, p95 = (1000 * float(np.percentile(seconds, part)) for part in (50, 95))
    yield at_most(
        f"{about}, p95 of {asks}", p95, CACHED_MS, unit=" ms", beside=f"median {p50:.0f} ms"
    )
    yield at_most(f"{about}, in all", _kilobytes(session, url, address), MOST_KB, unit=" kB")


def _seconds(session: requests.Session, address: str) -> float:
    began = time.monotonic()
    answer = session.get(address, timeout=60)
    seconds = time.monotonic() - began
    assert answer.status_code == 200, (address, answer.status_code)
    return seconds


def _kilobytes(session: requests.Session, url: str, address: str) -> float:
    """Return the size of a page with all that it loads, uncompressed."""
    page = session.get(address, timeout=60)
    files = {url + path for path in LINKED.findall(page.text)}
    parts = [session.get(file, timeout=60) for file in sorted(files)]
    assert files
    assert all(part.status_code == 200 for part in parts), files
    return (len(page.content) + sum(len(part.content) for part in parts)) / 1000


def _publish(ours: Site) -> Published:
    draft: dict[str, Any] = {**DRAFT, "name": FILLED, "title": "Filled", "protected": PROTECTED}
    status, answer = ask(ours.server, "POST", "/api/v1/surveys", json.dumps(draft).encode())
    assert status == 201, answer
    return Published.from_json(answer["manifest"])


def _wait_until_sealed(ours: Site) -> None:
    """Wait until no report of the filled survey waits any more."""
    deadline = time.monotonic() + SEEN_SECONDS
    path = f"/api/v1/surveys/{FILLED}/versions/1/counts"
    while True:
        status, counts = ask(ours.server, "GET", path)
        assert status == 200, counts
        if not counts["inbox"] and counts["counted"]:
            return
        assert time.monotonic() < deadline, counts
        time.sleep(0.5)


@contextmanager
def _signed_in(ours: Site) -> Iterator[requests.Session]:
    """Give the session of an administrator."""
    database = Database(ours.url, pool_size=1)
    Users(UserStore(database), SystemClock()).add(NAME, PASSWORD, {"*": "admin"})
    database.close()
    with requests.Session() as session:
        address = f"{ours.server.url}/dashboard/sign-in"
        found = FORM_TOKEN.search(session.get(address, timeout=60).text)
        assert found is not None
        form = {"form_token": found[1], "name": NAME, "password": PASSWORD}
        answer = session.post(address, data=form, timeout=60, allow_redirects=False)
        assert answer.status_code == 303, answer.status_code
        yield session


@contextmanager
def _coming_in(ours: Site, rate: float, seconds: float) -> Iterator[list[Answers]]:
    """Offer reports at a rate, in runs of so many seconds, for the length of a ``with`` block."""
    stop, answers = threading.Event(), []
    path, digest, record = ours.report

    def run() -> None:
        while not stop.is_set():
            answers.append(
                offer(Offer(ours.server.url, path, digest, record, rate, seconds, CONNECTIONS))
            )

    thread = threading.Thread(target=run)
    thread.start()
    try:
        yield answers
    finally:
        stop.set()
        thread.join()
