"""Hostile clients against a real server, over raw sockets.

Each gets its documented answer and changes nothing: the database, read row by row through a
connection of its own, is what it was, and one refusal more is counted where one is due.
"""

from __future__ import annotations

import http.client
import json
import re
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import cached_property
from urllib.parse import urlsplit

import psutil
import pytest
import requests
import sqlalchemy as sa

from hostile_clients import CLIENTS, REPORTS, Target, bearer, http_request, post, raw
from hushpoll_fleet.demo.processes import Server
from hushpoll_server.store.database import parse_url
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from waiting import wait_until

QUICK = 1


@dataclass(frozen=True)
class Watched:
    """A server, and a connection to its database that is not the server's."""

    running: Server
    database: sa.Engine

    @property
    def url(self):
        return self.running.url

    @property
    def token(self):
        return self.running.token

    @property
    def log(self):
        return (self.running._directory / "server.log").read_text()

    @cached_property
    def names(self):
        """Every table but the counters."""
        names = set(sa.inspect(self.database).get_table_names())
        assert {"inbox", "respondent_tokens", "api_tokens", "counters"} <= names
        return sorted(names - {"counters"})

    def contents(self):
        """Every row of these."""
        with self.database.connect() as connection:
            return {
                name: sorted(map(repr, connection.execute(sa.text(f"SELECT * FROM {name}"))))
                for name in self.names
            }


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request, tmp_path_factory) -> Iterator[Watched]:
    folder = tmp_path_factory.mktemp("server")
    if request.param == "sqlite":
        url = f"sqlite:///{folder}/hushpoll.sqlite"
    else:
        url = request.getfixturevalue("postgres").create("hushpoll_hostile")
    options = ("--database-url", url, "--log-level", "debug")
    with Server(folder, options=options) as running:
        database = sa.create_engine(parse_url(url), poolclass=sa.NullPool)
        yield Watched(running, database)


class Analyst:
    """What is set up before the hostile ones come."""

    def __init__(self, server):
        self.url = server.url + "/api/v1"
        self.headers = {"Authorization": f"Bearer {server.token}"}

    def post(self, path, document, **headers):
        answer = requests.post(
            self.url + path, json=document, headers={**self.headers, **headers}, timeout=30
        )
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def publish(self, draft):
        return Published.from_json(self.post("/surveys", draft)["manifest"])

    def token(self, *scopes, **more):
        return self.post("/tokens", {"scopes": scopes, **more})


@pytest.fixture(scope="module")
def target(server, make_draft, make_report) -> Target:
    draft, make = make_draft, make_report
    analyst = Analyst(server)
    published = analyst.publish(draft())
    tokens = analyst.publish(draft(name="tokens", submission="token"))
    analyst.publish(draft(name="thieves", submission="token"))
    closed = analyst.publish(draft(name="closed"))
    analyst.post("/surveys/closed/versions/1/close", {"grace_seconds": 0})
    stored = make(published)
    analyst.post("/surveys/work/reports", wire.encode_report_json(published.digest, stored))
    (spent,) = analyst.post("/surveys/tokens/tokens", {"count": 1})["tokens"]
    analyst.post(
        "/surveys/tokens/reports",
        wire.encode_report_json(tokens.digest, make(tokens)),
        Authorization=f"Bearer {spent}",
    )
    revoked, expired = analyst.token("submit"), analyst.token("submit", expires_in=1)
    requests.delete(
        f"{analyst.url}/tokens/{revoked['id']}", headers=analyst.headers, timeout=30
    ).raise_for_status()
    time.sleep(1.1)
    return Target(
        published=published,
        other=analyst.publish(draft(name="other")),
        token_survey=tokens,
        closed=closed,
        scheduled=analyst.publish(draft(name="scheduled", opens="2100-01-01T00:00:00Z")),
        admin=server.token,
        reader=analyst.token("read")["token"],
        expired=expired["token"],
        revoked=revoked["token"],
        spent=spent,
        stolen=analyst.post("/surveys/thieves/tokens", {"count": 1})["tokens"][0],
        stored=stored,
        make=make,
    )


