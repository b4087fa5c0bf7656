"""How long the dashboard's pages of a large survey take while reports come in."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any
from urllib.parse import urljoin, urlsplit

import numpy as np
import requests

from benchmarks.collecting import DRAFT, ask
from benchmarks.load.figures import Figure, Options, at_most
from benchmarks.load.honest import fill
from benchmarks.load.open_loop import Answers, Offer, offer
from benchmarks.load.site import Site, site
from hushpoll_server.config.settings import Settings
from hushpoll_server.jobs.runner import Runner
from hushpoll_server.services.people.users import Users
from hushpoll_server.services.services import Services
from hushpoll_server.store.database import Database
from hushpoll_server.store.users import UserStore
from hushpoll_shared.spelling.clock import SystemClock
from hushpoll_shared.survey.published import Published

FILLED = "filled"
VERSION = f"/dashboard/surveys/{FILLED}/versions/1"
PROTECTED = {"attribute": "gender", "unprivileged": "F", "privileged": "M"}
# A survey that is over, to compare with: its results are public, and it has jobs that are done.
OVER, OVER_REPORTS = "over", 20_000
OVER_VERSION = f"/dashboard/surveys/{OVER}/versions/1"
# {confidence} varies; the other names are ids of the survey that is over, and of a draft.
PAGES = (
    "/dashboard/",
    VERSION,
    f"{VERSION}/estimates?confidence={{confidence}}",
    f"{VERSION}/estimates?attribute=age&confidence={{confidence}}",
    # Among a group by an attribute in clear, and by a perturbed one.
    f"{VERSION}/estimates?attribute=age&among=education&confidence={{confidence}}",
    f"{VERSION}/estimates?attribute=age&among=race&confidence={{confidence}}",
    f"{VERSION}/cross-tables?a=age&b=country&confidence={{confidence}}",
    f"{VERSION}/cross-tables?a=race&b=education&share=row&confidence={{confidence}}",
    # Groups of an attribute in clear and of a perturbed one, and a wave.
    f"{VERSION}/comparison?of=age&beside=groups+of+education&confidence={{confidence}}",
    f"{VERSION}/comparison?of=age&beside=groups+of+race&confidence={{confidence}}",
    f"{VERSION}/comparison?of=age&beside=wave+{OVER}+1&confidence={{confidence}}",
    f"{VERSION}/weighted?of=age&by=gender&a0=51&a1=49&confidence={{confidence}}",
    f"{VERSION}/models",
    f"{VERSION}/fairness",
    f"{VERSION}/quality",
    f"{VERSION}/report",
    f"{VERSION}/report-file?attribute=age&attribute=race&estimator=unbiased"
    "&confidence={confidence}",
    f"{VERSION}/jobs",
    f"{OVER_VERSION}/models/{{model}}",
    f"{OVER_VERSION}/models/compare?model={{model}}&model={{other_model}}",
    f"{OVER_VERSION}/fairness/{{audit}}",
    "/dashboard/drafts/new",
    "/dashboard/drafts/{draft}?n=20000",
    "/dashboard/drafts/{draft}/publish",
    "/dashboard/jobs",
    "/dashboard/curve",
    "/dashboard/people",
    "/dashboard/operations",
    "/dashboard/account",
    f"/results/{OVER}/versions/1",
)
# Pages that hold all that they show, for readers who keep or pass on the file.
ALONE = (f"{VERSION}/report-file", "/results/")
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
        fill(ours.server, _publish(ours, FILLED), options.reports)
        ids = _of_a_survey_that_is_over(ours)
        _wait_until_sealed(ours, FILLED)
        peak = ours.wrk.peaks(options.rounds)
        rate = sorted(run.rate for run in peak)[len(peak) // 2] / 2
        with _signed_in(ours) as session, _coming_in(ours, rate, options.seconds) as answers:
            for page in PAGES:
                address = page.format(confidence="{confidence}", **ids)
                about = f"page {_name(page)} of {options.reports:,} reports"
                yield from _of_page(ours.server.url + address, session, about, asks)
        taken = sum(answer.taken for answer in answers)
        scheduled = sum(answer.scheduled for answer in answers)
        yield Figure(
            "reports that came in meanwhile", "none", f"{taken:,} of {scheduled:,} taken",
            f"{rate:,.0f}/s offered, half of the peak",
        )  # fmt: skip
        yield ours.lost(sum(answer.accepted for answer in answers))


def _name(page: str) -> str:
    """Return how the table of figures names a page."""
    name = page.replace("&confidence={confidence}", "").replace("?confidence={confidence}", "")
    return name.replace(VERSION, "", 1) or "(overview)"


def _of_page(address: str, session: requests.Session, about: str, asks: int) -> Iterator[Figure]:
    """Ask for one page, first with charts that no cache has, then again and again."""
    if "{confidence}" in address:
        first = [_seconds(session, address.format(confidence=one)) for one in CONFIDENCES[1:]]
        yield at_most(
            f"{about}, charts not cached, slowest of {len(first)}", 1000 * max(first), UNCACHED_MS,
            unit=" ms",
        )  # fmt: skip
    address = address.format(confidence=CONFIDENCES[0])
    _seconds(session, address)
    seconds = [_seconds(session, address) for _ in range(asks)]
    p50, p95 = (1000 * float(np.percentile(seconds, part)) for part in (50, 95))
    yield at_most(
        f"{about}, p95 of {asks}", p95, CACHED_MS, unit=" ms", beside=f"median {p50:.0f} ms"
    )
    yield at_most(f"{about}, in all", _kilobytes(session, address), MOST_KB, unit=" kB")


def _seconds(session: requests.Session, address: str) -> float:
    began = time.monotonic()
    answer = session.get(address, timeout=60)
    seconds = time.monotonic() - began
    assert answer.status_code == 200, (address, answer.status_code)
    return seconds


def _kilobytes(session: requests.Session, address: str) -> float:
    """Return the size of a page with all that it loads, uncompressed."""
    page = session.get(address, timeout=60)
    files = {urljoin(address, path) for path in LINKED.findall(page.text)}
    parts = [session.get(file, timeout=60) for file in sorted(files)]
    assert files or urlsplit(address).path.startswith(ALONE), address
    assert all(part.status_code == 200 for part in parts), files
    return (len(page.content) + sum(len(part.content) for part in parts)) / 1000


def _publish(ours: Site, name: str) -> Published:
    draft: dict[str, Any] = {**DRAFT, "name": name, "title": name.title(), "protected": PROTECTED}
    answer = _asked(ours, "POST", "/api/v1/surveys", draft)
    return Published.from_json(answer["manifest"])


def _of_a_survey_that_is_over(ours: Site) -> dict[str, str]:
    """Publish, fill and end a survey; train, audit and publish its results; return the ids."""
    path = f"/api/v1/surveys/{OVER}/versions/1"
    fill(ours.server, _publish(ours, OVER), OVER_REPORTS)
    _asked(ours, "POST", f"{path}/close", {"grace_seconds": 0})
    _wait_until_sealed(ours, OVER)
    few = {"parameters": {"n_estimators": 10}}
    ids = {
        "model": _asked(ours, "POST", f"{path}/jobs/train", few)["id"],
        "other_model": _asked(ours, "POST", f"{path}/jobs/train", {**few, "seed": 2})["id"],
        "audit": _asked(ours, "POST", f"{path}/jobs/fairness", few)["id"],
        "draft": _asked(ours, "POST", "/api/v1/drafts", {"manifest": {**DRAFT, "name": "next"}})[
            "id"
        ],
    }
    worker = Services(Settings(database_url=ours.url))
    Runner(worker).run_waiting()
    worker.stop()
    _asked(ours, "POST", f"{path}/public-results", {"cross_tables": [["race", "education"]]})
    return ids


def _asked(ours: Site, method: str, path: str, body: Any) -> Any:
    """Return the answer to a request of the administrator that succeeds."""
    status, answer = ask(ours.server, method, path, json.dumps(body).encode())
    assert 200 <= status < 300, (path, answer)
    return answer


def _wait_until_sealed(ours: Site, name: str) -> None:
    """Wait until no report of a survey waits any more."""
    deadline = time.monotonic() + SEEN_SECONDS
    path = f"/api/v1/surveys/{name}/versions/1/counts"
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
