"""Bounds of connections: how many there are, how large a head is, and how long a client may wait.

uvicorn bounds neither the size of a head nor its time, and keeps an idle connection, or one whose
client does not read, for ever. Here each connection has a time for its head, for being idle and for
reading on; heads are bounded; and there are no more connections than descriptors: an idle one, or
one whose client does not read, makes room for a new one. All of it uses the public interface of
protocols (``asyncio.Protocol``).
"""

from __future__ import annotations

import asyncio
from itertools import chain
from typing import Any, Final, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from hushpoll_server.ingest.requests import HEAD_BYTES

IDLE_SECONDS: Final = 15.0
LOOK_SECONDS: Final = 0.5
# A client that reads its answer more slowly than this counts as one that does not read.
READ_BYTES_PER_SECOND: Final = 1024
_HEAD_TOO_LONG: Final = (
    b"HTTP/1.1 431 Request Header Fields Too Large\r\n"
    b"Content-Length: 0\r\nConnection: close\r\n\r\n"
)
_HEAD_TOO_SLOW: Final = (
    b"HTTP/1.1 408 Request Timeout\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
)


class Connections:
    """Every connection of the process, of which there are at most `most`.

    `head_seconds` are for a head to arrive, and for a client that does not read its answer to read
    on; a connection may send `most_bytes` while one request is answered.
    """

    def __init__(self, *, most: int, head_seconds: float, most_bytes: int) -> None:
        self._most = most
        self._head_seconds = head_seconds
        self.most_bytes = most_bytes
        self._number = 0
        # Idle connections and those whose head arrives, since when, the oldest first.
        self._idle: dict[Connection, float] = {}
        self._in_head: dict[Connection, float] = {}
        # Connections whose clients do not read, since when, and the bytes that were unsent then.
        self._unsent: dict[Connection, tuple[float, int]] = {}
        self._look: asyncio.TimerHandle | None = None

    def protocol(self, **options: Any) -> Connection:
        """Return the protocol of a new connection; for ``uvicorn.Config(http=...)``."""
        return Connection(self, options)

    def opened(self, connection: Connection) -> None:
        """Note a new connection; where there are too many, the longest idle one is closed.

        Where none is idle, it is one whose head is late, or whose client does not read.
        """
        self._number += 1
        if self._look is None:
            self._look = asyncio.get_running_loop().call_later(LOOK_SECONDS, self._end_late)
        if self._number > self._most:
            waiting = chain(self._idle, self._in_head, self._unsent)
            oldest = next(waiting, connection)
            # It ends in the loop's next turn, and more connections may open before.
            self._forget(oldest)
            oldest.abort()
        self.idles(connection)

    def idles(self, connection: Connection) -> None:
        """Note that a connection has nothing to do."""
        self._in_head.pop(connection, None)
        self._idle.pop(connection, None)
        self._idle[connection] = connection.loop.time()

    def begins_head(self, connection: Connection) -> None:
        """Note that a head has begun to arrive."""
        del self._idle[connection]
        self._in_head[connection] = connection.began

    def has_request(self, connection: Connection) -> None:
        """Note that the application has a request."""
        self._idle.pop(connection, None)
        self._in_head.pop(connection, None)

    def closed(self, connection: Connection) -> None:
        """Forget a connection."""
        self._number -= 1
        self._forget(connection)

    def waits_for_reader(self, connection: Connection) -> None:
        """Note that a client does not read, or that a closed connection has bytes unsent."""
        self._unsent.setdefault(connection, (connection.loop.time(), connection.unsent))

    def is_read(self, connection: Connection) -> None:
        """Note that a client reads."""
        self._unsent.pop(connection, None)

    def _forget(self, connection: Connection) -> None:
        self.has_request(connection)
        self.is_read(connection)

    def _end_late(self) -> None:
        loop = asyncio.get_running_loop()
        self._look = loop.call_later(LOOK_SECONDS, self._end_late) if self._number else None
        now = loop.time()
        for waiting, seconds, answer in (
            (self._idle, IDLE_SECONDS, b""),
            (self._in_head, self._head_seconds, _HEAD_TOO_SLOW),
        ):
            while (first := next(iter(waiting), None)) and waiting[first] + seconds <= now:
                del waiting[first]
                first.refuse(answer)
        self._end_unread(now)

    def _end_unread(self, now: float) -> None:
        seconds = self._head_seconds
        while first := next(iter(self._unsent), None):
            since, before = self._unsent[first]
            if since + seconds > now:
                return
            del self._unsent[first]
            if before - first.unsent < min(before, seconds * READ_BYTES_PER_SECOND):
                first.abort()
            else:
                self.waits_for_reader(first)


