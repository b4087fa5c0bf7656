"""The same ASGI application behind uvicorn and behind granian: the measure for choosing one.

The application is the ingest process's own, with everything that a report goes through, and answers
nothing of the web process. granian is no dependency; give an interpreter that has it
(``--carrier-python``), made so::

    python -m venv --system-site-packages FOLDER && FOLDER/bin/pip install granian

"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from benchmarks.collecting import empty_database, publish
from benchmarks.load.figures import Figure, Options
from benchmarks.load.site import AS_USUAL, one_report
from benchmarks.load.wrk import CONNECTIONS, Generator, Run, median_rate, slowest
from hushpoll_fleet.demo.processes import Server
from hushpoll_server import create_asgi
from hushpoll_server.asgi import Whole

DATABASE = "CARRIED_DATABASE_URL"
APPLICATION = "benchmarks.load.carriers:create"
START_SECONDS = 60.0
# Both with uvloop, one worker, no log of requests and the same backlog.
CARRIERS = {
    "uvicorn": (
        *("-m", "uvicorn", "--factory", "--loop", "uvloop", "--http", "httptools", "--ws", "none"),
        *("--log-level", "warning", "--no-access-log", "--backlog", "4096"),
        *("--no-proxy-headers", "--no-server-header", APPLICATION),
    ),
    "granian": (
        *("-m", "granian", "--factory", "--loop", "uvloop", "--interface", "asgi", "--no-ws"),
        *("--log-level", "warning", "--backlog", "4096", "--backpressure", "4096"),
        *("--http", "1", "--workers", "1", APPLICATION),
    ),
}


def create() -> Whole:
    """Return the application on the database that the environment names."""
    return create_asgi({"DATABASE_URL": os.environ[DATABASE], "TRUSTED_PROXIES": 1})


def carriers(kind: str, options: Options) -> Iterator[Figure]:
    """Compare the rates of both, in turns on one database, with nothing of ours around them."""
    assert options.carrier_python, "give --carrier-python, an interpreter that has granian"
    with empty_database(kind) as (url, folder):
        with Server(folder, options=("--database-url", url, *AS_USUAL)) as server:
            report = one_report(publish(server))
        for connections in CONNECTIONS:
            runs: dict[str, list[Run]] = {name: [] for name in CARRIERS}
            for _ in range(options.rounds):
                for name in CARRIERS:
                    # One at a time: the file of SQLite has one server.
                    with carried(name, url, options.carrier_python) as address:
                        generator = Generator(address, options.seconds, report)
                        generator.peak(connections)
                        runs[name].append(generator.peak(connections))
            ours, other = (median_rate(runs[name]) for name in CARRIERS)
            p99s = [f"{slowest(runs[name]):.0f} ms" for name in CARRIERS]
            yield Figure(
                f"uvicorn's rate over {connections} connections", "none",
                f"{ours / other:.2f} times granian's",
                f"{ours:,.0f}/s, p99 {p99s[0]}; granian {other:,.0f}/s, p99 {p99s[1]}",
            )  # fmt: skip


@contextmanager
def carried(name: str, database_url: str, python: str) -> Iterator[str]:
    """Serve the application by one of them; give the URL."""
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    process = subprocess.Popen(
        [python, *CARRIERS[name], "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, DATABASE: database_url},
        start_new_session=True,
    )
    try:
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                socket.create_connection(("127.0.0.1", port), timeout=1).close()
                break
            except OSError:
                assert process.poll() is None, f"{name} ended with code {process.poll()}"
                assert time.monotonic() < deadline, f"{name} does not listen"
                time.sleep(0.1)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        try:
            process.wait(20)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
