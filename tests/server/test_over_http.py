"""What only a real server shows: chunked bodies, refused bodies, connections kept open."""

from __future__ import annotations

import http.client
import json
import random
import socket
import threading
from collections import Counter
from collections.abc import Iterator

import pytest

from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.records_file import read_records

REPORTS = "/api/v1/surveys/work/reports"
JSON = {"Content-Type": "application/json"}
MIB = 2**20


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as running:
        yield running


@pytest.fixture
def connect(server):
    opened = []

    def make() -> http.client.HTTPConnection:
        opened.append(http.client.HTTPConnection(server.url.removeprefix("http://"), timeout=30))
        return opened[-1]

    yield make
    for connection in opened:
        connection.close()


@pytest.fixture
def ask(connect):
    connection = connect()

    def ask(method, path, body=None, headers=JSON, **options):
        connection.request(method, path, body, headers, **options)
        answer = connection.getresponse()
        return answer, answer.read()

    return ask


@pytest.fixture
def published(server, ask, make_draft) -> Published:
    """The survey, which stays as it is from test to test."""
    headers = {**JSON, "Authorization": f"Bearer {server.token}"}
    answer, body = ask("POST", "/api/v1/surveys", json.dumps(make_draft()), headers)
    assert answer.status in (200, 201)
    return Published.from_json(json.loads(body)["manifest"])


def body_of(published, report) -> bytes:
    return json.dumps(wire.encode_report_json(published.digest, report)).encode()


def pieces(body, size=7):
    return [body[start : start + size] for start in range(0, len(body), size)]


def test_a_body_in_chunks_is_read_to_its_end(ask, published, make_report):
    body = body_of(published, make_report(published))
    for expected in (201, 200):
        answer, _ = ask("POST", REPORTS, iter(pieces(body)), encode_chunked=True)
        assert answer.status == expected


def test_a_manifest_in_chunks_is_published(server, ask, make_draft):
    headers = {**JSON, "Authorization": f"Bearer {server.token}"}
    body = json.dumps(make_draft(name="chunked")).encode()
    answer, _ = ask("POST", "/api/v1/surveys", iter(pieces(body, 50)), headers, encode_chunked=True)
    assert answer.status == 201


@pytest.mark.parametrize("chunked", [False, True])
def test_a_body_too_large_is_refused(connect, published, make_report, chunked):
    """Guards: a body in chunks was cut off at the limit, and what was left of it was read."""
    padding = b" " * (MIB - len(body_of(published, make_report(published))))

    def send(body):
        connection = connect()
        sent = iter(pieces(body, MIB // 3)) if chunked else body
        connection.request("POST", REPORTS, sent, JSON, encode_chunked=chunked)
        answer = connection.getresponse()
        return answer.status, json.loads(answer.read())

    largest = body_of(published, make_report(published)) + padding
    assert len(largest) == MIB
    assert send(largest)[0] == 201
    status, document = send(body_of(published, make_report(published)) + padding + b" ")
    assert (status, document["code"], document["field"]) == (413, "payload-too-large", "body")
    assert f"larger than {MIB} bytes" in document["detail"]


def test_a_batch_that_is_cut_off_is_not_taken_for_a_shorter_one(server, published, make_report):
    """Guards: a server took a connection's end for the body's, here between two reports."""
    body = wire.pack_reports(published.digest, [make_report(published) for _ in range(4)])
    size = (len(body) - wire.REPORTS_HEADER_SIZE) // 4
    host, port = server.url.removeprefix("http://").split(":")
    head = (
        f"POST {REPORTS} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {server.token}\r\n"
        f"Content-Type: {wire.REPORTS_MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with socket.create_connection((host, int(port)), timeout=30) as client:
        client.sendall(head.encode() + body[: -2 * size])
        client.shutdown(socket.SHUT_WR)
        answer = b"".join(iter(lambda: client.recv(65_536), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    document = json.loads(answer.partition(b"\r\n\r\n")[2])
    assert document["code"] == "malformed-request"
    assert f"{len(body) - 2 * size} of {len(body)} bytes" in document["detail"]


@pytest.mark.parametrize("chunked", [False, True])
def test_a_batch_that_is_refused_at_its_head_is_read_and_its_answer_seen(
    server, ask, published, make_report, chunked
):
    """Guards: a connection that is cut while its client still sends loses the answer."""
    headers = {
        "Content-Type": wire.REPORTS_MEDIA_TYPE,
        "Authorization": f"Bearer {server.token}",
    }
    unknown = wire.reports_header("0" * 64) + bytes(9 * MIB)
    many = wire.pack_reports(published.digest, [make_report(published)] * 10_001)
    for body, expected in ((unknown, (404, "unknown-digest")), (many, (413, "payload-too-large"))):
        for _ in range(2):  # on one connection
            sent = iter(pieces(body, MIB // 3)) if chunked else body
            answer, document = ask("POST", REPORTS, sent, headers, encode_chunked=chunked)
            assert (answer.status, json.loads(document)["code"]) == expected


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nothing", 404), ("PATCH", REPORTS, 405), ("POST", REPORTS, 415)],
)
def test_refusals_are_problems_on_one_connection(ask, published, method, path, status):
    for _ in range(2):
        answer, body = ask(method, path, b"<xml/>", {"Content-Type": "text/xml"})
        assert answer.status == status
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert json.loads(body)["status"] == status


def test_head_sends_no_body_and_keeps_the_connection(ask, published):
    for _ in range(2):
        answer, body = ask("HEAD", "/api/v1/surveys/work")
        assert (answer.status, body) == (200, b"")
        assert int(answer.headers["Content-Length"]) == len(published.canonical)


def test_reports_sent_again_and_again_over_many_connections_count_once(
    server, connect, ask, make_draft, make_report
):
    headers = {**JSON, "Authorization": f"Bearer {server.token}"}
    _, body = ask("POST", "/api/v1/surveys", json.dumps(make_draft(name="many")), headers)
    published = Published.from_json(json.loads(body)["manifest"])
    reports = [make_report(published) for _ in range(150)]
    chooser = random.Random(2)
    sendings = [one for one in reports for _ in range(chooser.randint(1, 5))]
    chooser.shuffle(sendings)
    statuses = Counter()
    lock = threading.Lock()

    def send(connection, share):
        found = []
        for report in share:
            path = "/api/v1/surveys/many/reports"
            connection.request("POST", path, body_of(published, report), JSON)
            answer = connection.getresponse()
            answer.read()
            found.append(answer.status)
        with lock:
            statuses.update(found)

    threads = [
        threading.Thread(target=send, args=(connect(), sendings[start::10])) for start in range(10)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert statuses == {201: len(reports), 200: len(sendings) - len(reports)}
    _, exported = ask("GET", "/api/v1/surveys/many/versions/1/records", None, headers)
    _, records = read_records(exported)
    assert Counter(map(bytes, records)) == Counter(one.record for one in reports)