class Connection(asyncio.Protocol):
    """One connection, whose bytes uvicorn's protocol reads.

    `began` is when the present request began to arrive, by the loop's clock; `at_end` says whether
    the client will send no more; `reading` is the timeout of the request that waits for its body,
    and `lost` is set once the connection has ended.
    """

    def __init__(self, connections: Connections, options: dict[str, Any]) -> None:
        self._connections = connections
        self._inner = HttpToolsProtocol(
            **{**options, "app_state": {**options["app_state"], "connection": self}}
        )
        self.loop = asyncio.get_running_loop()
        self._transport: asyncio.Transport | None = None
        self._head_bytes = 0
        self._request_bytes = 0
        self._requests = 0
        self.began = 0.0
        self.at_end = False
        self.reading: asyncio.Timeout | None = None
        self.lost = asyncio.Event()

    @property
    def ended(self) -> bool:
        """Whether nothing that is written now reaches the client."""
        return self._transport is None or self._transport.is_closing()

    @property
    def unsent(self) -> int:
        """Bytes that are written and have not left this process."""
        return 0 if self._transport is None else self._transport.get_write_buffer_size()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Start the protocol."""
        self._transport = cast("asyncio.Transport", transport)  # of a stream
        self._inner.connection_made(self._transport)
        self._connections.opened(self)

    def data_received(self, data: bytes) -> None:
        """Pass bytes to uvicorn's protocol, within the bounds of a head and of a request."""
        if self._requests:
            self._request_bytes += len(data)
            if self._request_bytes > self._connections.most_bytes:
                self.abort()
                return
        else:
            if not self._head_bytes:
                self.began = self.loop.time()
                self._connections.begins_head(self)
            self._head_bytes += len(data)
            # The last bytes may belong to a body already.
            if self._head_bytes - len(data) > HEAD_BYTES:
                self.refuse(_HEAD_TOO_LONG)
                return
        self._inner.data_received(data)

    def begin(self) -> None:
        """Note that the application has a request of this connection."""
        self._requests += 1
        self._head_bytes = self._request_bytes = 0
        if self._requests > 1 or not self.began:
            self.began = self.loop.time()
        self._connections.has_request(self)

    def end(self) -> None:
        """Note that the request was answered."""
        self._requests -= 1
        if self._transport is None:
            return
        if self.at_end or self._transport.is_closing():
            self.close()
        elif not self._requests:
            self.began = 0.0
            self._connections.idles(self)

    def eof_received(self) -> bool:
        """Keep a half-closed connection for the answer to its request."""
        self.at_end = True
        if self.reading is not None:
            self.reading.reschedule(self.loop.time())
        return bool(self._requests or self._head_bytes)

    def pause_writing(self) -> None:
        """Let the application wait until the client reads."""
        self._connections.waits_for_reader(self)
        self._inner.pause_writing()

    def resume_writing(self) -> None:
        """Let the application send more."""
        if self._transport is not None and not self._transport.is_closing():
            self._connections.is_read(self)
        self._inner.resume_writing()

    def connection_lost(self, error: Exception | None) -> None:
        """Note that the connection has ended."""
        self._connections.closed(self)
        self._inner.connection_lost(error)
        self._transport = None
        self.lost.set()

    def refuse(self, answer: bytes) -> None:
        """Send an answer, if it is not empty, and close."""
        if self._transport is None:
            return
        if not self._transport.is_closing():
            if answer:
                self._transport.write(answer)
            self._transport.close()
        # Unsent bytes are sent first, if the client reads them.
        self._connections.waits_for_reader(self)

    def close(self) -> None:
        """Close once all written bytes are sent."""
        self.refuse(b"")

    def abort(self) -> None:
        """Close at once."""
        if self._transport is not None:
            self._transport.abort()
