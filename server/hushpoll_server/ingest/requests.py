"""One request: its head, and its body within limits of bytes and of time."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Awaitable, Callable, Generator, Iterator, MutableMapping
from ipaddress import IPv4Address, IPv6Address, ip_address
from itertools import chain
from typing import Any, Final

from hushpoll_server.answering import coding_of, too_large
from hushpoll_server.errors import Refused
from hushpoll_server.ingest.group_commit import unavailable

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

# A body may take longer than its head, at this many bytes a second or faster.
BYTES_PER_SECOND: Final = 65_536
# A body up to this is held without being counted, so that small reports are never refused because
# large bodies fill the memory that those have together.
SMALL_BYTES: Final = 16_384
HELD_BYTES: Final = 256 * 2**20
HEAD_BYTES: Final = 65_536
MOST_HEADERS: Final = 100
ID_BYTES: Final = 8
IDS_DRAWN: Final = 256
# The rest of a refused body is read and thrown away up to this, so that its client sees the answer.
DRAINED_BYTES: Final = 64 * 2**20

# Headers that a proxy and this server could read differently if they came twice.
_ONCE: Final = frozenset(
    {
        b"authorization", b"content-encoding", b"content-length", b"content-type", b"expect",
        b"host", b"if-none-match", b"origin", b"transfer-encoding",
    }
)  # fmt: skip


def _ids() -> Iterator[str]:
    """Yield ids that nobody can guess; a call of the system gives random bytes for many."""
    while True:
        drawn = os.urandom(ID_BYTES * IDS_DRAWN).hex()
        for start in range(0, len(drawn), 2 * ID_BYTES):
            yield drawn[start : start + 2 * ID_BYTES]


_IDS: Final = _ids()


class Disconnected(Exception):  # it is an outcome: there is no client left to answer
    """The client has gone."""


class Request:
    """A request as ASGI gives it; its body may take `seconds`, and more for each 64 KiB of it."""

    __slots__ = (
        "_receive", "_seconds", "complete", "connection", "head", "held", "id", "method", "path",
        "received", "scope",
    )  # fmt: skip

    def __init__(self, scope: Scope, receive: Receive, seconds: float) -> None:
        self.scope = scope
        # Never taken from the request: an id chosen by the sender could identify them in the log.
        self.id = next(_IDS)
        self.method: str = scope["method"]
        self.path: str = scope["path"]
        self.head: dict[bytes, bytes] = dict(scope["headers"])
        self._receive = receive
        self._seconds = seconds
        self.connection: Any = scope.get("state", {}).get("connection")
        # Whether the whole body has arrived; its bytes that have; its bytes counted as held.
        self.complete = b"content-length" not in self.head and b"transfer-encoding" not in self.head
        self.received = 0
        self.held = 0

    def header(self, name: bytes) -> str | None:
        """Return a header's value, by its name in lower case."""
        value = self.head.get(name)
        return None if value is None else value.decode("latin-1")

    @property
    def gone(self) -> bool:
        """Whether the client's connection is known to have ended."""
        return self.connection is not None and bool(self.connection.ended)

    async def end(self) -> None:
        """End the connection where it is, and wait until it has ended."""
        if self.connection is not None:
            self.connection.close()
            # uvicorn does not tell it of a request with others behind it.
            await self.connection.lost.wait()

    @property
    def media_type(self) -> str:
        """The body's media type without parameters, in lower case; empty without one."""
        return (self.header(b"content-type") or "").partition(";")[0].strip().lower()

    @property
    def coding(self) -> str | None:
        """The body's content coding, None if the body is as it is; refuses an unknown one."""
        value = self.header(b"content-encoding")
        return None if value is None else coding_of(value)

    @property
    def length(self) -> int | None:
        """The body's length, where the head says it."""
        value = self.head.get(b"content-length")
        return None if value is None else int(value)

    def check(self) -> None:
        """Refuse a head that two readers would read differently: ``malformed-request``."""
        if self.scope["http_version"] not in ("1.1", "1.0"):
            raise _malformed("the request is of another version than HTTP/1.1")
        headers = self.scope["headers"]
        size = len(self.scope.get("raw_path", b"")) + len(self.scope.get("query_string", b""))
        # a colon, a blank and a line's end besides name and value
        size += sum(map(len, chain.from_iterable(headers))) + 4 * len(headers)
        if len(headers) > MOST_HEADERS or size > HEAD_BYTES:
            raise _malformed(f"its head has more than {MOST_HEADERS} headers or {HEAD_BYTES} bytes")
        if len(self.head) == len(headers):
            return
        seen = set()
        for name, _ in headers:
            if name in seen and name in _ONCE:
                raise _malformed(f"the request has the header {name.decode('latin-1')} twice")
            seen.add(name)

    async def body(self, most: int, bodies: Bodies) -> bytes:
        """Return the body, as it was sent, once it has arrived as a whole.

        Refused are more than `most` bytes, a body that takes too long or ends before its length,
        and one for which other large bodies leave no memory. `Disconnected` says that the client
        has gone.
        """
        length = self.length
        if length is not None and length > most:
            raise too_large(most)
        pieces: list[bytes] = []
        complete = self.complete
        while not complete:
            piece, complete = await self._next()
            pieces.append(piece)
            if self.received > most:
                raise too_large(most)
            bodies.hold(self)
        return pieces[0] if len(pieces) == 1 else b"".join(pieces)

    async def drain(self) -> None:
        """Read the rest of the body and throw it away, within its limits."""
        try:
            while not self.complete and self.received <= DRAINED_BYTES:
                await self._next()
        except (Refused, Disconnected):
            pass

    @property
    def drains(self) -> bool:
        """Whether the rest of the body is short enough to be thrown away on a kept connection."""
        return self.complete or (
            b"expect" not in self.head and (self.length or DRAINED_BYTES + 1) <= DRAINED_BYTES
        )

    async def _next(self) -> tuple[bytes, bool]:
        """Return the next piece of the body, by its time, and whether it is the last."""
        receiving = self._receive().__await__()
        try:
            first = next(receiving)
        except StopIteration as received:  # nearly always: a timeout would take longer than all
            message = received.value
        else:
            message = await self._in_time(_Waiting(first, receiving))
        if message["type"] != "http.request":
            raise Disconnected
        piece: bytes = message.get("body", b"")
        self.received += len(piece)
        self.complete = not message.get("more_body", False)
        return piece, self.complete

    async def _in_time(self, waiting: Awaitable[Message]) -> Message:
        """Return a message that has not arrived yet; refuse the request if it comes too late."""
        loop = asyncio.get_running_loop()
        connection = self.connection
        began = loop.time() if connection is None else connection.began
        due = began + self._seconds + self.received / BYTES_PER_SECOND
        try:
            async with asyncio.timeout_at(due) as timeout:
                if connection is not None:
                    connection.reading = timeout
                    if connection.at_end:
                        timeout.reschedule(loop.time())
                return await waiting
        except TimeoutError:
            if connection is not None and connection.at_end:
                raise _malformed(
                    f"the body ended after {self.received} of {self.length} bytes; send it "
                    "again, whole"
                ) from None
            raise Refused(
                "request-timeout",
                f"the request did not arrive within {self._seconds:g} s, or at less than "
                f"{BYTES_PER_SECOND} bytes a second",
            ) from None
        finally:
            if connection is not None:
                connection.reading = None


