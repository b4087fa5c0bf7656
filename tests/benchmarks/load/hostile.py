"""Connections that cost a server something and bring it nothing."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from urllib.parse import urlsplit

IDLE, IN_HEAD, IN_BODY = 1000, 500, 200
PAUSE_SECONDS = 1.0
HEAD = b"POST /api/v1/surveys/load/reports HTTP/1.1\r\nHost: x\r\nX-Slow: "
WHOLE_HEAD = (
    b"POST /api/v1/surveys/load/reports HTTP/1.1\r\nHost: x\r\n"
    b"Content-Type: application/json\r\nContent-Length: 100000\r\n\r\n"
)


@contextmanager
def held(url: str) -> Iterator[None]:
    """Hold 1,000 idle connections, 500 with a head and 200 with a body, a byte at a time."""
    loop = asyncio.new_event_loop()
    ready = threading.Event()
    thread = threading.Thread(target=loop.run_until_complete, args=(_hold(url, ready),))
    thread.start()
    ready.wait(120)
    try:
        yield
    finally:
        loop.call_soon_threadsafe(lambda: [task.cancel() for task in asyncio.all_tasks(loop)])
        thread.join()
        loop.close()


async def _hold(url: str, ready: threading.Event) -> None:
    host, port = urlsplit(url).hostname or "127.0.0.1", urlsplit(url).port or 80
    starts = [b""] * IDLE + [HEAD] * IN_HEAD + [WHOLE_HEAD] * IN_BODY
    tasks = [asyncio.create_task(_one(host, port, start)) for start in starts]
    await asyncio.sleep(3)
    ready.set()
    with suppress(asyncio.CancelledError):
        await asyncio.gather(*tasks, return_exceptions=True)


async def _one(host: str, port: int, start: bytes) -> None:
    while True:  # a client that is sent away comes again
        try:
            reader, writer = await asyncio.open_connection(host, port)
        except OSError:
            await asyncio.sleep(PAUSE_SECONDS)
            continue
        try:
            writer.write(start)
            while not reader.at_eof():
                await asyncio.sleep(PAUSE_SECONDS)
                if start:
                    writer.write(b"1")
                    await writer.drain()
        except OSError:
            pass
        finally:
            writer.close()
