"""What a user would otherwise write in an afternoon: a Flask app that stores a report durably.

Served by stock gunicorn, ``gthread`` with 32 threads; ``benchmarks.load`` measures it beside ours.
"""

from __future__ import annotations

import shutil
import socket
import sqlite3
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from flask import Flask, request
from sqlalchemy import make_url

TABLE = "CREATE TABLE IF NOT EXISTS report (id TEXT PRIMARY KEY, record TEXT NOT NULL)"
THREADS = 32


def create(url: str) -> Flask:
    """Return the app; each thread keeps a connection to the database."""
    app = Flask(__name__)
    kept = threading.local()

    def connection() -> Any:
        if not hasattr(kept, "connection"):
            kept.connection = _connect(url)
        return kept.connection

    _connect(url).execute(TABLE)
    mark = "?" if url.startswith("sqlite") else "%s"
    insert = f"INSERT INTO report VALUES ({mark}, {mark})"  # of our own text

    @app.post("/<path:path>")
    def submit(path: str) -> tuple[dict[str, str], int]:
        document = request.get_json()
        connection().execute(insert, (document["id"], document["record"]))
        return {"status": "accepted"}, 201

    @app.get("/health")
    def health() -> dict[str, str]:
        return {"status": "ok"}

    return app


def _connect(url: str) -> Any:
    parsed = make_url(url)
    if url.startswith("sqlite"):
        connection = sqlite3.connect(
            str(parsed.database), timeout=30, isolation_level=None, check_same_thread=False
        )
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        return connection
    import psycopg

    plain = parsed.set(drivername="postgresql").render_as_string(hide_password=False)
    return psycopg.connect(plain, autocommit=True)


@contextmanager
def running(url: str) -> Iterator[str]:
    """Serve the app on a database; give its URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    program = shutil.which("gunicorn")
    assert program is not None, "gunicorn is missing; install the extra dev"
    with subprocess.Popen(
        [
            *(sys.executable, program, "--worker-class", "gthread", "--threads", str(THREADS)),
            *("--log-level", "error", "--bind", f"127.0.0.1:{port}"),
            f"benchmarks.load.peer:create({url!r})",
        ]
    ) as process:
        try:
            deadline = time.monotonic() + 60
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port), timeout=1).close()
                    break
                except OSError:
                    assert time.monotonic() < deadline, "the peer does not listen"
                    time.sleep(0.1)
            yield f"http://127.0.0.1:{port}"
        finally:
            process.terminate()
