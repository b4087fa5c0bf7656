"""Offers reports by the clock, whatever becomes of them, at a rate that no server slows down.

wrk sends a request once the one before was answered, so it cannot offer much more than is taken.
Here each report has its moment. At that moment it is sent over a connection on which nothing waits;
if there is none, it is not sent, and is counted. That is what 2,000 devices do that wait for their
answers while more and more people want to send: no connection has two requests at a time.

Run as a program, so that it has a process and a processor of its own: reads ``Offer`` as JSON,
prints ``Answers`` as JSON.
"""

from __future__ import annotations

import asyncio
import base64
import json
import os
import re
import subprocess
import sys
from collections import deque
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import cast
from urllib.parse import urlsplit

import numpy as np
import uvloop

TESTS = Path(__file__).parents[2]
TICK_SECONDS = 0.001
# For what is unanswered at the end.
DRAIN_SECONDS = 30.0
OPENED_AT_A_TIME = 100
ADDRESSES = 4096
LENGTH = re.compile(rb"\r\ncontent-length: *(\d+)", re.IGNORECASE)
RETRY_AFTER = b"retry-after:"
TAKEN = (200, 201)


@dataclass(frozen=True)
class Offer:
    """What is offered.

    Attributes
    ----------
    rate : float
        Reports a second.
    path, digest, record : str
        The route's path, the survey's digest and a record in base64url.
    """

    url: str
    path: str
    digest: str
    record: str
    rate: float
    seconds: float
    connections: int


@dataclass
class Answers:
    """What became of the reports.

    Attributes
    ----------
    scheduled, sent, unsent : int
        Reports whose moment came; those that were sent; those that found every connection waiting.
    statuses : dict
        Answers by status, those after the end included.
    in_time : int
        Reports that were acknowledged before the end.
    without_retry_after : int
        Refusals that did not say when to come again.
    lost : int
        Requests that have got no answer.
    seconds : float
        From the first report's moment to the last one's.
    p50_ms, p99_ms : float
        From a report's moment to its acknowledgement, of those acknowledged.
    latest_ms : float
        How late the generator itself ever was.
    """

    scheduled: int = 0
    sent: int = 0
    unsent: int = 0
    statuses: dict[int, int] = field(default_factory=dict)
    in_time: int = 0
    without_retry_after: int = 0
    lost: int = 0
    seconds: float = 0.0
    p50_ms: float = 0.0
    p99_ms: float = 0.0
    latest_ms: float = 0.0

    @property
    def accepted(self) -> int:
        """Reports that were acknowledged as new."""
        return self.statuses.get(201, 0)

    @property
    def taken(self) -> int:
        """Reports that were acknowledged."""
        return sum(self.statuses.get(status, 0) for status in TAKEN)

    @property
    def refused(self) -> int:
        """Answers that are no acknowledgement."""
        return sum(self.statuses.values()) - self.taken


def offer(what: Offer) -> Answers:
    """Run the generator as a process of its own."""
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.load.open_loop"],
        cwd=TESTS,
        input=json.dumps(asdict(what)),
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    document = json.loads(done.stdout)
    statuses = {int(status): count for status, count in document.pop("statuses").items()}
    return Answers(statuses=statuses, **document)


