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
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property

import psutil
import pytest
import requests
import sqlalchemy as sa

import sample_survey
from hostile_clients import CLIENTS, REPORTS, Target, bearer, http_request, post, raw
from hushpoll_server.pages.assets import assets
from hushpoll_server.store.database import parse_url
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire import voprf
from hushpoll_shared.wire.invitations import encode_redemption
from sample_survey import SURVEYS, bytes_of, make_draft, make_report
from served import JSON, Process
from waiting import LONGEST_SECONDS, wait_until

QUICK = 1


@dataclass(frozen=True)
class Watched:
    """A server, and a connection to its database that is not the server's."""

    running: Process
    database: sa.Engine

    @property
    def token(self):
        return self.running.admin_tokens()[0]

    @property
    def log(self):
        return self.running.log

    def connect(self):
        return self.running.connect()

    @cached_property
    def names(self):
        """Every table but the counters."""
        names = set(sa.inspect(self.database).get_table_names())
        assert {"inbox", "respondent_tokens", "api_tokens", "counters"} <= names
        return sorted(names - {"counters"})

    def rows(self, statement):
        """What a statement selects."""
        with self.database.connect() as connection:
            return connection.execute(sa.text(statement)).all()

    def contents(self):
        """Every row of these."""
        return {name: sorted(map(repr, self.rows(f"SELECT * FROM {name}"))) for name in self.names}


STARTED: list[str] = []


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def server(request, tmp_path_factory) -> Iterator[Watched]:
    STARTED.append(request.param)
    folder = tmp_path_factory.mktemp("server")
    if request.param == "sqlite":
        url = f"sqlite:///{folder}/hushpoll.sqlite"
    else:
        url = request.getfixturevalue("postgres").create("hushpoll_hostile")
    options = ("--log-level", "debug", "--invitation-seed", "5e" * 32)
    with Process(folder, *options, database_url=url) as running:
        database = sa.create_engine(parse_url(url), poolclass=sa.NullPool)
        yield Watched(running, database)


@pytest.fixture(scope="module")
def target(server) -> Target:
    """What is set up before the hostile clients come."""
    running = server.running
    published = running.publish(make_draft())
    tokens = running.publish(make_draft(name="tokens", submission="token"))
    running.publish(make_draft(name="thieves", submission="token"))
    closed = running.publish(make_draft(name="closed"))
    running.post("/api/v1/surveys/closed/versions/1/close", {"grace_seconds": 0})
    stored = make_report(published)
    assert running.send(published, stored)[0] == 201
    (spent,) = running.post("/api/v1/surveys/tokens/tokens", {"count": 1})["tokens"]
    status, _ = running.request(
        "/api/v1/surveys/tokens/reports", bytes_of(tokens), **JSON, **sample_survey.bearer(spent)
    )
    assert status == 201

    def token(*scopes, **more):
        return running.post("/api/v1/tokens", {"scopes": scopes, **more})

    invited = running.publish(make_draft(name="invited", submission="invited"))
    path = "/api/v1/surveys/invited/versions/1/invitations"
    invitation, redeemed = running.post(path, {"count": 2})["invitations"]
    blinded = voprf.Blind(b"honest")[1]
    body = json.dumps(encode_redemption(invited.digest, blinded)).encode()
    headers = {**JSON, **sample_survey.bearer(redeemed)}
    assert running.request("/api/v1/surveys/invited/redemptions", body, **headers)[0] == 200

    revoked, expired = token("submit"), token("submit", expires_in=1)
    requests.delete(
        f"{running.url}/api/v1/tokens/{revoked['id']}",
        headers=running.admin,
        timeout=LONGEST_SECONDS,
    ).raise_for_status()
    time.sleep(1.1)
    return Target(
        published=published,
        other=running.publish(make_draft(name="other")),
        token_survey=tokens,
        closed=closed,
        scheduled=running.publish(make_draft(name="scheduled", opens="2100-01-01T00:00:00Z")),
        admin=server.token,
        reader=token("read")["token"],
        expired=expired["token"],
        revoked=revoked["token"],
        spent=spent,
        stolen=running.post("/api/v1/surveys/thieves/tokens", {"count": 1})["tokens"][0],
        stored=stored,
        invited=invited,
        invitation=invitation,
        redeemed=redeemed,
        make=make_report,
    )


