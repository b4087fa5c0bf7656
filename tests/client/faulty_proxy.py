"""A real HTTP proxy on loopback between a client and a server, which fails at random.

It drops requests, drops answers that the server has already given, delays, resets connections,
breaks answers off in the middle, and answers 5xx before or after the server was asked. What passed
through it is kept, so that a test can compare what devices said with what the server heard.
"""

from __future__ import annotations

import random
import socket
import struct
import threading
import time
from collections import Counter
from typing import Final, Self
from urllib.parse import urlsplit

FAULTS: Final = (
    "drop-request",
    "drop-answer",
    "delay",
    "reset-before",
    "reset-after",
    "break-off",
    "5xx-before",
    "5xx-after",
)
_STATUSES: Final = (500, 502, 503, 504)


class FaultyProxy:
    """Forwards to ``upstream``; a share of the exchanges meets a fault.

    Parameters
    ----------
    upstream : str
        The server's address.
    seed : int
        Of the choice of faults.
    share : float
        Chance of a fault, in [0, 1].

    Attributes
    ----------
    url : str
        Where clients connect.
    said : dict of bytes to int
        Every POSTed body that a client sent, and how often.
    heard : collections.Counter
        Statuses with which the server answered POSTs.
    met : collections.Counter
        How often each fault happened, ``"none"`` included.
    """

    def __init__(self, upstream: str, *, seed: int, share: float = 0.5) -> None:
        parts = urlsplit(upstream)
        self._upstream = (parts.hostname or "", parts.port or 80)
        self._random = random.Random(seed)
        self._share = share
        self._lock = threading.Lock()
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=128)
        self.url = f"http://127.0.0.1:{self._listener.getsockname()[1]}"
        self.said: Counter[bytes] = Counter()
        self.heard: Counter[int] = Counter()
        self.met: Counter[str] = Counter()

    def __enter__(self) -> Self:
        self._thread = threading.Thread(target=self._accept, daemon=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        # Closing alone does not wake a thread that waits in accept().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._thread.join(60)
        self._listener.close()

    def _accept(self) -> None:
        while True:
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            threading.Thread(target=self._serve, args=(connection,), daemon=True).start()

    def _serve(self, connection: socket.socket) -> None:
        with connection:
            connection.settimeout(30)
            try:
                while (request := _message(connection)) is not None:
                    if not self._exchange(connection, request):
                        return
            except OSError:
                return

    def _exchange(self, connection: socket.socket, request: bytes) -> bool:
        """Play one exchange; say whether the connection goes on."""
        with self._lock:
            fault = self._random.choice(FAULTS) if self._random.random() < self._share else "none"
            status, pause = self._random.choice(_STATUSES), self._random.uniform(0, 0.05)
            self.met[fault] += 1
            if request.startswith(b"POST"):
                self.said[request.partition(b"\r\n\r\n")[2]] += 1
        if fault == "drop-request":
            return False
        if fault == "reset-before":
            return _reset(connection)
        if fault == "5xx-before":
            return _fail(connection, status)
        if fault == "delay":
            time.sleep(pause)
        answer = self._forward(request)
        if fault == "drop-answer":
            return False
        if fault == "reset-after":
            return _reset(connection)
        if fault == "5xx-after":
            return _fail(connection, status)
        if fault == "break-off":
            connection.sendall(answer[: -max(1, len(answer) // 10)])
            return False
        connection.sendall(answer)
        return True

    def _forward(self, request: bytes) -> bytes:
        with socket.create_connection(self._upstream, timeout=30) as upstream:
            upstream.sendall(request)
            answer = _message(upstream) or b""
        if request.startswith(b"POST"):
            with self._lock:
                self.heard[int(answer.split(b" ", 2)[1])] += 1
        return answer


def _message(connection: socket.socket) -> bytes | None:
    """Read one HTTP message with its body; None where the other side is done."""
    data = b""
    while b"\r\n\r\n" not in data:
        piece = connection.recv(65_536)
        if not piece:
            return None
        data += piece
    head, _, body = data.partition(b"\r\n\r\n")
    length = next(
        (
            int(line.partition(b":")[2])
            for line in head.split(b"\r\n")
            if line.lower().startswith(b"content-length:")
        ),
        0,
    )
    while len(body) < length:
        piece = connection.recv(65_536)
        if not piece:
            return None
        body += piece
    return head + b"\r\n\r\n" + body


def _reset(connection: socket.socket) -> bool:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    return False


def _fail(connection: socket.socket, status: int) -> bool:
    body = b"<html>a gateway's own page</html>"
    connection.sendall(
        f"HTTP/1.1 {status} Failed\r\nContent-Type: text/html\r\nRetry-After: 0\r\n"
        f"Content-Length: {len(body)}\r\n\r\n".encode()
        + body
    )
    return True
