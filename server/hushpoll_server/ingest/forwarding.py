"""Forwarding of requests that are not a device's to the web process, over a local socket."""

from __future__ import annotations

import asyncio
import time
from typing import Final, cast

import httpx

from hushpoll_server.answering import CLIENT_HEADER, REFUSED_BODY_HEADER
from hushpoll_server.config.settings import Settings
from hushpoll_server.errors import Refused
from hushpoll_server.ingest.group_commit import unavailable
from hushpoll_server.ingest.requests import Bodies, Request, Send
from hushpoll_shared.wire.paths import API_PREFIX

# For an answer's head: a cross-table over millions of records takes seconds.
ANSWER_SECONDS: Final = 300.0
CONNECT_SECONDS: Final = 5.0
# For a trivial answer of the web process, unless it is away or overloaded.
ALIVE_SECONDS: Final = 1.0
# Until the web process has loaded what it needs; far more than any machine takes.
START_SECONDS: Final = 120.0

# They concern one connection (RFC 9110, section 7.6.1), or each server that answers writes them.
_NOT_FORWARDED: Final = frozenset(
    {
        b"connection", b"content-length", b"expect", b"keep-alive", b"proxy-authenticate",
        b"proxy-authorization", b"proxy-connection", b"te", b"trailer", b"transfer-encoding",
        b"upgrade",
    }
)  # fmt: skip
# The web process learns no address, not even from a proxy: rates are limited here.
_OF_PROXIES: Final = (b"x-forwarded-", b"forwarded", b"x-real-ip", b"x-hushpoll-")
_NOT_RETURNED: Final = frozenset({b"connection", b"date", b"keep-alive", b"server", b"trailer"})