def refusals(server):
    """How many reports of which survey came to which end, over all days."""
    return {
        (version, outcome): int(count)
        for version, outcome, count in server.rows(
            "SELECT version_id, outcome, sum(count) FROM counters GROUP BY version_id, outcome"
        )
    }


def exchange(server, request):
    """Send bytes, end, and return all answers that come until the server closes."""
    with server.connect() as connection:
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


# What is refused before a statement is run is the same on both databases.
ASKS_THE_DATABASE = {
    "null byte in the id",
    "unknown digest",
    "another survey's digest",
    "replay with other bytes",
    "spent token",
    "stolen token",
    "analyst's token for a respondent's",
    "redemption by a guess",
    "redemption by a thief of a redeemed invitation",
    "report with a forged token",
    "expired token",
    "revoked token",
    "token without the scope",
    "report to a closed survey",
    "report before the survey opens",
    "batch of another version",
    "null byte in a name",
    "SQL in a name",
    "name of 4,000 letters",
    "invalid UTF-8 in a name",
    "huge version",
}
ROW = ("make", "status", "code", "field", "counted")


def test_the_rows_that_ask_the_database_exist():
    assert {row[0] for row in CLIENTS} > ASKS_THE_DATABASE


# `server` alone in its list: beside other arguments it would be started for each row anew.
@pytest.mark.parametrize(ROW, [pytest.param(*row[1:], id=row[0]) for row in CLIENTS])
@pytest.mark.parametrize("server", ["sqlite"], indirect=True)
def test_a_hostile_client_gets_its_answer_and_changes_nothing(
    server, target, make, status, code, field, counted
):
    get_its_answer(server, target, make, status, code, field, counted)


@pytest.mark.parametrize(
    ROW, [pytest.param(*row[1:], id=row[0]) for row in CLIENTS if row[0] in ASKS_THE_DATABASE]
)
@pytest.mark.parametrize("server", ["postgresql"], indirect=True)
def test_it_gets_the_same_answer_of_the_other_database(
    server, target, make, status, code, field, counted
):
    get_its_answer(server, target, make, status, code, field, counted)


def test_one_server_of_each_database_has_answered_all_rows():
    assert STARTED == ["sqlite", "postgresql"]


def get_its_answer(server, target, make, status, code, field, counted):
    """Have a row's client refused, and see that nothing but a count has changed."""
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


@pytest.mark.parametrize("server", ["sqlite"], indirect=True)
def test_a_media_type_that_stands_twice_is_refused_as_no_request(server):
    """By the application: a proxy may have read the other of the two."""
    lines = ("Content-Type: application/json", "Content-Type: text/plain")
    ((status, _, body),) = exchange(server, http_request("POST", REPORTS, b"{}", *lines))
    assert (status, json.loads(body)["code"]) == (400, "malformed-request")


def test_a_body_cut_off_by_its_client_stores_nothing(server, target):
    whole = post(target.body())
    rows = server.contents()
    for length in (len(whole) - 1, len(whole) - 100):
        for answer in exchange(server, whole[:length]):
            assert answer[0] in (400, 422)
    # Between two reports, where a shorter batch would be whole.
    batch = target.send_batch(target.batch(4))
    size = (len(target.batch(4)) - wire.REPORTS_HEADER_SIZE) // 4
    ((status, _, body),) = exchange(server, batch[: -2 * size])
    assert (status, json.loads(body)["code"]) == (400, "malformed-request")
    total = len(target.batch(4))
    assert f"{total - 2 * size} of {total} bytes" in json.loads(body)["detail"]
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


@pytest.fixture(scope="module")
def talkative(tmp_path_factory) -> Iterator[Process]:
    """A server that logs all that it can, and gives up the rest of a head after three seconds."""
    options = ("--log-level", "debug", "--request-seconds", "3")
    with Process(tmp_path_factory.mktemp("talkative"), *options) as running:
        yield running


