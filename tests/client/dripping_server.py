"""A raw socket server that answers one byte at a time, for as long as a client listens."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from pathlib import Path
from typing import Final, Literal, Self

Part = Literal["status line", "headers", "body"]

CERTIFICATE: Final = Path(__file__).with_name("loopback.pem")
"""Key and certificate of 127.0.0.1, for tests alone; no client trusts it unless told to."""

_PROMPT: Final[dict[Part, bytes]] = {
    "status line": b"HTTP/1.1 ",
    "headers": b"HTTP/1.1 200 OK\r\nX-Slow: ",
    "body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{",
}


class DrippingServer:
    """Listens on loopback; answers every connection promptly up to `part`, which then drips.

    Parameters
    ----------
    part : {"status line", "headers", "body"}
        Which part of the answer arrives a byte at a time.
    pause : float
        Seconds between two bytes.
    tls : bool
        Whether it speaks TLS, with `CERTIFICATE`.

    Attributes
    ----------
    url : str
        Where clients connect.
    part : str
        As given.
    connections : int
        How many have.
    """

    def __init__(self, part: Part, *, pause: float = 1.0, tls: bool = False) -> None:
        self.part: Part = part
        self._pause = pause
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH) if tls else None
        if self._context is not None:
            self._context.load_cert_chain(CERTIFICATE)
        self.url = f"http{'s' if tls else ''}://127.0.0.1:{self._listener.getsockname()[1]}"
        self.connections = 0

    def __enter__(self) -> Self:
        threading.Thread(target=self._accept, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()
        # Closing alone does not wake a thread that waits in accept().
        self._listener.shutdown(socket.SHUT_RDWR)
        self._listener.close()

    def _accept(self) -> None:
        while not self._over.is_set():
            try:
                connection, _ = self._listener.accept()
            except OSError:
                return
            self.connections += 1
            threading.Thread(target=self._drip, args=(connection,), daemon=True).start()

    def _drip(self, connection: socket.socket) -> None:
        if self._context is not None:
            connection = self._context.wrap_socket(connection, server_side=True)
        with connection:
            try:
                connection.recv(65_536)
                connection.sendall(_PROMPT[self.part])
                while not self._over.is_set():
                    connection.sendall(b"2")
                    time.sleep(self._pause)
            except OSError:
                return