def share_of_web(settings: Settings) -> int:
    """Return how many requests one ingest process may have under way in the web process.

    All ingest processes together send no more than the web process works on at a time.
    """
    return max(1, (settings.threads + settings.queue_requests) // settings.workers)


class BrokenOff(Exception):  # it is an outcome: the head was sent, so nothing can be answered
    """An answer ended half way; the text is the type of the error."""


class Forwarding:
    """Forwards at most `most` requests at a time to another server, and returns its answers.

    Bodies have at most `max_body_bytes` bytes, and `bodies` counts those that are held.
    """

    def __init__(
        self,
        transport: httpx.AsyncBaseTransport,
        *,
        most: int,
        max_body_bytes: int,
        bodies: Bodies,
    ) -> None:
        self._transport = transport
        self._most = most
        self._max_body_bytes = max_body_bytes
        self._bodies = bodies
        self._under_way = 0
        self._since = time.monotonic()
        self._has_answered = False

    async def open(self, request: Request, *, client: str | None = None) -> httpx.Response:
        """Return the answer's head; its body is streamed by `send_body`.

        `client` is a keyed hash of the address of a client that signs in. A request that cannot be
        forwarded, or not now, is refused; `Disconnected` says that the client has gone.
        """
        # A request counts once it has arrived: slow clients do not keep others waiting.
        body = await request.body(self._max_body_bytes, self._bodies)
        if self._under_way >= self._most:
            raise unavailable(f"{self._under_way} requests wait already")
        self._under_way += 1
        try:
            forwarded = httpx.Request(
                request.method, _url(request), headers=_forwarded_headers(request),
                content=body or None, extensions=_EXTENSIONS,
            )  # fmt: skip
            if client is not None:
                forwarded.headers[CLIENT_HEADER] = client
            if body == b"" and (
                b"content-length" in request.head or b"transfer-encoding" in request.head
            ):
                forwarded.headers["Content-Length"] = "0"
            return await self._transport.handle_async_request(forwarded)
        except httpx.LocalProtocolError as error:
            # Nothing was sent: the request itself has a form that HTTP does not have.
            raise _malformed(
                "its method, its target or a header has a character that none has"
            ) from error
        except httpx.HTTPError as error:
            raise unavailable("the part of the server that answers this is away") from error
        finally:
            self._under_way -= 1

    async def page_for_refused_body(self, request: Request) -> httpx.Response:
        """Return the page with which the web process answers a form that is too large, whole."""
        asked = httpx.Request(
            request.method, _url(request), headers=_forwarded_headers(request),
            extensions=_EXTENSIONS,
        )  # fmt: skip
        asked.headers[REFUSED_BODY_HEADER] = "too large"
        asked.headers["Content-Length"] = "0"
        answer = await self._transport.handle_async_request(asked)
        await answer.aread()
        return answer

    async def send_body(self, request: Request, answer: httpx.Response, send: Send) -> None:
        """Send the body of an answer whose head was sent, as long as its client is there.

        `BrokenOff` says that the other server ended it half way.
        """
        self._under_way += 1
        try:
            # Of an asynchronous transport.
            async for piece in cast("httpx.AsyncByteStream", answer.stream):
                await send({"type": "http.response.body", "body": piece, "more_body": True})
                if request.gone:
                    return
        except httpx.HTTPError as error:
            raise BrokenOff(type(error).__name__) from error
        finally:
            self._under_way -= 1
            await answer.aclose()
        await send({"type": "http.response.body", "body": b""})

    async def state(self) -> str:
        """Return whether the other server answers: ``ok``, ``starting`` or ``away``.

        It starts as long as it has not answered once, for at most `START_SECONDS`.
        """
        if await self._alive():
            self._has_answered = True
            return "ok"
        starts = time.monotonic() - self._since < START_SECONDS
        return "starting" if starts and not self._has_answered else "away"

    async def _alive(self) -> bool:
        """Return whether the other server answers within a second."""
        # Flask answers this by itself, without a token and without the database.
        asked = httpx.Request("OPTIONS", f"http://web{API_PREFIX}/surveys", extensions=_EXTENSIONS)
        try:
            async with asyncio.timeout(ALIVE_SECONDS):
                answer = await self._transport.handle_async_request(asked)
                await answer.aread()
        except (TimeoutError, httpx.HTTPError):
            return False
        return answer.status_code < 500

    async def close(self) -> None:
        """Close every connection."""
        await self._transport.aclose()


def returned_headers(answer: httpx.Response) -> list[tuple[bytes, bytes]]:
    """Return the headers of an answer that its client gets."""
    return [
        (name, value)
        for name, value in answer.headers.raw
        if name.lower() not in _NOT_RETURNED and name.lower() != b"transfer-encoding"
    ]


_EXTENSIONS: Final = {
    "timeout": {
        "connect": CONNECT_SECONDS, "read": ANSWER_SECONDS, "write": CONNECT_SECONDS,
        "pool": CONNECT_SECONDS,
    }
}  # fmt: skip


def _url(request: Request) -> httpx.URL:
    raw: bytes = request.scope.get("raw_path") or request.path.encode()
    query: bytes = request.scope.get("query_string", b"")
    parts = raw.lower().replace(b"%2e", b".").split(b"/")
    if b"." in parts or b".." in parts or b"" in parts[1:-1]:
        # The web process would resolve it to another path than the limited one.
        raise Refused("not-found", "nothing is at this address")
    try:
        return httpx.URL(scheme="http", host="web", raw_path=raw + (b"?" + query if query else b""))
    except (httpx.InvalidURL, UnicodeError) as error:
        raise _malformed("its target has a character that none has") from error


def _forwarded_headers(request: Request) -> list[tuple[bytes, bytes]]:
    """Return the headers that the web process gets.

    A name with an underscore is dropped: a WSGI server takes it for the same with a dash. Blanks
    round a value are no part of it (RFC 9110, section 5.5).
    """
    listed = request.head.get(b"connection", b"").split(b",")
    named = {name.strip().lower() for name in listed if name}
    return [
        (name, value.strip(b" \t"))
        for name, value in request.scope["headers"]
        if name not in _NOT_FORWARDED
        and b"_" not in name
        and name not in named
        and not name.startswith(_OF_PROXIES)
    ]


def _malformed(why: str) -> Refused:
    return Refused("malformed-request", f"the server cannot read the request: {why}")
