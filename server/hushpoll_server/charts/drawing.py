"""Draws charts in a process of its own, and keeps the pictures by a hash of what they show."""

from __future__ import annotations

import hashlib
import json
import os
import select
import subprocess
import sys
import threading
import time
from typing import Final, Literal

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.charts.rows import Specification
from hushpoll_server.logs import get_logger

log = get_logger(__name__)

Media = Literal["svg", "png"]
KEPT_BYTES: Final = 32 * 2**20
# The first picture also loads Vega-Lite, for about two seconds on an idle machine.
DRAW_SECONDS: Final = 30.0
WAIT_SECONDS: Final = 10.0


_ANY_CHART: Final = {"data": {"values": [{"x": 1}]}, "mark": "bar", "encoding": {}}


class NotDrawn(HushpollError):
    """There is no picture; the table has the same figures."""


class Drawing:
    """One drawing process, started when it will soon be needed, and the pictures that were drawn.

    The key of a picture is the SHA-256 of its specification, which carries the data: a picture is
    drawn again once the data has changed.
    """

    def __init__(self, *, kept_bytes: int = KEPT_BYTES, draw_seconds: float = DRAW_SECONDS) -> None:
        self._most = kept_bytes
        self._draw_seconds = draw_seconds
        self._turn = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._stopped = threading.Event()
        self._pictures: dict[str, bytes] = {}
        self._bytes = 0
        self._expected = False

    @property
    def running(self) -> bool:
        """Whether there is a process."""
        return self._process is not None

    def expect(self) -> None:
        """Start the process in the background: a user signs in, and may soon look at charts."""
        if self._expected:
            return
        self._expected = True
        threading.Thread(target=self._prepare, name="hushpoll-drawing", daemon=True).start()

    def draw(self, specification: Specification, media: Media) -> bytes:
        """Return the picture of a Vega-Lite specification; raises `NotDrawn`."""
        line = json.dumps({"specification": specification, "media": media}, sort_keys=True).encode()
        key = hashlib.sha256(line).hexdigest()
        picture = self._pictures.get(key)
        if picture is not None:
            return picture
        if not self._turn.acquire(timeout=WAIT_SECONDS):
            raise NotDrawn("other charts are being drawn; load the page again")
        try:
            picture = self._pictures.get(key)  # another request may have asked for it meanwhile
            if picture is None:
                picture = self._ask(line)
                self._keep(key, picture)
        finally:
            self._turn.release()
        return picture

    def stop(self) -> None:
        """End the process, and whatever it draws at the moment."""
        self._stopped.set()
        process = self._process
        if process is not None:
            process.kill()
        with self._turn:
            self._end()

    def _prepare(self) -> None:
        try:
            self.draw(_ANY_CHART, "svg")
        except NotDrawn:  # the log has it, and the next chart starts the process again
            self._expected = False

    def _ask(self, line: bytes) -> bytes:
        try:
            process = self._running()
            if process.stdin is None or process.stdout is None:
                raise OSError("the process has no pipes")
            process.stdin.write(line + b"\n")
            process.stdin.flush()
            answer = _Reader(process.stdout.fileno(), time.monotonic() + self._draw_seconds)
            head = json.loads(answer.line())
            if "error" not in head:
                return answer.take(head["size"])
            reason = head["error"]
        except (OSError, ValueError) as error:  # it has died, or did not answer in time
            self._end()
            reason = type(error).__name__
        if not self._stopped.is_set():
            log.error("chart-not-drawn", error=reason)
        raise NotDrawn("the chart could not be drawn; the server's log says why")

    def _running(self) -> subprocess.Popen[bytes]:
        if self._stopped.is_set():
            raise OSError("the server is stopping")
        if self._process is not None and self._process.poll() is not None:
            self._end()
        if self._process is None:
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", "hushpoll_server.charts.process"],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                bufsize=0,
            )
            if self._stopped.is_set():  # meanwhile, by another thread that saw no process
                self._process.kill()
        return self._process

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait()
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                pipe.close()

    def _keep(self, key: str, picture: bytes) -> None:
        if len(picture) > self._most:
            return
        while self._bytes + len(picture) > self._most:
            oldest = next(iter(self._pictures))
            self._bytes -= len(self._pictures.pop(oldest))
        self._pictures[key] = picture
        self._bytes += len(picture)


class _Reader:
    """Reads a pipe until a moment; raises `OSError` past it or at the end of the pipe."""

    def __init__(self, descriptor: int, deadline: float) -> None:
        self._descriptor = descriptor
        self._deadline = deadline
        self._held = b""

    def line(self) -> bytes:
        while b"\n" not in self._held:
            self._more()
        line, _, self._held = self._held.partition(b"\n")
        return line

    def take(self, size: int) -> bytes:
        while len(self._held) < size:
            self._more()
        taken, self._held = self._held[:size], self._held[size:]
        return taken

    def _more(self) -> None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("no picture in time")
        poll = select.poll()  # select() takes no descriptor from 1,024 on
        poll.register(self._descriptor, select.POLLIN | select.POLLHUP)
        if poll.poll(1000 * left):
            piece = os.read(self._descriptor, 2**16)
            if not piece:
                raise OSError("the process has ended")
            self._held += piece
