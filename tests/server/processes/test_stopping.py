"""SIGTERM under load, and workers, on both databases."""

from __future__ import annotations

import http.client
import json
import os
import re
import signal
import socket
import subprocess
import time
from contextlib import ExitStack

import pytest

from chunks import unpack
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import inbox, sealed_ids
from hushpoll_shared.wire import reports as wire
from served import SERVE, Load, Process, admin_token, publish, send
from waiting import wait_until

METRICS_TOKEN = "metrics-token-of-tests"


@pytest.fixture
def serve(tmp_path, new_database_url):
    """Start servers, of two workers where the database can take them."""
    processes = []

    def start(*options):
        workers = "1" if new_database_url.startswith("sqlite") else "2"
        options = ("--workers", workers, *options)
        processes.append(Process(tmp_path, *options, database_url=new_database_url))
        return processes[-1]

    yield start
    for one in processes:
        if one.process.poll() is None:
            one.kill()
            one.wait()


def stored(url):
    database = Database(url, pool_size=1)
    try:
        with database.reading() as connection:
            waiting = connection.execute(inbox.select().with_only_columns(inbox.c.report_id))
            chunks = connection.execute(sealed_ids.select().with_only_columns(sealed_ids.c.ids))
            ids = [*map(bytes, waiting.scalars()), *unpack(chunks.scalars())]
    finally:
        database.close()
    assert len(ids) == len(set(ids))
    return set(ids)


def start_request(server, published, report):
    """Send a request but for the last byte of its body, and wait until the server reads it."""
    body = json.dumps(wire.encode_report_json(published.digest, report)).encode()
    host, _, port = server.url.removeprefix("http://").partition(":")
    connection = socket.create_connection((host, int(port)), timeout=60)
    connection.sendall(
        b"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: x\r\n"
        b"Content-Type: application/json\r\nExpect: 100-continue\r\n"
        b"Content-Length: %d\r\n\r\n" % len(body)
    )
    assert connection.recv(4096) == b"HTTP/1.1 100 Continue\r\n\r\n"
    connection.sendall(body[:-1])
    return connection, body[-1:]


def test_sigterm_under_load_loses_nothing_acknowledged(
    serve, tmp_path, new_database_url, make_draft, make_report
):
    server = serve("--seal-at", "4", "--request-seconds", "600")
    published = publish(server, admin_token(tmp_path)[0], make_draft())
    load = Load(server, published, make_report, threads=4)
    load.wait_for(50)
    in_flight = make_report(published)
    connection, rest = start_request(server, published, in_flight)
    with connection, ExitStack() as stuck:
        if new_database_url.startswith("sqlite"):  # waiting for it takes as long on either
            stuck.enter_context(start_request(server, published, make_report(published))[0])
        os.kill(server.process.pid, signal.SIGTERM)
        time.sleep(0.5)
        connection.sendall(rest)
        assert connection.recv(4096).startswith(b"HTTP/1.1 201 ")
        assert server.wait() == 0  # within a minute, and so without the stuck one
    load.stop()
    acknowledged = load.acknowledged.keys() | {in_flight.id}
    assert len(acknowledged) > 50
    assert stored(new_database_url) >= acknowledged
    log = (tmp_path / "stderr.txt").read_text()
    assert "Traceback" not in log
    assert "127.0.0.1" not in log


def reports_counted(server):
    status, body = server.request("/metrics", Authorization=f"Bearer {METRICS_TOKEN}")
    assert status == 200
    return [
        float(
            re.search(rf'^hushpoll_reports_total{{outcome="{one}"}} (\S+)$', body.decode(), re.M)[1]
        )
        for one in ("accepted", "duplicate")
    ]


@pytest.mark.parametrize("new_database_url", ["postgresql"], indirect=True)
def test_workers_share_one_database_and_survive_the_death_of_one(
    serve, tmp_path, new_database_url, make_draft, make_report
):
    """Connections, threads and random keys made before a fork would be shared by the workers."""
    server = serve("--metrics-token", METRICS_TOKEN)
    token = admin_token(tmp_path)[0]
    published = publish(server, token, make_draft())
    reports = [make_report(published) for _ in range(40)]
    assert {send(server, published, one)[0] for one in reports[:20]} == {201}
    workers = server.ingest()
    assert len(workers) == 2
    os.kill(workers[0].pid, signal.SIGKILL)
    wait_until(lambda: len(server.ingest()) >= 2 and workers[0] not in server.ingest())
    for one in reports[20:]:
        assert _sent(server, published, one) == 201
    assert {_sent(server, published, one) for one in reports} == {200}
    assert stored(new_database_url) == {one.id for one in reports}
    assert server.request("/ready")[0] == 200
    # Counted together, with what the killed worker had counted.
    accepted, repeated = reports_counted(server)
    assert accepted == 40
    assert repeated >= 40
    server.kill(signal.SIGTERM)
    assert server.wait() == 0


def _sent(server, published, report):
    """Send until the connection is not one that the killed worker took along."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return send(server, published, report)[0]
        except (OSError, http.client.HTTPException):
            assert time.monotonic() < deadline, "no worker answers"
            time.sleep(0.2)


def test_several_workers_on_sqlite_are_refused_before_anything_is_made(tmp_path):
    found = subprocess.run(
        [*SERVE, "--workers", "2", "--database-url", f"sqlite:///{tmp_path}/hushpoll.sqlite"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (found.returncode, found.stdout) == (1, "")
    assert found.stderr.startswith("Error: WORKERS is 2, and SQLite takes one writer at a time")
    assert list(tmp_path.iterdir()) == []
