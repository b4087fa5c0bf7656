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
import urllib.error
import urllib.request
from contextlib import suppress

import psutil

from hushpoll_shared.survey.published import Published
from sample_survey import REPORTS, SURVEYS, bearer, bytes_of, make_report
from waiting import LONGEST_SECONDS, wait_until

SERVE = [sys.executable, "-c", "from hushpoll_server.cli.serve import serve; serve()"]
JSON = {"Content-Type": "application/json"}


# Status and length of an answer, up to the end of its head.
ANSWER = re.compile(
    rb"HTTP/1\.1 (\d{3}) .*?\r\nContent-Length: (\d+)\r\n(?:.*?\r\n)?\r\n",
    re.DOTALL | re.IGNORECASE,
)


class Process:
    """``hushpoll serve`` in a session of its own, so that a kill reaches every process of it.

    It starts no worker unless it is asked to. Its standard error is added to the file
    ``stderr.txt`` of `directory`.
    """

    def __init__(
        self, directory, *options, database_url=None, command=None, environment=None, limit=(),
        worker=False,
    ):  # fmt: skip
        database_url = database_url or f"sqlite:///{directory}/hushpoll.sqlite"
        command = command or [*limit, *SERVE, "--database-url", database_url, "--port", "0"]
        if not worker:
            options = ("--no-worker", *options)
        self._errors = directory / "stderr.txt"
        with self._errors.open("ab") as errors:
            self.process = subprocess.Popen(
                [*command, *options],
                cwd=directory,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=errors,
                start_new_session=True,
            )
        self.url = self._wait_for_url()
        host, _, port = self.url.removeprefix("http://").partition(":")
        self.address = host, int(port)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.kill()

    def _wait_for_url(self):
        with selectors.DefaultSelector() as ready:
            ready.register(self.process.stdout, selectors.EVENT_READ)
            assert ready.select(LONGEST_SECONDS), "the server printed nothing for five minutes"
        line = self.process.stdout.readline().decode()
        match = re.fullmatch(r"listening on (http://127\.0\.0\.1:\d+)\n", line)
        assert match, line
        return match[1]

    @property
    def log(self):
        return self._errors.read_text()

    def admin_tokens(self):
        """The tokens that servers of this directory have printed: one, at the first start."""
        return re.findall(r"^admin token: (hp_\S+)$", self.log, re.MULTILINE)

    @property
    def admin(self):
        """The header of the administrator."""
        (token,) = self.admin_tokens()
        return bearer(token)

    def ingest(self):
        """Its ingest processes."""
        return self._children("ingest")

    def web(self):
        """Its web process."""
        (process,) = self._children("web")
        return process

    def worker(self):
        """Its worker, if it runs."""
        return next(iter(self._children("worker")), None)

    def _children(self, name):
        processes = []
        for child in psutil.Process(self.process.pid).children():
            with suppress(psutil.Error):  # it has ended meanwhile
                # a new program, where a system does not fork, has the module in its command
                module = f"hushpoll_server.processes.{name}"
                if child.name() == f"hushpoll-{name}" or module in " ".join(child.cmdline()):
                    processes.append(child)
        return processes

    def kill(self):
        """End every process of it by SIGKILL, unless it has ended."""
        if self.process.poll() is None:
            os.killpg(self.process.pid, signal.SIGKILL)
        self.wait()

    def stop(self):
        """End it by SIGTERM, as an operator does; it must end in order."""
        self.process.terminate()
        assert self.wait() == 0

    def wait(self):
        code = self.process.wait(LONGEST_SECONDS)
        self.process.stdout.close()
        return code

    def connect(self):
        return socket.create_connection(self.address, timeout=LONGEST_SECONDS)

    def request(self, path, data=None, **headers):
        request = urllib.request.Request(self.url + path, data=data, headers=headers)
        try:
            with urllib.request.urlopen(request, timeout=LONGEST_SECONDS) as answer:
                return answer.status, answer.read()
        except urllib.error.HTTPError as error:
            with error:
                return error.code, error.read()

    def get(self, path, status=200):
        """What an administrator reads there."""
        found, body = self.request(path, **self.admin)
        assert found == status, body
        return json.loads(body)

    def post(self, path, document):
        """What an administrator is answered there."""
        status, body = self.request(path, json.dumps(document).encode(), **JSON, **self.admin)
        assert status in (200, 201, 202), body
        return json.loads(body)

    def publish(self, draft):
        return Published.from_json(self.post(SURVEYS, draft)["manifest"])

    def counts(self):
        return self.get("/api/v1/surveys/work/versions/1/counts")

    def send(self, published, report=None):
        """The status and body of the answer to a report, by default a new one."""
        return self.request(REPORTS, bytes_of(published, report), **JSON)


def refused_start(database_url, *options):
    """Run ``hushpoll serve``, which ends by itself, and return its one line of complaint."""
    done = subprocess.run(
        [*SERVE, "--database-url", database_url, *options],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    assert done.stderr.startswith("Error: ")
    assert done.stderr.count("\n") == 1
    return done.stderr


def send_all(server, bodies):
    """Send reports over one connection; return the status of each answer.

    A full-grown client would take longer than the server, and the test is about the server.
    """
    head = (
        f"POST {REPORTS} HTTP/1.1\r\nHost: x\r\n"
        "Content-Type: application/json\r\nContent-Length: %d\r\n\r\n"
    )
    statuses = []
    with server.connect() as connection:
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

    def __init__(self, server, published, *, threads):
        self.acknowledged = {}
        self.unanswered = {}
        self.odd = []
        self._stop = threading.Event()
        self._server = server
        self._published = published
        self._threads = [threading.Thread(target=self._run) for _ in range(threads)]
        for thread in self._threads:
            thread.start()

    def _run(self):
        while not self._stop.is_set():
            report = make_report(self._published)
            try:
                status, body = self._server.send(self._published, report)
                if status == 201:
                    self.acknowledged[report.id] = report
                    if report.id[0] % 2:
                        status, body = self._server.send(self._published, report)
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
        wait_until(lambda: len(self.acknowledged) >= count or self.odd)
        assert self.odd == []

    def stop(self):
        self._stop.set()
        for thread in self._threads:
            thread.join(LONGEST_SECONDS)
        assert self.odd == []