def refusals(server):
    """How often what was refused, over all surveys and days."""
    analyst = Analyst(server)
    found = {}
    for one in requests.get(analyst.url + "/surveys", headers=analyst.headers, timeout=30).json()[
        "surveys"
    ]:
        counts = requests.get(
            f"{analyst.url}/surveys/{one['survey']}/versions/{one['version']}/counts",
            headers=analyst.headers,
            timeout=30,
        ).json()
        found |= {(one["survey"], reason): n for reason, n in counts["rejected"].items()}
        found[one["survey"], "duplicate"] = counts["duplicate"]
    return found


def connect(server):
    parts = urlsplit(server.url)
    return socket.create_connection((parts.hostname, parts.port), timeout=60)


def exchange(server, request):
    """Send bytes, end, and return all answers that come until the server closes."""
    with connect(server) as connection:
        try:
            connection.sendall(request)
            connection.shutdown(socket.SHUT_WR)
        except OSError:  # refused before all of it was sent
            pass
        answers = []
        while (answer := read_answer(connection)) is not None:
            answers.append(answer)
        return answers


def read_answer(connection):
    answer = http.client.HTTPResponse(connection)
    try:
        answer.begin()
        return answer.status, answer.headers, answer.read()
    except TimeoutError:  # nothing came, and the connection is open
        raise
    except (http.client.HTTPException, OSError):
        return None
    finally:
        answer.close()


def added(before, after):
    return {key: n - before.get(key, 0) for key, n in after.items() if n != before.get(key, 0)}


@pytest.mark.parametrize(
    ("make", "status", "code", "field", "counted"),
    [row[1:] for row in CLIENTS],
    ids=[row[0] for row in CLIENTS],
)
def test_a_hostile_client_gets_its_answer_and_changes_nothing(
    server, target, make, status, code, field, counted
):
    request = make(target)
    rows, counts = server.contents(), refusals(server)
    answers = exchange(server, request)
    if code == "malformed-request":
        # What is no HTTP never reaches the application: a refusal, or a close.
        assert len(answers) <= 1
        assert all(400 <= answer[0] < 500 for answer in answers)
        assert server.contents() == rows
        assert added(counts, refusals(server)) == {}
        return
    assert len(answers) == 1, answers
    found, headers, body = answers[0]
    assert (found, headers["Content-Type"]) == (status, "application/problem+json"), body
    problem = json.loads(body)
    assert (problem["status"], problem["code"]) == (status, code)
    if field is not None:
        assert problem["field"] == field
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert server.contents() == rows
    expected = [] if counted is None else [counted]
    # Counts are written within a second of their reports.
    wait_until(
        lambda: [reason for _, reason in added(counts, refusals(server))] == expected, pause=0.1
    )


def test_there_are_enough_of_them():
    assert len({row[0] for row in CLIENTS}) == len(CLIENTS) >= 25


def test_a_body_cut_off_by_its_client_stores_nothing(server, target):
    whole = post(target.body())
    rows = server.contents()
    for length in (len(whole) - 1, len(whole) - 100):
        for answer in exchange(server, whole[:length]):
            assert answer[0] in (400, 422)
    assert server.contents() == rows


def test_a_request_within_a_body_is_part_of_the_body(server, target):
    """Smuggling: the inner request, an analyst's, must not be answered."""
    inner = raw("DELETE /api/v1/tokens/" + target.admin[3:19] + " HTTP/1.1", "Host: x",
                f"Authorization: Bearer {target.admin}")  # fmt: skip
    answers = exchange(server, post(inner))
    assert [answer[0] for answer in answers] == [400]
    assert json.loads(answers[0][2])["code"] == "invalid-json"
    refused = exchange(server, http_request("PATCH", REPORTS, inner))
    assert [answer[0] for answer in refused] == [405]
    assert exchange(server, http_request("GET", "/health"))[0][0] == 200