@pytest.mark.parametrize("sent", BROKEN_OFF.values(), ids=BROKEN_OFF)
def test_client_that_breaks_off_leaves_no_line_in_the_log(talkative, sent):
    """Guards: the web server's own lines, by which one client could fill the disk."""
    before = talkative.log
    for resets in (True, False):
        for _ in range(5):
            with talkative.connect() as connection:
                connection.sendall(sent)
                if resets:
                    # Closing it then sends RST and no FIN.
                    linger = struct.pack("ii", 1, 0)
                    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    ended = (psutil.CONN_LISTEN, psutil.CONN_TIME_WAIT)
    wait_until(
        lambda: (
            not any(
                one.laddr.port == talkative.address[1] and one.status not in ended
                for one in psutil.net_connections("tcp")
                if one.laddr
            )
        ),
        pause=0.1,
    )
    assert exchange(talkative, http_request("GET", "/health"))[0][0] == 200
    assert talkative.log == before


def test_after_all_of_them_an_honest_report_is_taken(server, target):
    """Last in this file: the server has seen everything above."""
    ((status, _, _),) = exchange(server, post(target.body()))
    assert status == 201
    log = server.log
    assert "Traceback" not in log
    assert "internal-error" not in log
    assert "127.0.0.1" not in log
    # A checkout may have the bundle of the page's scripts or not.
    assert ("page-not-bundled" in log) == bool(assets().unbundled)


@pytest.fixture(scope="module")
def impatient(tmp_path_factory) -> Iterator[Process]:
    """A server that waits for a request for a second, not for 20."""
    options = ("--request-seconds", "1")
    with Process(tmp_path_factory.mktemp("impatient"), *options) as running:
        yield running


@pytest.fixture(scope="module")
def patient(tmp_path_factory) -> Iterator[Process]:
    """A server that waits, with few threads and short queues for analysts and pages."""
    options = ("--threads", "4", "--queue-requests", "4", "--rate-limit-submit", "0")
    options += ("--request-seconds", "300")  # what is begun is not late on a busy machine
    with Process(tmp_path_factory.mktemp("patient"), *options) as running:
        yield running


def beginnings(whole):
    """Parts of a report's request, and of others whose body does not come."""
    head = whole.index(b"\r\n\r\n") + 4
    yield from (whole[:length] for length in (1, 30, head - 1, head, len(whole) - 1))
    for header in (
        "Content-Length: 100000",
        "Transfer-Encoding: chunked",
        "Content-Length: 10\r\nExpect: 100-continue",
    ):
        yield raw(f"POST {REPORTS} HTTP/1.1", "Host: x", "Content-Type: application/json", header)
    publishing = (f"POST {SURVEYS} HTTP/1.1", "Host: x", "Content-Type: application/json")
    yield raw(*publishing, "Content-Length: 100", body=b"{")


@pytest.mark.parametrize("count", [45, 315])
def test_slow_requests_delay_no_other_client(patient, count):
    """Guards: each that had begun had a thread, or a place in a queue, for 20 s.

    Analysts' requests came to wait as well, behind bodies for the web process.
    """
    published = patient.publish(make_draft())
    reports = [make_report(published) for _ in range(5000)]
    batch = http_request(
        "POST",
        REPORTS,
        wire.pack_reports(published.digest, reports),
        f"Content-Type: {wire.REPORTS_MEDIA_TYPE}",
        bearer(patient.admin_tokens()[0]),
    )
    whole = post(bytes_of(published))
    starts = list(beginnings(whole))
    with ExitStack() as stack:
        upload, *slow = (stack.enter_context(patient.connect()) for _ in range(1 + count))
        upload.sendall(batch[:50_000])
        for number, connection in enumerate(slow):
            connection.sendall(starts[number % len(starts)])
        # Behind so many at 300 s each, by four threads, these would never be answered.
        for _ in range(5):
            assert patient.request(SURVEYS)[0] == 200
            assert patient.send(published)[0] == 201
        # They are there still, and what they have begun they may end.
        slow[4].sendall(whole[-1:])
        assert read_answer(slow[4])[0] == 201
        slow[3].sendall(whole[whole.index(b"\r\n\r\n") + 4 :])
        assert read_answer(slow[3])[0] == 200
        slow[4].sendall(whole[:-1])  # on the connection that was kept
        slow[3].sendall(whole + whole[:1])
        assert read_answer(slow[3])[0] == 200
        assert patient.request("/health")[0] == 200
        slow[3].sendall(whole[1:])
        assert read_answer(slow[3])[0] == 200
        # A client that sends faster than they do is not sent away for them.
        upload.sendall(batch[50_000:])
        assert read_answer(upload)[0] == 200


