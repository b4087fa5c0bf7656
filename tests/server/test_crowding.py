"""A report that finds too many others waiting is refused at once, and can be sent again."""

from __future__ import annotations

import gc
import json
import selectors
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import ExitStack, suppress
from types import SimpleNamespace

import pytest

from hushpoll_server import create_app
from hushpoll_server.crowding import CROWDED, ROUTE, whole_report
from hushpoll_server.deadline_socket import DeadlineSocket
from hushpoll_server.http_worker import HttpWorker
from hushpoll_server.kept_connections import KeptConnections
from hushpoll_shared import wire
from served import Process, admin_token, publish, send_all

HEAD = b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
CLIENTS = 24
REPORTS_EACH = 15
METRICS_TOKEN = "metrics-token-of-tests"


def test_a_whole_report_is_recognised():
    request = HEAD + b"Content-Length: 2\r\n\r\n{}"
    assert whole_report(request) == (False,)
    closing = HEAD + b"content-length:2 \r\nConnection: keep-alive, Close\r\n\r\n{}"
    assert whole_report(closing) == (True,)


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"",
        HEAD,
        HEAD + b"\r\n",
        HEAD + b"Content-Length: 2\r\n\r\n{",
        HEAD + b"Content-Length: 2\r\n\r\n{}{",
        HEAD + b"Content-Length: 2\r\nContent-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nContent-Length : 9\r\n\r\n{}",
        HEAD + b"Content-Length: 2, 2\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nTransfer-Encoding: chunked\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nExpect: 100-continue\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nupgrade: h2c\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\n folded\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nX: a\0b\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nno header\r\n\r\n{}",
        HEAD + b"Content-Length: -2\r\n\r\n{}",
        HEAD + b"Content-Length: 0000002\r\n\r\n{}",
        HEAD.replace(b"POST", b"post") + b"Content-Length: 2\r\n\r\n{}",
        HEAD + b"Content-Length: 2\r\nX: a\nY: b\r\n\r\n{}",
        HEAD.replace(b"POST", b"GET") + b"Content-Length: 2\r\n\r\n{}",
        HEAD.replace(b"1.1", b"1.0") + b"Content-Length: 2\r\n\r\n{}",
        HEAD.replace(b"/reports", b"/close") + b"Content-Length: 2\r\n\r\n{}",
        b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n",
    ],
)
def test_what_is_no_whole_report_is_left_to_a_thread(request_bytes):
    assert whole_report(request_bytes) is None


def test_refusals_are_counted_under_the_route_of_reports(tmp_path):
    app = create_app({"DATABASE_URL": f"sqlite:///{tmp_path}/hushpoll.sqlite"})
    app.extensions["hushpoll"].stop()
    assert ROUTE in {rule.rule for rule in app.url_map.iter_rules() if "POST" in rule.methods}


