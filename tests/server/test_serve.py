"""A real server: started, ended, and killed under load."""

from __future__ import annotations

import http.client
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
from collections import Counter

import pytest

from hushpoll_shared import wire
from hushpoll_shared.published import Published

KILLS = int(os.environ.get("HUSHPOLL_KILLS", "5"))
SERVE = [sys.executable, "-c", "from hushpoll_server.commands import serve; serve()"]
# With an inbox that is folded every few moments, so that kills fall into folds as well.
FOLDING = ("--fold-at", "20")


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
    load = Load(server, published, make_report, threads=4)
    load.wait_for(30)
    started = time.monotonic()
    os.kill(server.process.pid, signal.SIGTERM)
    assert server.wait() == 0
    assert time.monotonic() - started < 15
    load.stop()
    assert stored(tmp_path) >= load.acknowledged.keys()
    assert not (tmp_path / "hushpoll.sqlite-wal").exists()  # all of it is in the file
    log = (tmp_path / "stderr.txt").read_text()
    assert "/reports" not in log
    assert "127.0.0.1" not in log
    assert "Traceback" not in log


class Load:
    """Threads that submit new reports, some of them again, until the server is gone."""

    def __init__(self, server, published, make_report, *, threads):
        self.acknowledged = {}
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
                if status == 201:
                    self.acknowledged[report.id] = report
                    if report.id[0] % 2:
                        status, body = send(self._server, self._published, report)
                        if status == 200:
                            continue
                if status == 503:
                    self.unanswered[report.id] = report
                elif status != 201:
                    self.odd.append((status, body))
            except (OSError, http.client.HTTPException):
                if report.id not in self.acknowledged:
                    self.unanswered[report.id] = report
                return

    def wait_for(self, count):
        deadline = time.monotonic() + 30
        while len(self.acknowledged) < count:
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
        waiting = {row[0] for row in connection.execute("SELECT report_id FROM inbox")}
        sealed = {row[0] for row in connection.execute("SELECT report_id FROM seen_ids")}
        assert not waiting & sealed
        return waiting | sealed
    finally:
        connection.close()


def segments(tmp_path):
    connection = sqlite3.connect(tmp_path / "hushpoll.sqlite")
    try:
        return connection.execute("SELECT count(*) FROM segments").fetchone()[0]
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
    acknowledged, unanswered = {}, {}
    published = None
    for round_number in range(KILLS):
        server = serve(*FOLDING)
        if published is None:
            published = publish(server, admin_token(tmp_path)[0], make_draft())
        load = Load(server, published, make_report, threads=6)
        load.wait_for(10 + 17 * round_number)
        server.kill()
        server.wait()
        load.stop()
        acknowledged |= load.acknowledged
        unanswered |= load.unanswered
        assert stored(tmp_path) >= acknowledged.keys()
        assert counted(tmp_path) == len(stored(tmp_path))
    server = serve(*FOLDING)
    everything = acknowledged | unanswered
    statuses = {send(server, published, report)[0] for report in unanswered.values()}
    assert statuses <= {200, 201}
    again = {send(server, published, report)[0] for report in everything.values()}
    assert again == {200}
    assert stored(tmp_path) == everything.keys()
    status, body = server.request(
        "/api/v1/surveys/work/versions/1/records",
        Authorization=f"Bearer {admin_token(tmp_path)[0]}",
    )
    assert status == 200
    _, records = wire.read_records(body)
    assert Counter(map(bytes, records)) == Counter(one.record for one in everything.values())
    assert segments(tmp_path) >= KILLS  # kills and folds did meet


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


def test_a_file_that_is_no_database_ends_it_with_one_line(tmp_path):
    """One of the refusals that test_refused_files.py and test_database.py go through."""
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
    serve("--admin-token-file", str(tmp_path / "token"))
    assert admin_token(tmp_path) == [(tmp_path / "token").read_text().strip()]


def test_a_second_server_on_one_database_is_refused(serve, tmp_path):
    server = serve()
    assert "another hushpoll serve is using" in refused(tmp_path, "--port", "0")
    assert server.request("/health")[0] == 200
    server.kill()
    server.wait()
    assert serve().request("/health")[0] == 200