# Together more than the system holds for a connection.
UNREAD = 100
DOCUMENT = b"GET /api/v1/openapi.json HTTP/1.1\r\nHost: x\r\n\r\n"


def reader(server):
    """Return a connection whose client has room for little."""
    connection = socket.socket()
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    connection.connect(server.address)
    connection.settimeout(LONGEST_SECONDS)
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
            ),
            pause=0.3,
        )
        read = b""
        with suppress(ConnectionError):
            while (piece := connection.recv(2**20)) and read.count(b"HTTP/1.1 200") < UNREAD:
                read += piece
        assert read.count(b"HTTP/1.1 200") < UNREAD


def test_client_that_reads_slowly_gets_all(impatient):
    size = len(
        requests.get(impatient.url + "/api/v1/openapi.json", timeout=LONGEST_SECONDS).content
    )
    with reader(impatient) as connection:
        connection.sendall(5 * DOCUMENT)
        read = 0
        while read < 5 * size:
            piece = connection.recv(20_000)
            assert piece, f"cut off after {read} bytes"
            read += len(piece)
            time.sleep(0.1)


def test_slow_clients_are_disconnected_and_delay_no_other(impatient):
    """Slowloris: heads, bodies and chunks a byte at a time, more of them than threads."""
    published = impatient.publish(make_draft())
    starts = [
        b"GET /health HTTP/1.1\r\nHost: x\r\nX: ",
        b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\nContent-Length: 1000\r\n\r\n{",
        b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\nffff\r\n",
        b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
    ]
    slow = [impatient.connect() for _ in range(12)]
    try:
        for number, connection in enumerate(slow):
            connection.sendall(starts[number % 4])
        began = time.monotonic()
        answered = {}
        while len(answered) < len(slow) and time.monotonic() - began < LONGEST_SECONDS:
            for connection in slow:
                if connection in answered:
                    continue
                with suppress(OSError):
                    connection.sendall(b"1")
                connection.settimeout(0.1)
                try:
                    if connection.recv(1, socket.MSG_PEEK):
                        connection.settimeout(LONGEST_SECONDS)
                        answered[connection] = read_answer(connection)
                except TimeoutError:
                    pass
                except OSError:
                    answered[connection] = None
            assert (
                requests.get(impatient.url + "/health", timeout=LONGEST_SECONDS).status_code == 200
            )
            assert impatient.send(published)[0] == 201
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
def test_bytes_that_cannot_become_a_request_are_refused_at_once(impatient, beginning):
    with impatient.connect() as connection:
        connection.sendall(beginning)
        answer = read_answer(connection)
        assert answer is None or 400 <= answer[0] < 500


@pytest.mark.parametrize("hangs_up", [True, False])
def test_a_refusal_is_told_although_the_rest_of_the_body_never_comes(impatient, hangs_up):
    """Guards: that the rest was late, or cut off, was told instead."""
    start = b"x" * 262_144
    with impatient.connect() as connection:
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
    stayers = [impatient.connect() for _ in range(400)]
    try:
        for connection in stayers:
            connection.sendall(b"nonsense\r\n\r\n")
        # One by one they would have taken two seconds each; by four threads, a second each, 100.
        assert requests.get(impatient.url + "/health", timeout=LONGEST_SECONDS).status_code == 200
        for connection in stayers:
            assert read_answer(connection)[0] == 400
            assert connection.recv(1) == b""
    finally:
        for connection in stayers:
            connection.close()
