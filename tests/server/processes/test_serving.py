"""A real server: started, ended, and killed under load."""

from __future__ import annotations

import asyncio
import http.client
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, suppress

import psutil
import pytest

import served
from chunks import unpack
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import Settings
from hushpoll_server.processes import serving
from hushpoll_server.processes.children import Orders
from hushpoll_server.processes.serving import Child, listen
from served import SERVE, Load, Process, admin_token, publish


@pytest.fixture
def serve(tmp_path):
    processes = []

    def start(*options):
        processes.append(Process(tmp_path, *options))
        return processes[-1]

    yield start
    for one in processes:
        if one.process.poll() is None:
            one.kill()
            one.wait()


def test_the_admin_token_is_shown_at_the_first_start_alone(serve, tmp_path, make_draft):
    server = serve()
    (token,) = admin_token(tmp_path)
    publish(server, token, make_draft())
    server.kill(signal.SIGTERM)
    assert server.wait() == 0
    again = serve("--admin-token-file", str(tmp_path / "token"))
    assert admin_token(tmp_path) == [token]
    assert not (tmp_path / "token").exists()
    status, body = again.request("/api/v1/surveys", Authorization=f"Bearer {token}")
    assert (status, [one["reports"] for one in json.loads(body)["surveys"]]) == (200, [0])


def idle(stack, server, count):
    """Open connections that say nothing."""
    host, port = server.url.removeprefix("http://").split(":")
    for _ in range(count):
        stack.enter_context(socket.create_connection((host, int(port)), timeout=30))


def test_more_connections_than_descriptors_end_nothing(serve, tmp_path, monkeypatch, make_draft):
    """Guards: the worker ended where the system had no descriptor for a connection."""
    monkeypatch.setattr(served, "SERVE", ["sh", "-c", 'ulimit -n 128; exec "$@"', "sh", *SERVE])
    server = serve("--threads", "4", "--pool-size", "4")
    assert server.request("/health")[0] == 200
    (ingest,) = server.ingest()
    with ExitStack() as stack:
        idle(stack, server, 300)
        for _ in range(3):
            assert server.request("/health")[0] == 200
        # Of what there is, connections leave the database something.
        publish(server, admin_token(tmp_path)[0], make_draft())
    assert server.ingest() == [ingest]
    assert server.request("/ready")[0] == 200
    log = (tmp_path / "stderr.txt").read_text()
    assert '"event": "few-descriptors"' in log
    assert "127.0.0.1" not in log
    assert "Traceback" not in log


@pytest.mark.parametrize("whom", ["parent", "ingest", "web"])
def test_a_killed_process_is_replaced_or_ends_the_others(
    serve, tmp_path, make_draft, make_report, whom
):
    server = serve()
    published = publish(server, admin_token(tmp_path)[0], make_draft())
    report = make_report(published)
    assert served.send(server, published, report)[0] == 201
    parent = psutil.Process(server.process.pid)
    children = parent.children()
    (ingest,) = server.ingest()
    (web,) = set(children) - {ingest}
    killed = {"parent": parent, "ingest": ingest, "web": web}[whom]
    killed.kill()
    if whom == "parent":
        server.wait()
        _, alive = psutil.wait_procs(children, timeout=60)
        assert alive == []  # so the database's lock is free
        server = serve()
    deadline = time.monotonic() + 60
    while True:
        with suppress(OSError, http.client.HTTPException):
            again = served.send(server, published, report)[0]
            status, _ = server.request("/api/v1/surveys")
            if (again, status) == (200, 200):
                break
        assert time.monotonic() < deadline
        time.sleep(0.1)
    if whom != "parent":
        assert set(parent.children()) & set(children) == set(children) - {killed}


def test_process_that_cannot_be_started_is_tried_again(tmp_path, monkeypatch):
    """Guards: it was given up for good, and the server went on without it."""
    python = sys.executable

    async def keep():
        with socket.socket() as listener:
            child = Child("of_no_such_module", Orders({}, listener.fileno(), "", None))
            monkeypatch.setattr(sys, "executable", str(tmp_path / "away"))
            keeping = asyncio.create_task(child.keep())
            await asyncio.sleep(0.3)
            assert not keeping.done()
            monkeypatch.setattr(sys, "executable", python)
            while child._process is None:
                await asyncio.sleep(0.1)
            await child.stop(60)
            await keeping

    asyncio.run(asyncio.wait_for(keep(), 60))


def test_temporary_folder_whose_name_is_too_long_for_a_socket_is_refused(tmp_path, monkeypatch):
    folder = tmp_path / (120 * "x")
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    with socket.socket() as listener, pytest.raises(InvalidParameter) as refused:
        serving.serve(Settings(), listener=listener, lock=None, ready=print)
    assert refused.value.field == "TMPDIR"
    assert str(folder) in str(refused.value)
    assert list(folder.iterdir()) == []


def test_web_process_answers_with_more_than_a_thousand_descriptors(serve):
    """Guards: it ended where one had a number that select() does not take."""
    server = serve("--queue-requests", "1200")
    (web,) = set(psutil.Process(server.process.pid).children()) - set(server.ingest())
    names = {one.raddr or one.laddr for one in psutil.Process(web.pid).net_connections("unix")}
    (path,) = {
        one for one in names if one.startswith(tempfile.gettempdir()) and one.endswith("/web.sock")
    }
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    with ExitStack() as stack:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
        stack.callback(resource.setrlimit, resource.RLIMIT_NOFILE, (soft, hard))
        for _ in range(1100):
            one = stack.enter_context(socket.socket(socket.AF_UNIX))
            one.connect(path)
        assert server.request("/api/v1/surveys")[0] == 200
        assert web.is_running()