def test_bytes_behind_a_malformed_request_are_not_answered(server):
    bad = raw("GET /health HTTP/1.1", "Host: x", "Content-Length: 1", "Transfer-Encoding: chunked")
    answers = exchange(server, bad + http_request("GET", "/health") * 3)
    assert [answer[0] for answer in answers] in ([400], [])


def test_a_header_of_ours_cannot_be_set_by_a_request(server):
    request = http_request(
        "GET", "/api/v1/surveys/x%0d%0aSet-Cookie:%20a=b", b"", "X-Request-Id: chosen"
    )
    ((status, headers, body),) = exchange(server, request)
    assert status == 404
    assert "Set-Cookie" not in headers
    assert headers["X-Request-Id"] != "chosen"
    assert b"\r" not in body


def test_the_server_names_no_version(server):
    ((_, headers, _),) = exchange(server, http_request("GET", "/health"))
    assert not re.search(r"\d", headers.get("Server", ""))


BEGUN = http_request("POST", REPORTS, b"x" * 100, "Content-Type: application/json")
ASKED = http_request("GET", "/api/v1/surveys")
BROKEN_OFF = {
    "no HTTP": b"\x16\x03\x01 nonsense\r\n\r\n",
    "HTTP/2": b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
    "no path": b"GET /\xff\xfe HTTP/1.1\r\nHost: x\r\n\r\n",
    "an upgrade": http_request("GET", "/health", b"", "Connection: upgrade", "Upgrade: websocket"),
    "a part of a head": ASKED[:20],
    "a part of a body": BEGUN[:-50],
    "requests and no reading": ASKED * 20,
    "a wrong chunk": b"\r\n".join(
        (b"POST /x HTTP/1.1", b"Host: x", b"Transfer-Encoding: chunked", b"", b"zz", b"")
    ),
}


