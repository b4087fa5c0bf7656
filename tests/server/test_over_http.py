"""What only a real server shows: chunked bodies, refused bodies, connections kept open."""

from __future__ import annotations

import http.client
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import closing

import pytest
import requests

from hushpoll_shared.wire import reports as wire
from sample_survey import REPORTS, SURVEYS, bytes_of, make_draft, make_report
from served import JSON, Process
from waiting import LONGEST_SECONDS

MIB = 2**20
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
def server(tmp_path_factory) -> Iterator[Process]:
    with Process(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def connection(server):
    with closing(http.client.HTTPConnection(*server.address, timeout=LONGEST_SECONDS)) as opened:
        yield opened


@pytest.fixture
def ask(connection):
    """Send a request over one connection; return its answer and the body of that."""

    def ask(method, path, body=None, headers=JSON, **options):
        connection.request(method, path, body, headers, **options)
        with connection.getresponse() as answer:
            return answer, answer.read()

    return ask


@pytest.fixture
def published(server):
    """The survey, which stays as it is from test to test."""
    return server.publish(make_draft())


def pieces(body, size=7):
    return iter([body[start : start + size] for start in range(0, len(body), size)])


def test_a_body_in_chunks_is_read_to_its_end(ask, published):
    body = bytes_of(published)
    for expected in (201, 200):
        answer, _ = ask("POST", REPORTS, pieces(body), encode_chunked=True)
        assert answer.status == expected


def test_a_manifest_in_chunks_is_published(server, ask):
    body = json.dumps(make_draft(name="chunked")).encode()
    headers = {**JSON, **server.admin}
    answer, _ = ask("POST", SURVEYS, pieces(body, 50), headers, encode_chunked=True)
    assert answer.status == 201


@pytest.mark.parametrize("chunked", [False, True])
@pytest.mark.parametrize("excess", [0, 1])
def test_a_body_up_to_the_limit_is_taken_and_no_larger_one(ask, published, chunked, excess):
    """Guards: a body in chunks was cut off at the limit, and what was left of it was read."""
    body = bytes_of(published)
    body += b" " * (MIB - len(body) + excess)
    sent = pieces(body, MIB // 3) if chunked else body
    answer, content = ask("POST", REPORTS, sent, encode_chunked=chunked)
    document = json.loads(content)
    if excess:
        assert (answer.status, document["code"]) == (413, "payload-too-large")
        assert f"larger than {MIB} bytes" in document["detail"]
    else:
        assert answer.status == 201


@pytest.mark.parametrize("chunked", [False, True])
def test_a_batch_that_is_refused_at_its_head_is_read_and_its_answer_seen(
    server, ask, published, chunked
):
    """Guards: a connection that is cut while its client still sends loses the answer."""
    unknown = wire.reports_header("0" * 64) + bytes(9 * MIB)
    many = wire.pack_reports(published.digest, [make_report(published)] * 10_001)
    for body, expected in ((unknown, (404, "unknown-digest")), (many, (413, "payload-too-large"))):
        for _ in range(2):  # on one connection
            sent = pieces(body, MIB // 3) if chunked else body
            headers = {**BATCH, **server.admin}
            answer, document = ask("POST", REPORTS, sent, headers, encode_chunked=chunked)
            assert (answer.status, json.loads(document)["code"]) == expected


def test_head_sends_no_body_and_keeps_the_connection(ask, published):
    for _ in range(2):
        answer, body = ask("HEAD", "/api/v1/surveys/work")
        assert (answer.status, body) == (200, b"")
        assert int(answer.headers["Content-Length"]) == len(published.canonical)


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
            answer = session.post(
                server.url + path, data=bytes(size), headers=headers, timeout=LONGEST_SECONDS
            )
            assert answer.status_code == expected(status, path, size)
            assert answer.json()["status"] == answer.status_code
        assert session.get(f"{server.url}/health", timeout=LONGEST_SECONDS).status_code == 200


@pytest.mark.parametrize("size", [MIB + 1, 30 * MIB])
@pytest.mark.parametrize("options", [(), ("--header", "Expect:")])
def test_refused_body_gets_its_refusal_by_curl(server, tmp_path, size, options):
    """curl asks with ``Expect: 100-continue``, and without it sends all before it reads."""
    curl = shutil.which("curl")
    assert curl is not None, "curl is missing; apt-get install curl"
    (tmp_path / "body").write_bytes(bytes(size))
    done = subprocess.run(
        [
            *(curl, "--silent", "--show-error", "--output", "-", "--write-out", "\n%{http_code}"),
            *("--header", "Content-Type: image/png", *options),
            *("--data-binary", f"@{tmp_path}/body", server.url + REPORTS),
        ],
        capture_output=True,
        check=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    body, _, status = done.stdout.rpartition("\n")
    assert (status, json.loads(body)["code"]) == ("415", "unsupported-media-type")


def test_refused_body_in_chunks_without_an_end_in_sight_gets_its_refusal(ask):
    endless = (bytes(MIB) for _ in range(30))
    assert ask("POST", REPORTS, endless, encode_chunked=True)[0].status == 413
    assert ask("GET", "/health")[0].status == 200


@pytest.mark.parametrize(
    "path",
    ["//evil.example/api/v1/surveys", "//api/v1/surveys", "/api//v1/surveys", "/api/v1/surveys/",
     "/page/../api/v1/surveys", "/page/%2e%2e/metrics"],
)  # fmt: skip
def test_path_of_another_form_is_not_found_and_not_redirected(connection, path):
    """Guards: two slashes were redirected, to plain http and to any host that a request named."""
    connection.putrequest("GET", path, skip_host=True)
    connection.putheader("Host", "evil.example")
    connection.endheaders()
    with connection.getresponse() as answer:
        assert (answer.status, answer.headers["Location"]) == (404, None)
        assert json.loads(answer.read())["code"] == "not-found"


def test_header_with_an_underscore_is_no_other_header(server):
    headers = {"Authorization_": "x", "X_Forwarded_For": "192.0.2.1"}
    assert server.request(SURVEYS, **headers)[0] == 200
    forged = {"AUTHORIZATION_X": "y", "Content_Length": "5"}
    assert server.request("/api/v1/tokens", **forged)[0] == 401
