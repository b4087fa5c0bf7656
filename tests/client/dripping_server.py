"""A raw socket server that answers one byte at a time, for as long as a client listens."""

from __future__ import annotations

import socket
import ssl
import threading
import time
from typing import Final, Literal, Self

import trustme

Part = Literal["status line", "headers", "body"]

_PROMPT: Final[dict[Part, bytes]] = {
    "status line": b"HTTP/1.1 ",
    "headers": b"HTTP/1.1 200 OK\r\nX-Slow: ",
    "body": b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n"
    b"Content-Disposition: attachment\r\n\r\n{",
}


class DrippingServer:
    """Listens on loopback; answers every connection promptly up to `part`, which then drips.

    Parameters
    ----------
    part : {"status line", "headers", "body"}
        Which part of the answer arrives a byte at a time.
    pause : float
        Seconds between two bytes.
    certificate : trustme.LeafCert, optional
        Of 127.0.0.1; with it the server speaks TLS.

    Attributes
    ----------
    url : str
        Where clients connect.
    part : str
        As given.
    connections : int
        How many have.
    """

    def __init__(
        self, part: Part, *, pause: float = 1.0, certificate: trustme.LeafCert | None = None
    ) -> None:
        self.part: Part = part
        self._pause = pause
        self._over = threading.Event()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._context: ssl.SSLContext | None = None
        if certificate is not None:
            self._context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH)
            certificate.configure_cert(self._context)
        self.url = f"http{'s' if certificate is not None else ''}://127.0.0.1:{self._listener.getsockname()[1]}"
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
