"""Connections that cost a server something and bring it nothing: idle, slow heads, slow bodies."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from urllib.parse import urlsplit

import uvloop

from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE, REPORTS_MEDIA_TYPE

PATH = "/api/v1/surveys/load/reports"
CONNECTED_SECONDS = 60.0
# Connections that are opened at a time, so that the accept queue of any server has room for them.
OPENED_AT_A_TIME = 100


@dataclass(frozen=True)
class Shape:
    """So many connections that behave alike; one that is closed comes again.

    Attributes
    ----------
    start : bytes
        What is sent at once.
    piece : bytes
        What is sent then, after each pause; nothing if empty.
    pause : float
        Seconds.
    most : int
        Bytes of pieces until the connection is closed, and comes again.
    """

    name: str
    number: int
    start: bytes
    piece: bytes = b""
    pause: float = 1.0
    most: int = 2**62


def head(*headers: str, media_type: str = JSON_MEDIA_TYPE) -> bytes:
    """Return the head of a report's request, with no token."""
    lines = (f"POST {PATH} HTTP/1.1", "Host: x", f"Content-Type: {media_type}", *headers)
    return "\r\n".join([*lines, "", ""]).encode()


CLIENTS = (
    Shape("1,000 idle connections", 1000, b""),
    Shape(
        "500 heads byte by byte", 500, f"POST {PATH} HTTP/1.1\r\nHost: x\r\nX-Slow: ".encode(), b"1"
    ),
    Shape("200 bodies byte by byte", 200, head("Content-Length: 100000"), b"1"),
)
BODIES = (
    Shape("500 bodies at a byte a second", 500, head("Content-Length: 100000"), b" "),
    # 65,536 a second is the least that is not too slow.
    Shape("64 bodies at 68 kB/s", 64, head("Content-Length: 1000000"), b" " * 6800, 0.1, 1_000_000),
    Shape("400 bodies of 200 kB at 3 kB/s", 400, head("Content-Length: 200000"), b" " * 3000),
    Shape(
        "400 batches of 200 kB at 3 kB/s",
        400,
        head("Content-Length: 200000", media_type=REPORTS_MEDIA_TYPE),
        b" " * 3000,
    ),
    Shape("500 chunked bodies", 500, head("Transfer-Encoding: chunked"), b"1\r\n \r\n"),
    Shape(
        "500 silent after Expect: 100-continue",
        500,
        head("Content-Length: 100000", "Expect: 100-continue"),
    ),
)


def smaller(shape: Shape, number: int) -> Shape:
    """Return the shape with another number of connections."""
    return replace(shape, number=number)


class Crowd:
    """Holds the connections of some shapes.

    Attributes
    ----------
    wanted : int
        Connections.
    connected : int
        Of them, those that are open now.
    refused : int
        Connections that got an answer, or were closed by the server.
    """

    def __init__(self, url: str, shapes: Sequence[Shape]) -> None:
        parts = urlsplit(url)
        self._address = parts.hostname or "127.0.0.1", parts.port or 80
        self._shapes = shapes
        self._opening = asyncio.Semaphore(OPENED_AT_A_TIME)
        self.wanted = sum(shape.number for shape in shapes)
        self.connected = self.refused = 0

    async def hold(self, ready: threading.Event) -> None:
        """Hold them until the task is cancelled; set `ready` once all were connected."""
        tasks = [
            asyncio.create_task(self._one(shape))
            for shape in self._shapes
            for _ in range(shape.number)
        ]
        try:
            while self.connected < self.wanted and not ready.is_set():
                await asyncio.sleep(0.05)
            ready.set()
            await asyncio.gather(*tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)

    async def _one(self, shape: Shape) -> None:
        loop = asyncio.get_running_loop()
        while True:  # a client that is sent away comes again
            try:
                async with self._opening:
                    transport, connection = await loop.create_connection(
                        lambda: _Held(self), *self._address
                    )
            except OSError:
                await asyncio.sleep(1)
                continue
            self.connected += 1
            try:
                await self._keep(shape, transport, connection)
            finally:
                self.connected -= 1
                transport.abort()

    async def _keep(self, shape: Shape, transport: asyncio.Transport, connection: _Held) -> None:
        transport.write(shape.start)
        sent = 0
        # Not all at one moment.
        await asyncio.sleep(shape.pause * random.random())
        # A client that is refused goes on sending all the same, until it is closed or done.
        while not connection.lost and sent < shape.most:
            if shape.piece and transport.get_write_buffer_size() == 0:
                transport.write(shape.piece)
                sent += len(shape.piece)
            await asyncio.sleep(shape.pause)


class _Held(asyncio.Protocol):
    def __init__(self, crowd: Crowd) -> None:
        self._crowd = crowd
        self._counted = self.lost = False

    def data_received(self, data: bytes) -> None:
        if not data.startswith(b"HTTP/1.1 100"):
            self._count()

    def connection_lost(self, error: Exception | None) -> None:
        self.lost = True
        self._count()

    def _count(self) -> None:
        self._crowd.refused += not self._counted
        self._counted = True


@contextmanager
def held(url: str, shapes: Sequence[Shape]) -> Iterator[Crowd]:
    """Hold the connections of some shapes, all of which are connected once at the beginning."""
    crowd = Crowd(url, shapes)
    ready = threading.Event()
    loop = uvloop.new_event_loop()
    holding = loop.create_task(crowd.hold(ready))
    thread = threading.Thread(target=_run, args=(loop, holding))
    thread.start()
    try:
        assert ready.wait(CONNECTED_SECONDS), (
            f"{crowd.connected} of {crowd.wanted} slow clients could connect"
        )
        yield crowd
    finally:
        ready.set()
        loop.call_soon_threadsafe(holding.cancel)
        thread.join()
        loop.close()


def _run(loop: asyncio.AbstractEventLoop, holding: asyncio.Task[None]) -> None:
    with suppress(asyncio.CancelledError):
        loop.run_until_complete(holding)
