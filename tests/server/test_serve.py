"""A real server: started, ended, and killed under load."""

from __future__ import annotations

import json
import os
import re
import selectors
import signal
import socket
import sqlite3
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request

import pytest

from hushpoll_shared import wire
from hushpoll_shared.published import Published

KILLS = int(os.environ.get("HUSHPOLL_KILLS", "3"))
SERVE = [sys.executable, "-c", "from hushpoll_server.commands import serve; serve()"]


class Process:
    """``hushpoll serve`` in a session of its own, so that a kill reaches every process of it."""

    def __init__(self, directory, *options):
        self.errors = (directory / "stderr.txt").open("ab")
        self.process = subprocess.Popen(
            [*SERVE, "--database-url", f"sqlite:///{directory}/hushpoll.sqlite", "--port", "0",
             *options],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )  # fmt: skip
        self.url = self._wait_for_url()

    def _wait_for_url(self):
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            assert ready.select(60), "the server printed nothing within a minute"
        line = self.process.stdout.readline().decode()
        match = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", line)
        assert match, line
        return match[1]

    def kill(self, how=signal.SIGKILL):
        os.killpg(self.process.pid, how)

    def wait(self, timeout=20):
        code = self.process.wait(timeout)
        self.process.stdout.close()
        self.errors.close()
        return code

    def request(self, path, data=None, **headers):
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=10) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()


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


def admin_token(tmp_path):
    return re.findall(r"^admin token: (hp_\S+)$", (tmp_path / "stderr.txt").read_text(), re.M)


def publish(server, token, draft):
    status, body = server.request(
        "/api/v1/surveys",
        json.dumps(draft).encode(),
        **{"Authorization": f"Bearer {token}", "Content-Type": "application/json"},
    )
    assert status == 201, body
    return Published.from_json(json.loads(body)["manifest"])


def send(server, published, report):
    body = json.dumps(wire.encode_report_json(published.digest, report)).encode()
    return server.request(
        "/api/v1/surveys/work/reports", body, **{"Content-Type": "application/json"}
    )


def test_the_admin_token_is_shown_at_the_first_start_alone(serve, tmp_path, make_draft):
    server = serve("--admin-token-file", str(tmp_path / "token"))
    (token,) = admin_token(tmp_path)
    assert (tmp_path / "token").read_text() == token + "\n"
    assert (tmp_path / "token").stat().st_mode & 0o777 == 0o600
    publish(server, token, make_draft())
    server.kill(signal.SIGTERM)
    assert server.wait() == 0
    again = serve("--admin-token-file", str(tmp_path / "token"))
    assert admin_token(tmp_path) == [token]
    status, body = again.request("/api/v1/surveys", Authorization=f"Bearer {token}")
    assert (status, [one["reports"] for one in json.loads(body)["surveys"]]) == (200, [0])


def test_sigterm_ends_it_soon_with_everything_acknowledged_stored(
    serve, tmp_path, make_draft, make_report
):
    server = serve("--log-level", "debug")
    published = publish(server, admin_token(tmp_path)[0], make_draft())
    acknowledged = Load(server, published, make_report, threads=4)
    acknowledged.wait_for(30)
    started = time.monotonic()
    os.kill(server.process.pid, signal.SIGTERM)
    assert server.wait() == 0
    assert time.monotonic() - started < 15
    acknowledged.stop()
    assert stored(tmp_path) >= acknowledged.ids
    log = (tmp_path / "stderr.txt").read_text()
    assert "/reports" not in log
    assert "127.0.0.1" not in log
    assert "Traceback" not in log


class Load:
    """Threads that submit new reports until told to stop or the server is gone."""

    def __init__(self, server, published, make_report, *, threads):
        self.ids = set()
        self.unanswered = {}
        self.odd = []
        self._stop = threading.Event()
        self._server = server
        self._published = published
        self._make_report = make_report
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        while not self._stop.is_set():
            report = self._make_report(self._published)
            try:
                status, body = send(self._server, self._published, report)
            except OSError:
                self.unanswered[report.id] = report
                return
            if status == 201:
                self.ids.add(report.id)
            elif status == 503:
                self.unanswered[report.id] = report
            else:
                self.odd.append((status, body))

    def wait_for(self, count):
        deadline = time.monotonic() + 30
        while len(self.ids) < count:
            assert time.monotonic() < deadline
            time.sleep(0.005)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(30)
        assert self.odd == []


def stored(tmp_path):
    connection = sqlite3.connect(tmp_path / "hushpoll.sqlite")
    try:
        return {row[0] for row in connection.execute("SELECT report_id FROM seen_ids")}
    finally:
        connection.close()


def counted(tmp_path):
    connection = sqlite3.connect(tmp_path / "hushpoll.sqlite")
    try:
        (inbox,) = connection.execute("SELECT count(*) FROM inbox").fetchone()
        (sealed,) = connection.execute("SELECT coalesce(sum(reports), 0) FROM segments").fetchone()
        (check,) = connection.execute("PRAGMA integrity_check").fetchone()
        assert check == "ok"
        return inbox + sealed
    finally:
        connection.close()


def test_a_killed_server_loses_no_acknowledged_report(serve, tmp_path, make_draft, make_report):
    """HUSHPOLL_KILLS sets how often; each kill comes at another moment under load."""
    acknowledged, unanswered = set(), {}
    published = None
    for round_number in range(KILLS):
        server = serve()
        if published is None:
            published = publish(server, admin_token(tmp_path)[0], make_draft())
        load = Load(server, published, make_report, threads=6)
        load.wait_for(10 + 17 * round_number)
        server.kill()
        server.wait()
        load.stop()
        acknowledged |= load.ids
        unanswered |= load.unanswered
        assert acknowledged <= stored(tmp_path)
        assert counted(tmp_path) == len(stored(tmp_path))
    server = serve()
    statuses = {send(server, published, report)[0] for report in unanswered.values()}
    assert statuses <= {200, 201}
    assert stored(tmp_path) == acknowledged | set(unanswered)
    assert counted(tmp_path) == len(acknowledged) + len(unanswered)


def test_a_malformed_request_leaves_no_address_in_the_log(serve, tmp_path):
    server = serve("--log-level", "debug")
    host, _, port = server.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(b"GET /x7Qz HTTP/1.1\r\nHost: x\r\nBad Name: x7Qz\r\n\r\n")
        assert b" 400 " in connection.recv(4096)
    server.kill(signal.SIGTERM)
    assert server.wait() == 0
    log = (tmp_path / "stderr.txt").read_text()
    assert "Invalid request" in log
    assert "127.0.0.1" not in log
    assert "x7Qz" not in log


@pytest.mark.parametrize(
    ("url", "words"),
    [("postgresql://x/y", "serves SQLite files"), ("sqlite://", "in memory")],
)
def test_a_database_that_cannot_be_used_ends_it_with_one_line(url, words):
    found = subprocess.run(
        [*SERVE, "--database-url", url], capture_output=True, text=True, timeout=60
    )
    assert found.returncode == 1
    assert words in found.stderr
    assert "Traceback" not in found.stderr