def test_the_refusal_is_a_problem_that_says_when_to_come_again():
    head, body = CROWDED.split(b"\r\n\r\n")
    lines = head.decode().split("\r\n")
    assert lines[0] == "HTTP/1.1 503 Service Unavailable"
    headers = dict(line.split(": ", 1) for line in lines[1:])
    assert headers["Retry-After"] == "1"
    assert headers["Access-Control-Allow-Origin"] == "*"
    assert headers["Access-Control-Expose-Headers"] == "Retry-After"
    assert headers["Content-Type"] == "application/problem+json"
    assert headers["X-Content-Type-Options"] == "nosniff"
    assert int(headers["Content-Length"]) == len(body)
    assert json.loads(body)["code"] == "unavailable"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_crowd_is_refused_in_part_and_nothing_acknowledged_is_lost(
    tmp_path, database_url, make_draft, make_report
):
    server = Process(
        tmp_path,
        *("--threads", "1", "--queue-requests", "1", "--rate-limit-submit", "0"),
        *("--metrics-token", METRICS_TOKEN),
        database_url=database_url,
    )
    try:
        (token,) = admin_token(tmp_path)
        published = publish(server, token, make_draft())
        shares = [
            [
                json.dumps(
                    wire.encode_report_json(published.digest, make_report(published))
                ).encode()
                for _ in range(REPORTS_EACH)
            ]
            for _ in range(CLIENTS)
        ]
        statuses = []
        threads = [
            threading.Thread(
                target=lambda share=share: statuses.extend(send_all(server.url, share))
            )
            for share in shares
        ]
        for thread in threads:
            thread.start()
        # Only reports are refused: whoever looks after the server still gets through.
        assert server.request("/health")[0] == 200
        for thread in threads:
            thread.join()
        found = Counter(statuses)
        assert found.keys() == {201, 503}
        assert found.total() == CLIENTS * REPORTS_EACH
        bearer = {"Authorization": f"Bearer {token}"}
        counts = json.loads(server.request("/api/v1/surveys/work/versions/1/counts", **bearer)[1])
        assert counts["accepted"] == found[201]
        _, metrics = server.request("/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
        refused = f'{{method="POST",route="{ROUTE}",status="503"}} {found[503]}.0'
        assert f"hushpoll_http_requests_total{refused}".encode() in metrics
        # The crowd has gone, though the server may not have come to all its goodbyes.
        deadline = time.monotonic() + 60
        while (again := send_all(server.url, shares[0][:1])[0]) == 503:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert again in (200, 201)
    finally:
        server.kill(signal.SIGTERM)
        server.wait()


class Connection:
    queue = None

    def __init__(self, sock):
        self.sock, self.close, self.timeout = sock, sock.close, 0.0


def test_connections_are_kept_in_the_order_in_which_they_time_out():
    kept = KeptConnections()
    for one in "abcd":
        kept.append(one)
    kept.remove("c")
    kept.append("a")  # anew, and so the last
    assert (len(kept), list(kept), kept[0]) == (3, ["b", "d", "a"], "b")
    assert [kept.popleft() for _ in range(3)] == ["b", "d", "a"]
    assert not kept
    with pytest.raises(KeyError):
        kept.remove("a")
    with pytest.raises(IndexError, match="connection 1"):
        kept[1]


@pytest.fixture
def worker():
    """A worker in which any request is one too many."""
    made = HttpWorker.__new__(HttpWorker)
    made.poller, made.nr_conns, made.alive = selectors.DefaultSelector(), 0, True
    made.keepalived_conns, made.begun, made.leaving = (KeptConnections() for _ in range(3))
    made._refusals, made.told, made.threads = [], [], []
    made.submit = made.threads.append
    made.app = SimpleNamespace(count_crowded=made.told.append, queue_requests=0)
    made.cfg = SimpleNamespace(threads=0, keepalive=15)
    yield made
    made.poller.close()


def test_what_is_there_at_the_start_is_not_looked_through_again(worker):
    before = gc.get_freeze_count()
    try:
        worker._prepare()
        assert gc.get_freeze_count() > before
    finally:
        gc.unfreeze()


def keep(worker, sock):
    conn = Connection(DeadlineSocket.of(sock))
    worker.nr_conns += 1
    worker._await(conn)
    return conn


def look(worker):
    """See once to every connection on which something has happened; return their number."""
    events = worker.poller.select(0)
    for key, _ in events:
        key.data(key.fileobj)
    return len(events)


def test_many_are_refused_at_once_and_only_what_was_asked_for_is_kept(worker):
    request = HEAD + b"Content-Length: 2\r\n\r\n{}"
    closing = HEAD + b"Connection: close\r\nContent-Length: 2\r\n\r\n{}"
    pairs = [socket.socketpair() for _ in range(5)]
    with ExitStack() as stack:
        conns = [keep(worker, ours) for ours, _ in pairs]
        for conn in conns:
            stack.enter_context(conn.sock)
        for (_, theirs), sent in zip(pairs, (request, closing, request), strict=False):
            stack.enter_context(theirs).sendall(sent)
        other = stack.enter_context(pairs[3][1])  # has not asked for anything yet
        last = stack.enter_context(pairs[4][1])
        last.sendall(request[:-1])
        assert look(worker) == 4
        assert list(worker.begun) == [conns[4]]
        last.sendall(request[-1:])
        assert look(worker) == 1
        worker._refuse()
        for theirs in (pairs[0][1], pairs[2][1], last):
            assert theirs.recv(65_536) == CROWDED
        assert list(worker.keepalived_conns) == [conns[3], conns[0], conns[2], conns[4]]
        assert (len(worker.begun), worker.nr_conns, conns[1].sock.fileno()) == (0, 4, -1)
        assert worker.told == [4]
        assert look(worker) == 0  # nothing is left that would be answered again
        assert worker.threads == []
        other.sendall(b"GET /health HTTP/1.1\r\n\r\n")
        look(worker)
        assert worker.threads == [conns[3]]


def test_a_refusal_that_cannot_be_sent_closes_the_connection(worker):
    """Guards: the request was received, so nobody else would answer it."""
    ours, theirs = socket.socketpair()
    with theirs:
        ours.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                ours.send(bytes(65_536))
        theirs.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        conn = keep(worker, ours)
        look(worker)
        worker._refuse()
        assert (conn.sock.fileno(), worker.nr_conns, len(worker.keepalived_conns)) == (-1, 0, 0)
        assert not worker.poller.get_map()
        assert worker.told == [0]


def test_a_client_that_hung_up_is_let_go_without_a_thread(worker):
    ours, theirs = socket.socketpair()
    theirs.close()
    conn = keep(worker, ours)
    look(worker)
    assert (conn.sock.fileno(), worker.nr_conns, len(worker.keepalived_conns)) == (-1, 0, 0)
    assert worker.threads == []


def test_one_that_made_room_is_not_refused_any_more(worker):
    ours, theirs = socket.socketpair()
    with theirs:
        theirs.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        conn = keep(worker, ours)
        look(worker)
        worker.hang_up(conn)
        worker._refuse()
        assert worker.told == [0]
        assert theirs.recv(65_536) == b""
