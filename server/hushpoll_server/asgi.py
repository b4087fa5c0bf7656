"""The whole server as one ASGI application in one process: for tests and for embedding."""

from __future__ import annotations

import asyncio
import io
import sys
from collections.abc import AsyncIterator, Iterable
from typing import Any
from urllib.parse import unquote_to_bytes

import httpx
from flask import Flask
from werkzeug.test import run_wsgi_app

from hushpoll_server.config.settings import Settings
from hushpoll_server.ingest.application import IngestApplication
from hushpoll_server.services.services import Services
from hushpoll_server.web_application import build


class Whole(IngestApplication):
    """Devices' routes, and the Flask application behind them, on the same services.

    ``hushpoll serve`` runs the same parts in processes of their own. Here inboxes are sealed when
    an analyst asks a question, and not by the clock.
    """

    def __init__(self, settings: Settings, *, testing: bool = False) -> None:
        self.services = Services(settings)
        try:
            self.flask = build(settings, self.services, testing=testing)
            super().__init__(self.services, _InThreads(self.flask))
        except BaseException:
            self.services.stop()
            raise


class _InThreads(httpx.AsyncBaseTransport):
    """Requests to a WSGI application, each on a thread, so that the loop does not wait."""

    def __init__(self, app: Flask) -> None:
        self._app = app

    async def handle_async_request(self, request: httpx.Request) -> httpx.Response:
        environ = _environ(request, await request.aread())
        pieces, status, headers = await asyncio.to_thread(run_wsgi_app, self._app, environ)
        return httpx.Response(
            int(status.partition(" ")[0]), headers=list(headers.items()), stream=_Stream(pieces)
        )


def _environ(request: httpx.Request, body: bytes) -> dict[str, Any]:
    path, _, query = request.url.raw_path.partition(b"?")
    environ: dict[str, Any] = {
        "REQUEST_METHOD": request.method,
        "SCRIPT_NAME": "",
        "PATH_INFO": unquote_to_bytes(path).decode("latin-1"),
        "QUERY_STRING": query.decode("latin-1"),
        "SERVER_NAME": "web",
        "SERVER_PORT": "80",
        "SERVER_PROTOCOL": "HTTP/1.1",
        "wsgi.version": (1, 0),
        "wsgi.url_scheme": "http",
        "wsgi.input": io.BytesIO(body),
        "wsgi.errors": sys.stderr,
        "wsgi.multithread": True,
        "wsgi.multiprocess": False,
        "wsgi.run_once": False,
    }
    for name, value in request.headers.raw:
        key = name.decode("latin-1").upper().replace("-", "_")
        prefix = "" if key in ("CONTENT_TYPE", "CONTENT_LENGTH") else "HTTP_"
        environ[prefix + key] = value.decode("latin-1")
    return environ


class _Stream(httpx.AsyncByteStream):
    def __init__(self, pieces: Iterable[bytes]) -> None:
        self._pieces = pieces

    async def __aiter__(self) -> AsyncIterator[bytes]:
        pieces = iter(self._pieces)
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece

    async def aclose(self) -> None:
        close = getattr(self._pieces, "close", None)
        if close is not None:
            await asyncio.to_thread(close)