class _Waiting:
    """An awaitable whose first step was taken, and that waits for `first` since."""

    def __init__(self, first: Any, rest: Generator[Any, Any, Message]) -> None:
        self._first = first
        self._rest = rest

    def __await__(self) -> Generator[Any, Any, Message]:
        try:
            yield self._first
        except BaseException as error:
            self._rest.throw(error)  # its wait ends as this one does
            raise
        return (yield from self._rest)


class Bodies:
    """Counts the bytes of large bodies, at most `most`, that all requests hold in memory."""

    def __init__(self, most: int = HELD_BYTES) -> None:
        self._most = most
        self._held = 0

    def hold(self, request: Request) -> None:
        """Count the bytes of a body that have arrived; refuse it where there is no room."""
        if request.received <= SMALL_BYTES:
            return
        more = request.received - request.held
        if self._held + more > self._most:
            raise unavailable("large bodies fill the memory that the server has for them")
        self._held += more
        request.held += more

    def release(self, request: Request) -> None:
        """Count a request's body no more."""
        self._held -= request.held
        request.held = 0


def client_address(request: Request, proxies: int) -> tuple[str, IPv4Address | IPv6Address | None]:
    """Return the address of a request's client as text and parsed, None where it cannot be parsed.

    With `proxies` in front of the server that append to ``X-Forwarded-For``, it is the one that the
    first of them appended. Without as many values it is that of the connection.
    """
    client = request.scope.get("client")
    text: str = client[0] if client else ""
    if proxies:
        # A header that came in several lines is one list.
        values = b",".join(
            value for name, value in request.scope["headers"] if name == b"x-forwarded-for"
        ).decode("latin-1").split(",")  # fmt: skip
        if len(values) >= proxies and values[-proxies].strip():
            text = values[-proxies].strip().strip('"')
    return text, _parsed(text)


def _parsed(text: str) -> IPv4Address | IPv6Address | None:
    host = text.strip()
    if host.startswith("["):  # some proxies add the port
        host = host[1:].partition("]")[0]
    elif host.count(":") == 1:
        host = host.partition(":")[0]
    try:
        address = ip_address(host)
    except ValueError:
        return None
    mapped = address.ipv4_mapped if isinstance(address, IPv6Address) else None
    return mapped or address


def _malformed(why: str) -> Refused:
    return Refused("malformed-request", f"the server cannot read the request: {why}", field="body")
