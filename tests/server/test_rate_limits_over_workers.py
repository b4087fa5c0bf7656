"""One limit over all workers of a real server."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from hushpoll_fleet import processes
from hushpoll_fleet.processes import Server
from postgres import SHARED, TEMPLATE

LIMIT = 40
WORKERS = 3
# The server as it is, but that each of its workers says who it is.
NAMED_WORKERS = """
import os, sys
from hushpoll_server import serving
from hushpoll_server.commands import serve

load = serving.Server.load

def with_name(self):
    app = load(self)
    app.after_request(lambda answer: (answer.headers.set("X-Worker", os.getpid()), answer)[1])
    return app

serving.Server.load = with_name
serve(sys.argv[2:])
"""


@pytest.fixture
def server(tmp_path, monkeypatch, postgres) -> Iterator[Server]:
    """On PostgreSQL, which takes several workers."""
    monkeypatch.setattr(processes, "_HUSHPOLL", (sys.executable, "-c", NAMED_WORKERS))
    url = postgres.emptied(SHARED, TEMPLATE)
    options = ("--database-url", url, "--workers", str(WORKERS),
               "--rate-limit-read", str(LIMIT), "--trusted-proxies", "1")  # fmt: skip
    with Server(tmp_path, options=options) as running:
        yield running


def ask(server, address):
    """Status, worker and Retry-After of a request over a connection of its own."""
    request = urllib.request.Request(
        server.url + "/api/v1/surveys", headers={"X-Forwarded-For": address, "Connection": "close"}
    )
    try:
        with urllib.request.urlopen(request, timeout=30) as answer:
            return answer.status, answer.headers["X-Worker"], None
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.headers["X-Worker"], int(error.headers["Retry-After"])


def test_a_limit_holds_over_all_workers_to_the_unit(server):
    """Guards: each worker counting for itself would let as many times more through."""
    with ThreadPoolExecutor(12) as pool:
        found = list(pool.map(lambda _: ask(server, "192.0.2.1"), range(4 * LIMIT)))
    assert Counter(status for status, _, _ in found) == {200: LIMIT, 429: 3 * LIMIT}
    workers = {worker for _, worker, _ in found}
    assert len(workers) > 1, "only one worker was asked, which shows nothing"
    assert {worker for status, worker, _ in found if status == 429} == workers
    assert all(1 <= wait <= 60 for status, _, wait in found if status == 429)
    # another address has requests of its own
    assert ask(server, "192.0.2.2")[0] == 200
