"""Reports as fast as they are taken: beside a peer, slow clients, and sealing; and a start."""

from __future__ import annotations

import json
import statistics
import threading
import time
from collections.abc import Iterator, Sequence

import numpy as np

from benchmarks.collecting import DRAFT, ask, connect, empty_database, ids, records
from benchmarks.load import hostile, peer
from benchmarks.load.figures import Figure, Options, at_least, at_most
from benchmarks.load.site import site
from benchmarks.load.wrk import CONNECTIONS, Generator, median_rate, slowest
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import pack_rows

PEER_GOALS = {"sqlite": 3.0, "postgresql": 2.5}
SLOW_P99_GOAL = 3.0
SEALING_GOAL = 0.6
START_GOAL_SECONDS = 1.5
BATCH = 10_000


def peak(kind: str, options: Options) -> Iterator[Figure]:
    """Durable single reports beside the peer's, round by round in turns."""
    with (
        site(kind, options) as ours,
        empty_database(kind) as (url, _),
        peer.running(url) as address,
    ):
        other = Generator(address, options.seconds, ours.report)
        other.peak()
        for connections in CONNECTIONS:
            runs, peer_runs = [], []
            for _ in range(options.rounds):
                peer_runs.append(other.peak(connections))
                runs.append(ours.wrk.peak(connections))
            rate, peer_rate = median_rate(runs), median_rate(peer_runs)
            name = f"single reports over {connections} connections"
            yield at_least(
                f"{name}, rate",
                rate / peer_rate,
                PEER_GOALS[kind],
                unit=" times the peer's",
                beside=f"{rate:,.0f}/s; peer {peer_rate:,.0f}/s",
            )
            p99, peer_p99 = slowest(runs), slowest(peer_runs)
            yield Figure(
                f"{name}, p99", "no more than the peer's", f"{p99:.0f} ms",
                f"peer {peer_p99:.0f} ms", p99 <= peer_p99,
            )  # fmt: skip
        yield ours.lost()


def slow(kind: str, options: Options) -> Iterator[Figure]:
    """Honest reports beside idle connections, slow heads and slow bodies, all at once."""
    yield from _beside(kind, options, [hostile.CLIENTS])


def slow_bodies(kind: str, options: Options) -> Iterator[Figure]:
    """Honest reports beside one shape of slow bodies after the other, sent without a token."""
    yield from _beside(kind, options, [[shape] for shape in hostile.BODIES])


def _beside(
    kind: str, options: Options, crowds: Sequence[Sequence[hostile.Shape]]
) -> Iterator[Figure]:
    with site(kind, options) as ours:
        for shapes in crowds:
            before = ours.wrk.peaks(options.rounds)
            with hostile.held(ours.server.url, shapes) as crowd:
                during = ours.wrk.peaks(options.rounds)
                connected, refusals = crowd.connected, crowd.refused
            name = "beside " + ", ".join(shape.name for shape in shapes)
            p99, usual = slowest(during), slowest(before)
            yield at_most(
                f"{name}, p99",
                p99 / usual,
                SLOW_P99_GOAL,
                unit=" times without",
                beside=f"{p99:.0f} ms of {usual:.0f} ms; {median_rate(during):,.0f}/s of "
                f"{median_rate(before):,.0f}/s; {connected:,} of {crowd.wanted:,} were connected "
                f"at the end, {refusals:,} had been refused or closed",
            )
            refused = sum(run.statuses.get("503", 0) + run.statuses.get("429", 0) for run in during)
            yield Figure(f"{name}, honest reports refused", "0", f"{refused}", "", refused == 0)
        yield ours.lost()


def sealing(kind: str, options: Options) -> Iterator[Figure]:
    """Honest reports while the reports of another survey are sealed; see ``--reports``."""
    with site(kind, options) as ours:
        document = {**DRAFT, "name": "sealed"}
        status, answer = ask(ours.server, "POST", "/api/v1/surveys", json.dumps(document).encode())
        assert status in (200, 201), answer
        fill(ours.server, Published.from_json(answer["manifest"]), options.reports)
        before = ours.wrk.peaks(options.rounds)
        path = "/api/v1/surveys/sealed/versions/1/close"
        closing = threading.Thread(
            target=ask, args=(ours.server, "POST", path, b'{"grace_seconds": 0}')
        )
        started = time.monotonic()
        closing.start()
        during = ours.wrk.peak()
        closing.join()
        seconds = time.monotonic() - started
        yield at_least(
            f"rate while {options.reports:,} reports are sealed",
            during.rate / median_rate(before),
            SEALING_GOAL,
            unit=" of the rate without",
            beside=f"{median_rate(before):,.0f}/s without; sealed in {seconds:.1f} s",
        )
        yield ours.lost()


def fill(server: Server, published: Published, reports: int) -> None:
    """Upload so many reports in batches, rounded up to whole batches."""
    rng = np.random.default_rng(2)
    rows = records(published, BATCH, rng)
    connection = connect(server)
    path = f"/api/v1/surveys/{published.name}/reports"
    headers = {
        "Content-Type": wire.REPORTS_MEDIA_TYPE,
        "Authorization": f"Bearer {server.token}",
    }
    for _ in range(0, reports, BATCH):
        body = pack_rows(published.digest, ids(BATCH, rng), rows)
        connection.request("POST", path, body, headers)
        answer = connection.getresponse()
        content = answer.read()
        assert answer.status == 200, content
    connection.close()


def start(kind: str, options: Options) -> Iterator[Figure]:
    """From the start of the program to the first answer to a device, on an existing database."""
    seconds = []
    with empty_database(kind) as (url, folder):
        arguments = ("--database-url", url, "--log-level", "warning")
        for number in range(options.rounds + 1):
            began = time.monotonic()
            with Server(folder, options=arguments) as server:
                status, _ = ask(server, "GET", "/health")
                assert status == 200
                if number:  # the first makes the database
                    seconds.append(time.monotonic() - began)
    median = statistics.median(seconds)
    yield at_most("from start to first answer", median, START_GOAL_SECONDS, unit=" s")
