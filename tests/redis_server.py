"""A real Redis on a port of its own, for the length of a ``with`` block."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from waiting import LONGEST_SECONDS


@contextmanager
def redis_server(directory: Path) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start Redis; give its address, without a database's number, and its process."""
    # scripts/test installs it.
    assert shutil.which("redis-server"), "redis-server is missing; apt-get install redis-server"
    port, process = _started(directory)
    try:
        yield f"redis://127.0.0.1:{port}", process
    finally:
        process.kill()
        process.wait(LONGEST_SECONDS)


def _started(directory: Path) -> tuple[int, subprocess.Popen[bytes]]:
    options = ["--bind", "127.0.0.1", "--save", "", "--appendonly", "no", "--dir", str(directory)]
    deadline = time.monotonic() + LONGEST_SECONDS
    while True:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        process = subprocess.Popen(
            ["redis-server", "--port", str(port), *options],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # It ends where something else has taken the port meanwhile; then another is tried.
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return port, process
            assert time.monotonic() < deadline, "Redis does not listen"
            time.sleep(0.02)
        assert time.monotonic() < deadline, "Redis does not start"
