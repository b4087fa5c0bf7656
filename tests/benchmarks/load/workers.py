"""Two servers of two processes on one PostgreSQL, restarted in turn while reports come in."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from sqlalchemy import text

from benchmarks.collecting import REPORTS, connect, empty_database, ids, publish, records
from benchmarks.load.figures import Figure, Options, lost
from benchmarks.load.site import AS_USUAL, one_report
from benchmarks.load.wrk import CONNECTIONS, Generator, median_rate, slowest
from chunks import unpack
from hushpoll_fleet.demo.processes import Server
from hushpoll_server.store.database import Database
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire

SERVERS = 2
WORKERS = 2
CLIENTS = 32
# A client that cannot be served comes again, to the other server, until this ends a hang.
MOST_SECONDS = 120.0
JSON = {"Content-Type": wire.JSON_MEDIA_TYPE}


class Sites:
    """Servers on one database, each with a folder of its own; one at a time can be away."""

    def __init__(
        self, url: str, folder: Path, options: Sequence[str], *, workers: int = WORKERS
    ) -> None:
        self._folder = folder
        self.workers = workers
        self.servers: list[Server] = []
        for number in range(SERVERS):
            own = folder / f"server-{number}"
            own.mkdir()
            arguments = (
                *("--database-url", url, "--log-level", "warning", "--workers", str(workers)),
                *AS_USUAL,
                *options,
            )
            self.servers.append(Server(own, options=arguments))

    def start(self, stack: ExitStack) -> None:
        """Start them for as long as the stack lasts; only the first is told the admin token."""
        first, *others = self.servers
        stack.enter_context(first)
        for number, server in enumerate(others, 1):
            (self._folder / f"server-{number}" / "admin-token").write_text(first.token)
            stack.enter_context(server)

    def restart(self, number: int) -> float:
        """End a server by SIGTERM and start it again; return how long it was away."""
        began = time.monotonic()
        self.servers[number].stop()
        self.servers[number].__enter__()
        return time.monotonic() - began


class Client:
    """A device that sends one report after the other, each until it is acknowledged.

    Attributes
    ----------
    acknowledged : set of bytes
        Ids.
    retries : int
        Answers of 503, and connections that were refused or ended.
    """

    def __init__(self, sites: Sites, published: Published, number: int) -> None:
        self._sites = sites
        self._published = published
        self._place = number
        self._connection: http.client.HTTPConnection | None = None
        rng = np.random.default_rng(100 + number)
        self._ids = iter(lambda: bytes(ids(1, rng)[0]), b"")
        self._record = bytes(records(published, 1, rng)[0])
        self.acknowledged: set[bytes] = set()
        self.duplicates = 0
        self.retries = 0

    def run(self, stop: threading.Event) -> None:
        """Send until told to stop, and the last report until it is acknowledged."""
        while not stop.is_set():
            report = wire.Report(next(self._ids), self._record)
            body = json.dumps(wire.encode_report_json(self._published.digest, report)).encode()
            deadline = time.monotonic() + MOST_SECONDS
            while (status := self._sent(body)) not in (200, 201):
                assert status in (None, 503), status
                assert time.monotonic() < deadline, "a report was not taken by either server"
                self.retries += 1
                self._place += 1  # as a load balancer does
                time.sleep(0.05)
            self.acknowledged.add(report.id)
            # The first attempt was stored, and its answer was lost.
            self.duplicates += status == 200

    def _sent(self, body: bytes) -> int | None:
        try:
            if self._connection is None:
                self._connection = connect(self._sites.servers[self._place % SERVERS])
            self._connection.request("POST", REPORTS, body, JSON)
            answer = self._connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            return None
        if answer.status == 503:
            self.close()
        return answer.status

    def close(self) -> None:
        """Close the connection; the next one is to whichever server is next."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def sending(sites: Sites, published: Published, clients: int) -> Iterator[list[Client]]:
    """Let clients send for the length of a ``with`` block."""
    stop = threading.Event()
    devices = [Client(sites, published, number) for number in range(clients)]
    with ThreadPoolExecutor(clients) as pool:
        running = [pool.submit(device.run, stop) for device in devices]
        try:
            yield devices
        finally:
            stop.set()
    for future in running:
        future.result()  # raises what ended a client
    for device in devices:
        device.close()