@pytest.mark.parametrize("sent", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_client_that_breaks_off_leaves_no_line_in_the_log(server, sent):
    """Guards: the web server's own lines, by which one client could fill the disk."""
    before = server.log
    for resets in (True, False):
        for _ in range(5):
            with connect(server) as connection:
                connection.sendall(sent)
                if resets:
                    # Closing it then sends RST and no FIN.
                    linger = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    ended = (psutil.CONN_LISTEN, psutil.CONN_TIME_WAIT)
    wait_until(
        lambda: (
            not any(
                one.laddr.port == urlsplit(server.url).port and one.status not in ended
                for one in psutil.net_connections("tcp")
                if one.laddr
            )
        )
    )
    assert exchange(server, http_request("GET", "/health"))[0][0] == 200
    assert server.log == before


def test_after_all_of_them_an_honest_report_is_taken(server, target):
    """Last in this file: the server has seen everything above."""
    ((status, _, _),) = exchange(server, post(target.body()))
    assert status == 201
    log = server.log
    assert "Traceback" not in log
    assert "internal-error" not in log
    assert "127.0.0.1" not in log


@pytest.fixture(scope="module")
def impatient(tmp_path_factory) -> Iterator[Server]:
    """A server that waits for a request for a second, not for 20."""
    with Server(
        tmp_path_factory.mktemp("impatient"), options=("--request-seconds", str(QUICK))
    ) as running:
        yield running


@pytest.fixture(scope="module")
def patient(tmp_path_factory) -> Iterator[Server]:
    """A server that waits, with few threads and short queues for analysts and pages."""
    options = ("--threads", "4", "--queue-requests", "4", "--rate-limit-submit", "0")
    options += ("--request-seconds", "300")  # what is begun is not late on a busy machine
    with Server(tmp_path_factory.mktemp("patient"), options=options) as running:
        yield running


def report_of(server, make_draft, make_report):
    """Publish the survey; return a function that makes the request of a new report."""
    published = Analyst(server).publish(make_draft())
    return lambda: post(wire.encode_report_json(published.digest, make_report(published)))


@pytest.mark.parametrize("count", [40, 320])
def test_slow_requests_hold_nobody_up(patient, make_draft, make_report, count):
    """Guards: whoever had sent a byte had a thread, or a place in the queue, for 20 s."""
    report = report_of(patient, make_draft, make_report)
    whole = report()
    head = whole.index(b"\r\n\r\n") + 4
    slow = [connect(patient) for _ in range(count)]
    try:
        for number, connection in enumerate(slow):
            connection.sendall(whole[: (1, 30, head - 1, head, len(whole) - 1)[number % 5]])
        # Behind so many at 300 s each, by four threads, these would never be answered.
        for _ in range(5):
            assert requests.get(patient.url + "/health", timeout=60).status_code == 200
            ((status, _, _),) = exchange(patient, report())
            assert status == 201
        # They are there still, and what they have begun they may end.
        slow[4].sendall(whole[-1:])
        assert read_answer(slow[4])[0] == 201
        slow[3].sendall(whole[head:])
        assert read_answer(slow[3])[0] == 200
        slow[4].sendall(whole[:-1])  # on the connection that was kept
        slow[3].sendall(whole + whole[:1])
        assert read_answer(slow[3])[0] == 200
        for _ in range(5):
            assert requests.get(patient.url + "/health", timeout=60).status_code == 200
        slow[3].sendall(whole[1:])
        assert read_answer(slow[3])[0] == 200
    finally:
        for connection in slow:
            connection.close()


def test_slow_bodies_leave_threads_to_the_others(patient, make_draft, make_report):
    """Guards: as many as there are threads held them all, for 20 s each."""
    published = Analyst(patient).publish(make_draft())
    batch = wire.pack_reports(published.digest, [make_report(published) for _ in range(5000)])
    upload = http_request(
        "POST", REPORTS, batch, f"Content-Type: {wire.REPORTS_MEDIA_TYPE}", bearer(patient.token)
    )
    assert len(batch) > 100_000
    heads = [
        (f"POST {REPORTS} HTTP/1.1", "Host: x", "Content-Type: application/json", header)
        for header in (
            "Content-Length: 100000",
            "Transfer-Encoding: chunked",
            "Content-Length: 10\r\nExpect: 100-continue",
        )
    ]
    connections = [connect(patient)]
    try:
        connections[0].sendall(upload[:50_000])
        for number in range(60):
            connections.append(connect(patient))
            connections[-1].sendall(raw(*heads[number % 3]))
        # Behind so many at 300 s each, by four threads, it would never be answered.
        for _ in range(3):
            assert requests.get(patient.url + "/health", timeout=60).status_code == 200
            ((status, _, _),) = exchange(
                patient, post(wire.encode_report_json(published.digest, make_report(published)))
            )
            assert status == 201
        # Who sends faster than they do is not sent away for them.
        connections[0].sendall(upload[50_000:])
        assert read_answer(connections[0])[0] == 200
    finally:
        for connection in connections:
            connection.close()


def test_slow_bodies_leave_analysts_their_requests(patient):
    """Guards: as many as may wait for the web process kept everybody else from it, for 20 s."""
    start = raw(
        "POST /api/v1/surveys HTTP/1.1",
        *("Host: x", "Content-Type: application/json", "Content-Length: 100"),
    )
    slow = [connect(patient) for _ in range(20)]
    try:
        for connection in slow:
            connection.sendall(start + b"{")
        for _ in range(5):
            assert requests.get(patient.url + "/api/v1/surveys", timeout=60).status_code == 200
    finally:
        for connection in slow:
            connection.close()


# Together more than the system holds for a connection.
UNREAD = 100
DOCUMENT = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"


def reader(server):
    """Return a connection whose client has room for little."""
    parts = urlsplit(server.url)
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect((parts.hostname, parts.port))
    connection.settimeout(60)
    return connection


def test_client_that_does_not_read_is_sent_away(impatient):
    """Guards: it kept its connection for as long as it liked."""
    with reader(impatient) as connection:
        connection.sendall(UNREAD * DOCUMENT)
        name = connection.getsockname()
        wait_until(
            lambda: all(
                name != connected.raddr
                for connected in psutil.net_connections("tcp4")
                if connected.status == psutil.CONN_ESTABLISHED
            )
        )
        read = b""
        with suppress(ConnectionError):
            while (piece := connection.recv(2**20)) and read.count(b"HTTP/1.1 200") < UNREAD:
                read += piece
        assert read.count(b"HTTP/1.1 200") < UNREAD


def test_client_that_reads_slowly_gets_all(impatient):
    size = len(requests.get(impatient.url + "/api/v1/openapi.json", timeout=60).content)
    with reader(impatient) as connection:
        connection.sendall(5 * DOCUMENT)
        read = 0
        while read < 5 * size:
            piece = connection.recv(20_000)
            assert piece, f"cut off after {read} bytes"
            read += len(piece)
            time.sleep(0.1)


def test_slow_clients_are_sent_away_and_hold_nobody_up(impatient, make_draft, make_report):
    """Slowloris: heads, bodies and chunks a byte at a time, more of them than threads."""
    report = report_of(impatient, make_draft, make_report)
    starts = [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: ",
        b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
        b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
        b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
    ]
    slow = [connect(impatient) for _ in range(12)]
    try:
        for number, connection in enumerate(slow):
            connection.sendall(starts[number % 4])
        began = time.monotonic()
        answered = {}
        while len(answered) < len(slow) and time.monotonic() - began < 60:
            for connection in slow:
                if connection in answered:
                    continue
                with suppress(OSError):
                    connection.sendall(b"1")
                connection.settimeout(0.1)
                try:
                    if connection.recv(1, socket.MSG_PEEK):
                        connection.settimeout(60)
                        answered[connection] = read_answer(connection)
                except TimeoutError:
                    pass
                except OSError:
                    answered[connection] = None
            assert requests.get(impatient.url + "/health", timeout=60).status_code == 200
            ((status, _, _),) = exchange(impatient, report())
            assert status == 201
        assert len(answered) == len(slow)
        found = [answer for answer in answered.values() if answer is not None]
        assert found, "every connection was cut without an answer"
        for status, _, body in found:
            assert status == 408
            # A head that never ends does not reach the application.
            assert body == b"" or json.loads(body)["code"] == "request-timeout"
        for connection in slow:
            with suppress(OSError):
                assert connection.recv(1) == b"", "the connection is still open"
    finally:
        for connection in slow:
            connection.close()


@pytest.mark.parametrize(
    "beginning",
    [
        b"GET /health HTTP/1.1\nHost: x\n\n",
        b"GET /health HTTP/1.1\r\nX: " + b"a" * 100_000,
        b"G" * 100_000,
    ],
)
def test_what_will_never_be_a_request_is_refused_while_its_client_waits(impatient, beginning):
    with connect(impatient) as connection:
        connection.sendall(beginning)
        answer = read_answer(connection)
        assert answer is None or 400 <= answer[0] < 500


@pytest.mark.parametrize("hangs_up", [True, False])
def test_a_refusal_is_told_although_the_rest_of_the_body_never_comes(impatient, hangs_up):
    """Guards: that the rest was late, or cut off, was told instead."""
    start = b"x" * 262_144
    with connect(impatient) as connection:
        connection.sendall(
            b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
            + f"Content-Type: {wire.REPORTS_MEDIA_TYPE}\r\n".encode()
            + f"Content-Length: {len(start) + 1000}\r\n\r\n".encode()
            + start
        )
        if hangs_up:
            connection.shutdown(socket.SHUT_WR)
        status, _, body = read_answer(connection)
    assert (status, json.loads(body)["code"]) == (401, "unauthorized")


def test_a_client_that_is_refused_and_stays_does_not_stop_the_others(impatient):
    """Guards: a server waited for such a client on the thread that accepts connections."""
    stayers = [connect(impatient) for _ in range(400)]
    try:
        for connection in stayers:
            connection.sendall(b"nonsense\r\n\r\n")
        # One by one they would have taken two seconds each; by four threads, a second each, 100.
        assert requests.get(impatient.url + "/health", timeout=60).status_code == 200
        for connection in stayers:
            assert read_answer(connection)[0] == 400
            assert connection.recv(1) == b""
    finally:
        for connection in stayers:
            connection.close()
