"""Werkzeug's test client for an ASGI application, which runs on a loop of its own thread."""

from __future__ import annotations

import asyncio
import threading
from http import HTTPStatus
from typing import Any

from werkzeug.test import Client, TestResponse

from waiting import LONGEST_SECONDS


class LoopThread:
    """An event loop on a thread, for everything that the tests of a session ask of it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever, name="test-loop", daemon=True)
        self._thread.start()

    def run(self, work: Any) -> Any:
        return asyncio.run_coroutine_threadsafe(work, self.loop).result(LONGEST_SECONDS)

    def stop(self) -> None:
        self.run(self.loop.shutdown_default_executor())
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(LONGEST_SECONDS)
        self.loop.close()


class AsgiClient(Client):
    """A client whose requests are answered whole.

    ``environ_overrides={"REMOTE_ADDR": ...}`` is the address of the connection.
    """

    def __init__(self, app: Any, loop: LoopThread) -> None:
        super().__init__(self._answer, TestResponse)
        self._asgi = app
        self._loop = loop

    def _answer(self, environ: dict[str, Any], start_response: Any) -> Any:
        status, headers, body = self._loop.run(_asked(self._asgi, environ))
        start_response(f"{status} {HTTPStatus(status).phrase}", headers)
        return [body]


async def _asked(app: Any, environ: dict[str, Any]) -> tuple[int, list[tuple[str, str]], bytes]:
    raw = environ["REQUEST_URI"].partition("?")[0].encode("latin-1")
    length = environ.get("CONTENT_LENGTH")
    body = environ["wsgi.input"].read(int(length)) if length else b""
    headers = [
        (name.removeprefix("HTTP_").replace("_", "-").lower().encode(), value.encode("latin-1"))
        for name, value in environ.items()
        if name.startswith("HTTP_") or (name in ("CONTENT_TYPE", "CONTENT_LENGTH") and value)
    ]
    scope = {
        "type": "http",
        "http_version": "1.1",
        "method": environ["REQUEST_METHOD"],
        "path": environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace"),
        "raw_path": raw,
        "query_string": environ["QUERY_STRING"].encode("latin-1"),
        "headers": headers,
        "client": (environ.get("REMOTE_ADDR", "127.0.0.1"), 5000),
        "server": ("localhost", 80),
    }
    sent: list[Any] = []
    pieces = [body[start : start + 65_536] for start in range(0, len(body), 65_536)] or [b""]

    async def receive() -> dict[str, Any]:
        if not pieces:
            return {"type": "http.disconnect"}
        piece = pieces.pop(0)
        return {"type": "http.request", "body": piece, "more_body": bool(pieces)}

    async def send(message: Any) -> None:
        sent.append(message)

    await app(scope, receive, send)
    start, *bodies = sent
    content = b"" if environ["REQUEST_METHOD"] == "HEAD" else b"".join(
        one.get("body", b"") for one in bodies
    )  # fmt: skip
    given = [(name.decode("latin-1"), value.decode("latin-1")) for name, value in start["headers"]]
    return start["status"], given, content