def total(devices: Sequence[Client]) -> int:
    """Return how many reports were acknowledged."""
    return sum(len(device.acknowledged) for device in devices)


def workers(kind: str, options: Options) -> Iterator[Figure]:
    """Restart one server and then the other while devices send, and look for every report."""
    if kind != "postgresql":
        return  # SQLite has one writer, and `serve` refuses several
    with (
        empty_database(kind) as (url, _),
        TemporaryDirectory() as folder,
        ExitStack() as stack,
    ):
        sites = Sites(url, Path(folder), options.server)
        sites.start(stack)
        published = publish(sites.servers[0])
        report = one_report(published)
        generator = Generator(sites.servers[0].url, options.seconds, report)
        generator.peak()
        for connections in CONNECTIONS:
            runs = generator.peaks(options.rounds, connections)
            yield Figure(
                f"one server with --workers {WORKERS} over {connections} connections, rate", "none",
                f"{median_rate(runs):,.0f}/s", f"p99 {slowest(runs):.0f} ms, by wrk",
            )  # fmt: skip
        yield from rolled(sites, url, published, options, CLIENTS)


def rolled(
    sites: Sites, url: str, published: Published, options: Options, clients: int
) -> Iterator[Figure]:
    """Measure without restarts, then with one of each server a round; look for every report."""
    away = []
    with sending(sites, published, clients) as devices:
        time.sleep(options.seconds)
        began, before = time.monotonic(), total(devices)
        time.sleep(options.seconds)
        steady = (total(devices) - before) / (time.monotonic() - began)
        began, before = time.monotonic(), total(devices)
        for _ in range(options.rounds):
            for number in range(SERVERS):
                away.append(sites.restart(number))
                time.sleep(options.seconds / 2)
        rolling = (total(devices) - before) / (time.monotonic() - began)
    acknowledged = set().union(*(device.acknowledged for device in devices))
    retries = sum(device.retries for device in devices)
    answers = sum(device.duplicates for device in devices)
    yield Figure(
        f"{SERVERS} servers with --workers {sites.workers}, {clients} retrying clients, rate",
        "none",
        f"{rolling:,.0f}/s", f"{steady:,.0f}/s without restarts (the clients are Python threads "
        f"of one process); {len(away)} restarts, away for {max(away):.1f} s at most; {retries:,} "
        f"retries, {answers:,} of them of reports that were stored already",
    )  # fmt: skip
    stored = stored_ids(url)
    yield lost(len(acknowledged), len(acknowledged & set(stored)))
    twice = len(stored) - len(set(stored))
    counted = counts_of(sites.servers[0], published)["accepted"]
    yield Figure(
        "reports that are stored twice, or counted and not stored", "0",
        f"{twice + abs(counted - len(set(stored)))}",
        f"{counted:,} counted, {len(set(stored)):,} different ids stored",
        twice == 0 and counted == len(set(stored)),
    )  # fmt: skip


def counts_of(server: Server, published: Published) -> dict[str, Any]:
    """Return a version's counts."""
    connection = connect(server)
    path = f"/api/v1/surveys/{published.name}/versions/1/counts"
    connection.request("GET", path, headers={"Authorization": f"Bearer {server.token}"})
    answer = connection.getresponse()
    document: dict[str, Any] = json.loads(answer.read())
    connection.close()
    assert answer.status == 200, document
    return document


def stored_ids(url: str) -> list[bytes]:
    """Return the id of each report in the database, sealed or not."""
    database = Database(url)
    try:
        with database.reading() as connection:
            waiting = connection.execute(text("SELECT report_id FROM inbox")).scalars()
            sealed = connection.execute(text("SELECT ids FROM sealed_ids")).scalars()
            return [*map(bytes, waiting), *unpack(list(sealed))]
    finally:
        database.close()