class _Run:
    def __init__(self, what: Offer) -> None:
        self.what = what
        self.answers = Answers()
        self.free: deque[_Connection] = deque()
        self.waiting = 0
        self.latencies: list[float] = []
        self.ended = False
        self._requests = _requests(what)
        parts = urlsplit(what.url)
        self._address = parts.hostname or "127.0.0.1", parts.port or 80
        self._opening: set[asyncio.Task[None]] = set()

    async def run(self) -> Answers:
        loop = asyncio.get_running_loop()
        while missing := self.what.connections - len(self.free):
            await asyncio.gather(*(self._open() for _ in range(min(OPENED_AT_A_TIME, missing))))
        await self._send()
        self.ended = True
        end = loop.time() + DRAIN_SECONDS
        while self.waiting and loop.time() < end:
            await asyncio.sleep(0.01)
        self.answers.lost += self.waiting
        if self.latencies:
            p50, p99 = np.percentile(self.latencies, [50, 99])
            self.answers.p50_ms, self.answers.p99_ms = 1000 * float(p50), 1000 * float(p99)
        return self.answers

    async def _open(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            try:
                await loop.create_connection(lambda: _Connection(self), *self._address)
            except OSError:
                await asyncio.sleep(0.1)
            else:
                return

    async def _send(self) -> None:
        loop, answers, rate = asyncio.get_running_loop(), self.answers, self.what.rate
        began = loop.time()
        total = round(rate * self.what.seconds)
        while answers.scheduled < total:
            now = loop.time()
            due = min(total, int((now - began) * rate))
            late = now - began - answers.scheduled / rate
            answers.latest_ms = max(answers.latest_ms, 1000 * late)
            while answers.scheduled < due and self.free:
                moment = began + answers.scheduled / rate
                answers.scheduled += 1
                self.free.popleft().send(next(self._requests), moment)
                answers.sent += 1
                self.waiting += 1
            answers.unsent += due - answers.scheduled
            answers.scheduled = due
            await asyncio.sleep(TICK_SECONDS)
        answers.seconds = loop.time() - began

    def answered(self, connection: _Connection, status: int, head: bytes, moment: float) -> None:
        answers = self.answers
        self.waiting -= 1
        answers.statuses[status] = answers.statuses.get(status, 0) + 1
        if status in TAKEN:
            answers.in_time += not self.ended
            self.latencies.append(connection.loop.time() - moment)
        elif RETRY_AFTER not in head.lower():
            answers.without_retry_after += 1
        self.free.append(connection)

    def closed(self, connection: _Connection, *, waits: bool) -> None:
        """Count the request on a connection that was closed, and open another one."""
        if waits:
            self.waiting -= 1
            self.answers.lost += 1
        elif connection in self.free:
            self.free.remove(connection)
        if not self.ended:
            task = connection.loop.create_task(self._open())
            self._opening.add(task)
            task.add_done_callback(self._opening.discard)


class _Connection(asyncio.Protocol):
    def __init__(self, run: _Run) -> None:
        self.loop = asyncio.get_running_loop()
        self._run = run
        self._transport: asyncio.Transport
        self._arrived = b""
        self._moment: float | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast("asyncio.Transport", transport)  # of a stream
        self._run.free.append(self)

    def send(self, request: bytes, moment: float) -> None:
        self._moment = moment
        self._transport.write(request)

    def data_received(self, data: bytes) -> None:
        self._arrived += data
        end = self._arrived.find(b"\r\n\r\n")
        if end < 0:
            return
        head = self._arrived[: end + 2]
        length = LENGTH.search(head)
        assert length is not None, head
        if len(self._arrived) < end + 4 + int(length[1]):
            return
        assert self._moment is not None, head
        moment, self._moment, self._arrived = self._moment, None, b""
        self._run.answered(self, int(head[9:12]), head, moment)

    def connection_lost(self, error: Exception | None) -> None:
        self._run.closed(self, waits=self._moment is not None)


def _requests(what: Offer) -> Iterator[bytes]:
    """Yield requests with new ids, of addresses behind a proxy; all but the id is made before."""
    before = f'{{"digest":"{what.digest}","id":"'.encode()
    after = f'","record":"{what.record}"}}'.encode()
    length = len(before) + 22 + len(after)
    heads = [
        (
            f"POST {what.path} HTTP/1.1\r\nHost: {urlsplit(what.url).netloc}\r\n"
            f"X-Forwarded-For: 10.1.{number // 256}.{number % 256}\r\n"
            f"Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        ).encode()
        + before
        for number in range(ADDRESSES)
    ]
    while True:
        for start in heads:
            yield start + base64.urlsafe_b64encode(os.urandom(16))[:22] + after


def main() -> None:
    what = Offer(**json.load(sys.stdin))
    answers = uvloop.run(_Run(what).run())
    print(json.dumps(asdict(answers)))


if __name__ == "__main__":
    main()
