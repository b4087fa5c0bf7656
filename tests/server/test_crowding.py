"""A report that finds too many others waiting is refused at once, and can be sent again."""

from __future__ import annotations

import json
import selectors
import signal
import socket
import threading
import time
from collections import Counter
from contextlib import suppress

import pytest

from hushpoll_server import create_app
from hushpoll_server.crowding import CROWDED, LARGEST, ROUTE, whole_report
from hushpoll_server.http_worker import HttpWorker, KeptConnections
from hushpoll_shared import wire
from served import Process, admin_token, publish, send_all

HEAD = b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
CLIENTS = 24
REPORTS_EACH = 15
METRICS_TOKEN = "metrics-token-of-tests"


def test_a_whole_report_is_recognised():
    request = HEAD + b"Content-Length: 2\r\n\r\n{}"
    assert whole_report(request) == (len(request), False)
    closing = HEAD + b"content-length:2 \r\nConnection: keep-alive, Close\r\n\r\n{}"
    assert whole_report(closing) == (len(closing), True)


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
    assert len(CROWDED) < LARGEST


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
        deadline = time.monotonic() + 10
        while (again := send_all(server.url, shares[0][:1])[0]) == 503:
            assert time.monotonic() < deadline
            time.sleep(0.05)
        assert again in (200, 201)
    finally:
        server.kill(signal.SIGTERM)
        server.wait()


class Connection:
    def __init__(self, sock):
        self.sock, self.close = sock, sock.close


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


def test_a_refusal_that_cannot_be_sent_closes_the_connection():
    """Guards: the request was read off the socket, so a thread would wait for it in vain."""
    ours, theirs = socket.socketpair()
    with ours, theirs, selectors.DefaultSelector() as poller:
        ours.setblocking(False)
        with suppress(BlockingIOError):
            while True:
                ours.send(bytes(65_536))
        theirs.sendall(HEAD + b"Content-Length: 2\r\n\r\n{}")
        conn = Connection(ours)
        poller.register(ours, selectors.EVENT_READ)
        worker = HttpWorker.__new__(HttpWorker)
        worker.poller, worker.keepalived_conns, worker.nr_conns = poller, KeptConnections(), 1
        worker.keepalived_conns.append(conn)
        assert worker._refused(conn, ours)
        assert (ours.fileno(), worker.nr_conns, len(worker.keepalived_conns)) == (-1, 0, 0)
        assert not poller.get_map()


def test_a_client_that_hung_up_is_let_go_without_a_thread():
    ours, theirs = socket.socketpair()
    with ours, selectors.DefaultSelector() as poller:
        theirs.close()
        conn = Connection(ours)
        poller.register(ours, selectors.EVENT_READ)
        worker = HttpWorker.__new__(HttpWorker)
        worker.poller, worker.keepalived_conns, worker.nr_conns = poller, KeptConnections(), 1
        worker.keepalived_conns.append(conn)
        assert worker._refused(conn, ours)
        assert (ours.fileno(), worker.nr_conns, len(worker.keepalived_conns)) == (-1, 0, 0)