def test_sigterm_ends_it_soon_with_everything_acknowledged_stored(
    serve, tmp_path, make_draft, make_report
):
    server = serve("--log-level", "debug")
    published = publish(server, admin_token(tmp_path)[0], make_draft())
    load = Load(server, published, make_report, threads=4)
    load.wait_for(30)
    os.kill(server.process.pid, signal.SIGTERM)
    assert server.wait() == 0
    load.stop()
    assert stored(tmp_path) >= load.acknowledged.keys()
    assert not (tmp_path / "hushpoll.sqlite-wal").exists()  # all of it is in the file
    log = (tmp_path / "stderr.txt").read_text()
    assert "/reports" not in log
    assert "127.0.0.1" not in log
    assert "Traceback" not in log


def stored(tmp_path):
    connection = sqlite3.connect(tmp_path / "hushpoll.sqlite")
    try:
        waiting = {row[0] for row in connection.execute("SELECT report_id FROM inbox")}
        chunks = [row[0] for row in connection.execute("SELECT ids FROM sealed_ids")]
        sealed = set(unpack(chunks))
        assert not waiting & sealed
        return waiting | sealed
    finally:
        connection.close()


def test_malformed_request_leaves_nothing_in_the_log(serve, tmp_path):
    server = serve("--log-level", "debug")
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(b"GET /x7Qz HTTP/1.1\r\nHost: x\r\nBad Name: x7Qz\r\n\r\n")
        assert b" 400 " in connection.recv(4096)
    server.kill(signal.SIGTERM)
    assert server.wait() == 0
    log = (tmp_path / "stderr.txt").read_text()
    for trace in ("uvicorn", "127.0.0.1", "x7Qz"):
        assert trace not in log


def test_a_file_that_is_no_database_ends_it_with_one_line(tmp_path):
    """One of the refusals that the tests of the store go through."""
    (tmp_path / "notes.txt").write_text("somebody's notes\n" * 100)
    found = subprocess.run(
        [*SERVE, "--database-url", f"sqlite:///{tmp_path}/notes.txt"],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (found.returncode, found.stdout) == (1, "")
    assert re.fullmatch(r"Error: DATABASE_URL names the file .*not a database.*\n", found.stderr)


def refused(tmp_path, *options):
    """Run ``hushpoll serve``, which ends by itself, and return its one line of complaint."""
    found = subprocess.run(
        [*SERVE, "--database-url", f"sqlite:///{tmp_path}/hushpoll.sqlite", *options],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert (found.returncode, found.stdout) == (1, ""), found.stderr
    assert found.stderr.startswith("Error: ")
    assert found.stderr.count("\n") == 1
    return found.stderr


def test_a_refused_start_does_not_use_up_the_first(serve, tmp_path):
    """Guards: the admin token was made before its file and the port were known to be usable."""
    assert "/absent/t" in refused(tmp_path, "--admin-token-file", f"{tmp_path}/absent/t")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        found = refused(
            tmp_path, "--port", str(port), "--admin-token-file", str(tmp_path / "token")
        )
    expected = f"Error: port {port} of 127.0.0.1 is in use; give another with --port\n"
    assert found == expected
    assert not (tmp_path / "token").exists()
    server = serve("--admin-token-file", str(tmp_path / "token"))
    # In the file alone: what is printed ends up in a log that is kept.
    assert admin_token(tmp_path) == []
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    token = (tmp_path / "token").read_text()
    assert token.startswith("hp_")
    assert token.strip() not in (tmp_path / "stderr.txt").read_text()
    bearer = f"Bearer {token.strip()}"
    assert server.request("/api/v1/tokens", Authorization=bearer)[0] == 200


def test_a_second_server_on_one_database_is_refused(serve, tmp_path):
    server = serve()
    assert "another hushpoll serve is using" in refused(tmp_path, "--port", "0")
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "hushpoll.sqlite").hardlink_to(tmp_path / "hushpoll.sqlite")
    assert "another hushpoll serve is using" in refused(tmp_path / "other", "--port", "0")
    (tmp_path / "other" / "hushpoll.sqlite").unlink()
    assert server.request("/health")[0] == 200
    server.kill()
    server.wait()
    assert serve().request("/health")[0] == 200


def test_a_free_port_listens_at_once():
    with listen("127.0.0.1", 0) as listener:
        socket.create_connection(listener.getsockname(), timeout=30).close()


def test_a_port_in_use_is_named():
    """Guards: the server tried for five seconds, with three lines of log each time."""
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InvalidParameter) as refused:
            listen("127.0.0.1", port)
    message = f"port {port} of 127.0.0.1 is in use; give another with --port"
    assert (str(refused.value), refused.value.field) == (message, "port")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("192.0.2.1", "cannot listen"),  # of documentation's network, never this machine's
        ("", "cannot be resolved"),
        ("300.0.0.1.invalid", "cannot be resolved"),
        ("x" * 64, "cannot be resolved"),
        ("::nonsense", "cannot be resolved"),
    ],
)
def test_a_host_that_is_not_this_machine_is_refused(host, words, monkeypatch):
    resolve = socket.getaddrinfo

    def literal(host, port, family, kind, protocol, flags):
        return resolve(host, port, family, kind, protocol, flags | socket.AI_NUMERICHOST)

    monkeypatch.setattr(socket, "getaddrinfo", literal)  # asks no name server
    with pytest.raises(InvalidParameter, match=words) as refused:
        listen(host, 0)
    assert refused.value.field == "host"
    assert "--host" in str(refused.value)
