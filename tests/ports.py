"""A port for a program that has to be told its number."""

from __future__ import annotations

import random
import socket

# The system gives the ports from 32768 on to whatever asks for any port or connects.
_PORTS = range(20_000, 30_000)


def free_port() -> int:
    """Return a free port of 127.0.0.1 that the system gives to nothing else until it is used."""
    for port in random.SystemRandom().sample(_PORTS, 100):
        try:
            socket.create_server(("127.0.0.1", port)).close()
        except OSError:
            continue
        return port
    raise AssertionError("a hundred ports are in use")
