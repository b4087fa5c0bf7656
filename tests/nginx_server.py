"""A real nginx on a port of its own, for the length of a ``with`` block."""

from __future__ import annotations

import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ports import free_port
from waiting import LONGEST_SECONDS

CONFIGURATION = """
daemon off;
master_process off;
pid {folder}/nginx.pid;
error_log {folder}/error.log crit;
events {{ worker_connections 256; }}
http {{
    access_log off;
    client_body_temp_path {folder}/body;
    proxy_temp_path {folder}/proxy;
    fastcgi_temp_path {folder}/fastcgi;
    uwsgi_temp_path {folder}/uwsgi;
    scgi_temp_path {folder}/scgi;
    server {{
        listen 127.0.0.1:{port};
{locations}
    }}
}}
"""


@contextmanager
def nginx_server(directory: Path, locations: str) -> Iterator[str]:
    """Start nginx with these locations; give its address."""
    # scripts/test installs it. Debian's folder of servers is not on everybody's path.
    program = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
    assert program, "nginx is missing; apt-get install nginx-light"
    folder = directory / "nginx"
    folder.mkdir()
    process, port = _started(program, folder, locations)
    try:
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait(LONGEST_SECONDS)


def _started(program: str, folder: Path, locations: str) -> tuple[subprocess.Popen[bytes], int]:
    deadline = time.monotonic() + LONGEST_SECONDS
    while True:
        port = free_port()
        file = folder / "nginx.conf"
        file.write_text(CONFIGURATION.format(folder=folder, port=port, locations=locations))
        process = subprocess.Popen(
            [program, "-p", str(folder), "-c", str(file)],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        # It ends where something else has taken the port meanwhile; then another is tried.
        while process.poll() is None:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    return process, port
            assert time.monotonic() < deadline, "nginx does not listen"
            time.sleep(0.02)
        assert time.monotonic() < deadline, (folder / "error.log").read_text()
