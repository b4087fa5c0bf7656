"""A client sees why its large body is refused, and no path leads to another host."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
import requests

from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.wire import reports as wire

MIB = 2**20
REPORTS = "/api/v1/surveys/work/reports"
JSON = {"Content-Type": "application/json"}
BATCH = {"Content-Type": wire.REPORTS_MEDIA_TYPE}
# Where it goes, its headers, and the status of the refusal.
REFUSED = [
    ("too large", REPORTS, JSON, 413),
    ("of another type", REPORTS, {"Content-Type": "image/png"}, 415),
    ("without a token", REPORTS, BATCH, 401),
    ("to nowhere", "/nowhere", JSON, 404),
    ("by another method", "/health", JSON, 405),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


def expected(status, path, size):
    """The web process's routes are told of a body that is too large before anything else."""
    return 413 if path == "/nowhere" and size > 10 * MIB else status


@pytest.mark.parametrize("size", [MIB + 1, 5 * MIB, 30 * MIB])
@pytest.mark.parametrize(
    ("path", "headers", "status"), [row[1:] for row in REFUSED], ids=[row[0] for row in REFUSED]
)
def test_refused_body_gets_its_refusal_by_requests(server, path, headers, status, size):
    """Guards: from 5 MB on clients saw a broken pipe, and sent the same again for ever."""
    with requests.Session() as session:
        for _ in range(2):  # the connection is usable, or closed as the answer says
            answer = session.post(server.url + path, data=bytes(size), headers=headers, timeout=60)
            assert answer.status_code == expected(status, path, size)
            assert answer.json()["status"] == answer.status_code
        assert session.get(f"{server.url}/health", timeout=60).status_code == 200


@pytest.mark.parametrize("size", [MIB + 1, 30 * MIB])
@pytest.mark.parametrize("kept", [True, False])
def test_refused_body_gets_its_refusal_by_curl(server, tmp_path, size, kept):
    """curl asks with ``Expect: 100-continue``, and without it sends all before it reads."""
    curl = shutil.which("curl")
    assert curl is not None, "curl is missing; apt-get install curl"
    (tmp_path / "body").write_bytes(bytes(size))
    options = ["--header", "Expect:"] if not kept else []
    found = subprocess.run(
        [
            *(curl, "--silent", "--show-error", "--output", "-", "--write-out", "\n%{http_code}"),
            *("--header", "Content-Type: image/png", *options),
            *("--data-binary", f"@{tmp_path}/body", server.url + REPORTS),
        ],
        capture_output=True,
        check=True,
        text=True,
        timeout=60,
    )
    body, _, status = found.stdout.rpartition("\n")
    assert (status, json.loads(body)["code"]) == ("415", "unsupported-media-type")


def test_refused_body_in_chunks_without_an_end_in_sight_gets_its_refusal(server):
    host = server.url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=60)) as connection:
        pieces = (bytes(MIB) for _ in range(30))
        connection.request("POST", REPORTS, pieces, JSON, encode_chunked=True)
        with connection.getresponse() as answer:
            assert answer.status == 413
            answer.read()
        connection.request("GET", "/health")
        with connection.getresponse() as answer:
            assert answer.status == 200


@pytest.mark.parametrize(
    "path",
    ["//evil.example/api/v1/surveys", "//api/v1/surveys", "/api//v1/surveys", "/api/v1/surveys/",
     "/page/../api/v1/surveys", "/page/%2e%2e/metrics"],
)  # fmt: skip
def test_path_of_another_form_is_not_found_and_not_redirected(server, path):
    """Guards: two slashes were redirected, to plain http and whatever host the request named."""
    host = server.url.removeprefix("http://")
    with closing(http.client.HTTPConnection(host, timeout=60)) as connection:
        connection.putrequest("GET", path, skip_host=True)
        connection.putheader("Host", "evil.example")
        connection.endheaders()
        with connection.getresponse() as answer:
            assert (answer.status, answer.headers["Location"]) == (404, None)
            assert json.loads(answer.read())["code"] == "not-found"


def test_header_with_an_underscore_is_no_other_header(server):
    headers = {"Authorization_": "x", "X_Forwarded_For": "192.0.2.1"}
    answer = requests.get(f"{server.url}/api/v1/surveys", headers=headers, timeout=60)
    assert answer.status_code == 200
    forged = {"AUTHORIZATION_X": "y", "Content_Length": "5"}
    assert (
        requests.get(f"{server.url}/api/v1/tokens", headers=forged, timeout=60).status_code == 401
    )
