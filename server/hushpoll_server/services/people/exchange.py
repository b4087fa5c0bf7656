"""Requests to a provider that end by a deadline, and answers that are small, flat JSON.

Authlib's client is one of requests, whose time limit is of each piece that arrives: a server that
sends a byte every few seconds holds it for ever, in the head as in the body, and an answer is read
to its end however long it is. Here httpx does the exchange, under one deadline for all of it.
"""

from __future__ import annotations

import asyncio
import ssl
import time
from collections.abc import Coroutine
from io import BytesIO
from pathlib import Path
from typing import Any, Final, TypeVar

import httpx
import requests
from requests.adapters import BaseAdapter
from requests.utils import DEFAULT_CA_BUNDLE_PATH, select_proxy

# One answer has at most so many. The keys of large providers have some 30 kB.
ANSWER_BYTES: Final = 2**19
# The JSON in an answer is nested no deeper.
DEEPEST: Final = 32
# They concern a connection, or the library that sends writes them.
_NOT_SENT: Final = frozenset({"accept-encoding", "connection", "content-length", "host"})

_Result = TypeVar("_Result")


class BoundedAdapter(BaseAdapter):
    """Sends the requests of one session of the library requests.

    `each` and `together` are the seconds within which an answer has arrived as a whole, and within
    which all of the session have.
    """

    def __init__(self, *, each: float, together: float) -> None:
        super().__init__()
        self._each = each
        self._due = time.monotonic() + together

    def send(  # type: ignore[override]  # the library passes all of these by name
        self, request: requests.PreparedRequest, **options: Any
    ) -> requests.Response:
        """Return the answer, read as a whole; raise where it is late or above `ANSWER_BYTES`."""
        seconds = min(self._each, self._due - time.monotonic())
        proxy = select_proxy(request.url or "", options.get("proxies") or {})
        try:
            status, headers, body = _ended(
                _exchanged(request, seconds, httpx.AsyncHTTPTransport(
                    verify=_trust(options.get("verify", True)), proxy=proxy, trust_env=False
                ))
            )  # fmt: skip
        except (httpx.HTTPError, httpx.InvalidURL, TimeoutError, OSError) as error:
            raise requests.ConnectionError(type(error).__name__, request=request) from error
        answer = requests.Response()
        answer.status_code, answer.raw, answer.encoding = status, BytesIO(body), "utf-8"
        answer.headers.update(headers)
        answer.url, answer.request = request.url or "", request
        return answer

    def close(self) -> None:
        """Do nothing: each exchange has a connection of its own."""


def check_depth(body: bytes) -> None:
    """Refuse JSON that is nested deeper than `DEEPEST`, without parsing it; raises ValueError."""
    depth, text = 0, False
    escaped = False
    for byte in body:
        if text:
            if escaped:
                escaped = False
            elif byte == 0x5C:  # a backslash
                escaped = True
            elif byte == 0x22:  # a quotation mark
                text = False
        elif byte == 0x22:
            text = True
        elif byte in b"[{":
            depth += 1
            if depth > DEEPEST:
                raise ValueError(f"JSON nested deeper than {DEEPEST}")
        elif byte in b"]}":
            depth -= 1


async def _exchanged(
    request: requests.PreparedRequest, seconds: float, transport: httpx.AsyncHTTPTransport
) -> tuple[int, list[tuple[str, str]], bytes]:
    body = request.body or b""
    sent = httpx.Request(
        request.method or "GET",
        request.url or "",
        headers=[
            *((name, value) for name, value in request.headers.items()
              if name.lower() not in _NOT_SENT),
            ("Accept-Encoding", "identity"),
        ],
        content=body.encode() if isinstance(body, str) else body,
    )  # fmt: skip
    async with asyncio.timeout(seconds), transport:
        answer = await transport.handle_async_request(sent)
        if answer.headers.get("Content-Encoding", "identity") != "identity":
            raise httpx.DecodingError("the answer is compressed, which was not asked for")
        pieces = bytearray()
        try:
            async for piece in answer.aiter_raw():
                pieces += piece
                if len(pieces) > ANSWER_BYTES:
                    raise httpx.ReadError(f"the answer has more than {ANSWER_BYTES} bytes")
        finally:
            await answer.aclose()
    return answer.status_code, list(answer.headers.multi_items()), bytes(pieces)


def _ended(work: Coroutine[Any, Any, _Result]) -> _Result:
    """Run a coroutine on a loop of its own, and wait for no thread that still looks up a name."""
    loop = asyncio.new_event_loop()
    try:
        return loop.run_until_complete(work)
    finally:
        loop.run_until_complete(loop.shutdown_asyncgens())
        loop.close()


def _trust(verify: bool | str) -> ssl.SSLContext:
    """Return whose certificates are believed, as requests understands it; never nobody's."""
    authorities = Path(DEFAULT_CA_BUNDLE_PATH if verify in (True, False) else str(verify))
    if authorities.is_dir():
        return ssl.create_default_context(capath=authorities)
    return ssl.create_default_context(cafile=authorities)
