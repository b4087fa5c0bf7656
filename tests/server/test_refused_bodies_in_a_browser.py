"""A page in a browser sees why its large body is refused, and can go on."""

from __future__ import annotations

import http.server
import threading
from collections.abc import Iterator

import pytest
import requests
from playwright.sync_api import Page

from dashboard_browser import chromium
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.wire import reports as wire
from sample_survey import REPORTS, VERSION
from waiting import LONGEST_SECONDS

MIB = 2**20
JSON = wire.JSON_MEDIA_TYPE
BATCH = wire.REPORTS_MEDIA_TYPE
DRAFT = {
    "name": "work",
    "version": 1,
    "title": "Work",
    "epsilon": "4",
    "release": "immediate",
    "attributes": [
        {"name": "smoker", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
    ],
}
# Of a survey that names the page's origin: size, media type, status, code.
REFUSED = [
    (MIB + 1, JSON, 413, "payload-too-large"),
    (5 * MIB, JSON, 413, "payload-too-large"),
    (30 * MIB, JSON, 413, "payload-too-large"),
    (MIB, "image/png", 415, "unsupported-media-type"),
    (5 * MIB, "image/png", 415, "unsupported-media-type"),
    (30 * MIB, "image/png", 415, "unsupported-media-type"),
    (MIB, BATCH, 401, "unauthorized"),
    (5 * MIB, BATCH, 401, "unauthorized"),
    (30 * MIB, BATCH, 401, "unauthorized"),
    # As large as a report may be, and of no version that there is.
    (MIB, JSON, 404, "unknown-digest"),
]  # fmt: skip
# `body` begins with what is a report in its form, so that a body that is not too large is read on.
SEND = """
async ([url, size, type]) => {
  const start = JSON.stringify({ digest: "0".repeat(64), id: "A".repeat(22), record: "AA" });
  const body = new Blob([start, " ".repeat(size - start.length)]);
  const answers = [];
  for (let time = 0; time < 2; time++) {
    const answer = await fetch(url, { method: "POST", headers: { "Content-Type": type }, body });
    const { status, code } = await answer.json();
    answers.push([answer.status, status, code, answer.headers.get("X-Request-Id").length]);
  }
  return answers;
}
"""


class Empty(http.server.BaseHTTPRequestHandler):
    """An empty page, whatever is asked for."""

    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Page</title>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def origin() -> Iterator[str]:
    """The origin of a page that is not the server's."""
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Empty) as pages:
        thread = threading.Thread(target=pages.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{pages.server_port}"
        pages.shutdown()
        thread.join()


@pytest.fixture(scope="module")
def server(tmp_path_factory, origin) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running, requests.Session() as session:
        session.headers["Authorization"] = f"Bearer {running.token}"
        for path, document in (
            ("/api/v1/surveys?allow_weak=true", DRAFT),
            ("/api/v1/surveys/work/origins", {"origins": [origin]}),
        ):
            method = "PUT" if path.endswith("origins") else "POST"
            answer = session.request(
                method, running.url + path, json=document, timeout=LONGEST_SECONDS
            )
            assert answer.status_code in (200, 201), answer.text
        yield running


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with chromium() as browser:
        yield browser.new_page()


@pytest.mark.parametrize(
    ("size", "media_type", "status", "code"),
    REFUSED,
    ids=[f"{status}-{size}" for size, _, status, _ in REFUSED],
)
def test_refused_body_gets_its_refusal_in_a_page_of_another_origin(
    server, origin, page, size, media_type, status, code
):
    """Twice, since the connection is usable or was closed; a network error would end the page."""
    page.goto(origin)
    answers = page.evaluate(SEND, [server.url + REPORTS, size, media_type])
    assert answers == [[status, status, code, 16]] * 2
    known = "async (url) => (await fetch(url)).json()"
    assert page.evaluate(known, server.url + VERSION)["name"] == "work"


@pytest.mark.parametrize(
    ("size", "status", "code"),
    [(MIB, 404, "not-found"), (5 * MIB, 404, "not-found"), (30 * MIB, 413, "payload-too-large")],
)
def test_body_to_nowhere_gets_its_refusal_in_a_page_of_the_server(server, page, size, status, code):
    page.goto(f"{server.url}/s/work")
    answers = page.evaluate(SEND, [f"{server.url}/nowhere", size, JSON])
    assert answers == [[status, status, code, 16]] * 2


def test_page_of_an_origin_that_is_not_named_reads_no_refusal(server, page, origin):
    page.goto(origin.replace("127.0.0.1", "localhost"))
    caught = f"([url, size, type]) => ({SEND})([url, size, type]).catch((error) => error.name)"
    assert page.evaluate(caught, [server.url + REPORTS, MIB + 1, JSON]) == "TypeError"
