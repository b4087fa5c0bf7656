"""``hushpoll serve`` as a process, and clients that put load on it."""

from __future__ import annotations

import http.client
import json
import os
import re
import selectors
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import suppress

import psutil

from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire

SERVE = [sys.executable, "-c", "from hushpoll_server.cli.serve import serve; serve()"]


# Status and length of an answer, up to the end of its head.
ANSWER = re.compile(
    rb"HTTP/1\.1 (\d{3}) .*?\r\nContent-Length: (\d+)\r\n(?:.*?\r\n)?\r\n",
    re.DOTALL | re.IGNORECASE,
)


class Process:
    """``hushpoll serve`` in a session of its own, so that a kill reaches every process of it."""

    def __init__(self, directory, *options, database_url=None):
        database_url = database_url or f"sqlite:///{directory}/hushpoll.sqlite"
        self.errors = (directory / "stderr.txt").open("ab")
        self.process = subprocess.Popen(
            [*SERVE, "--database-url", database_url, "--port", "0", *options],
            stdout=subprocess.PIPE,
            stderr=self.errors,
            start_new_session=True,
        )
        self.url = self._wait_for_url()

    def _wait_for_url(self):
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            assert ready.select(60), "the server printed nothing within a minute"
        line = self.process.stdout.readline().decode()
        match = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", line)
        assert match, line
        return match[1]

    def ingest(self):
        """Its ingest processes."""
        found = []
        for one in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):  # it has ended meanwhile
                if "hushpoll_server.processes.ingest" in " ".join(one.cmdline()):
                    found.append(one)
        return found

    def kill(self, how=signal.SIGKILL):
        os.killpg(self.process.pid, how)

    def wait(self, timeout=60):
        code = self.process.wait(timeout)
        self.process.stdout.close()
        self.errors.close()
        return code

    def request(self, path, data=None, **headers):
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=30) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()


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


def send_all(url, bodies):
    """Send reports over one connection; return the status of each answer.

    A full-grown client would take longer than the server, and the test is about the server.
    """
    host = url.removeprefix("http://")
    head = (
        f"POST /api/v1/surveys/work/reports HTTP/1.1\r\nHost: {host}\r\n"
        "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    name, port = host.split(":")
    statuses = []
    with socket.create_connection((name, int(port)), timeout=60) as connection:
        for body in bodies:
            connection.sendall((head % len(body)).encode() + body)
            answer = b""
            while not (whole := ANSWER.match(answer)) or len(answer) < whole.end() + int(whole[2]):
                piece = connection.recv(65_536)
                assert piece, answer
                answer += piece
            statuses.append(int(whole[1]))
    return statuses


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
                if self._server.process.poll() is not None:
                    return

    def wait_for(self, count):
        deadline = time.monotonic() + 60
        while len(self.acknowledged) < count:
            assert self.odd == []
            assert time.monotonic() < deadline, len(self.acknowledged)
            time.sleep(0.005)

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(30)
        assert self.odd == []
