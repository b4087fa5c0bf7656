"""Reports taken in: questions alone beside an afternoon's Flask app, blocks, a draw and a number.

Each has a server and a new SQLite database of its own, all run side by side, and is sent reports in
turn: single ones by wrk over kept connections, and batches of 10,000. A batch's peer is the driver
alone, which puts the same rows into the same table. ``--before`` adds the server of a checkout of
an earlier commit.
"""

from __future__ import annotations

import json
import os
import statistics
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np

from benchmarks.bulk import driver_alone
from benchmarks.collecting import DRAFT, ask, connect, empty_database, ids, records
from benchmarks.harness import REPEATS, Figure, against, announced
from benchmarks.load import peer
from benchmarks.load.wrk import Generator
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import pack_rows

ALONE: Final = "questions alone"
SECONDS: Final = 4
BATCHES: Final = 3
"""That are sent one after the other, and timed together."""
BATCH: Final = 10_000
PEER_GOAL: Final = 3.0
DRIVER_GOAL: Final = 0.5
SAME_GOAL: Final = 0.9
"""Of the rate of another server or survey: what is left to chance between two runs."""

# The survey of questions alone, of which each differs in one thing; no record is much larger.
_RENT: Final = {"name": "rent", "role": "sensitive", "protocol": "GRR"}
_MORE: Final[dict[str, JsonMembers]] = {
    ALONE: {},
    "a block": {
        "attributes": [
            # a block has one protocol, which is not its questions'
            {key: value for key, value in one.items() if key != "protocol"}
            for one in DRAFT["attributes"]
        ],
        "protocol": "SS",
        "together": [{"name": "both", "attributes": ["gender", "race"]}],
    },
    "a draw": {"draws": [{"name": "rota", "blocks": ["age", "country", "race"], "answer": 2}]},
    "a number": {
        "attributes": [*DRAFT["attributes"], {**_RENT, "number": {"low": 0, "high": 5000}}]
    },
}


@dataclass(frozen=True)
class _Asked:
    """A survey on a server, and what sends reports of it."""

    server: Server
    published: Published
    single: Generator

    def batch(self) -> float:
        """Send a batch of new reports, and return the seconds until they are durable."""
        rng = np.random.default_rng(time.monotonic_ns())
        body = pack_rows(
            self.published.digest, ids(BATCH, rng), records(self.published, BATCH, rng)
        )
        connection = connect(self.server)
        headers = {
            "Content-Type": wire.REPORTS_MEDIA_TYPE,
            "Authorization": f"Bearer {self.server.token}",
        }
        started = time.perf_counter()
        connection.request("POST", _path(self.published), body, headers)
        answer = connection.getresponse()
        content = answer.read()
        taken = time.perf_counter() - started
        assert answer.status == 200, content
        connection.close()
        return taken


def taking(scale: float, before: Path | None = None) -> list[Figure]:
    """Send single reports and batches to all of them in turns, and compare the medians."""
    length = max(1, round(SECONDS * scale))
    with announced("reports taken in"), ExitStack() as stack:
        asked = {name: stack.enter_context(_survey(more, length)) for name, more in _MORE.items()}
        if before is not None:
            with _code_of(before):
                asked["before"] = stack.enter_context(_survey({}, length))
        url, _ = stack.enter_context(empty_database("sqlite"))
        address = stack.enter_context(peer.running(url))
        other = Generator(address, length, _report(asked[ALONE].published))
        insert = stack.enter_context(driver_alone("sqlite"))
        singles: dict[str, Callable[[], float]] = {
            name: lambda one=one: 1000 / one.single.peak().rate for name, one in asked.items()
        }
        singles["peer"] = lambda: 1000 / other.peak().rate
        batches: dict[str, Callable[[], float]] = {
            name: lambda one=one: _per_report(one.batch) for name, one in asked.items()
        }
        rng = np.random.default_rng(3)
        rows = records(asked[ALONE].published, BATCH, rng)
        batches["peer"] = lambda: _per_report(lambda: insert(ids(BATCH, rng), rows))
        return [
            *_figures("single reports", "ms/report", _in_turns(singles), "an afternoon's Flask app",
                      PEER_GOAL),
            *_figures("batched reports", "µs/report", _in_turns(batches), "the driver alone",
                      DRIVER_GOAL),
        ]  # fmt: skip


def _per_report(send: Callable[[], float]) -> float:
    """Return the microseconds that a report takes in batches."""
    return 1e6 * sum(send() for _ in range(BATCHES)) / (BATCHES * BATCH)


def _in_turns(actions: dict[str, Callable[[], float]]) -> dict[str, float]:
    """Return the median of each, measured in turns after a first round that does not count.

    Each round begins with another one, since what ran before leaves work behind.
    """
    names = list(actions)
    rounds = [
        {name: actions[name]() for name in (*names[place:], *names[:place])}
        for place in range(REPEATS + 1)
    ]
    return {name: statistics.median(one[name] for one in rounds[1:]) for name in actions}


def _figures(
    what: str, unit: str, costs: dict[str, float], peer_name: str, goal: float
) -> Iterator[Figure]:
    def figure(name: str, ours: str, beside: str, beside_name: str, least: float) -> Figure:
        return against(
            f"{what}, {name}", unit=unit, ours=costs[ours], peer=costs[beside],
            peer_name=beside_name, goal=least,
        )  # fmt: skip

    yield figure(ALONE, ALONE, "peer", peer_name, goal)
    if "before" in costs:
        yield figure(ALONE, ALONE, "before", "the commit before blocks", SAME_GOAL)
    for name in list(_MORE)[1:]:
        yield figure(f"with {name}", name, ALONE, ALONE, SAME_GOAL)


@contextmanager
def _survey(more: JsonMembers, seconds: int) -> Iterator[_Asked]:
    """Serve the survey, changed so, from a server and a new database of its own."""
    limits = ("--rate-limit-submit", "0", "--log-level", "warning", "--trusted-proxies=1")
    with (
        empty_database("sqlite") as (url, folder),
        Server(folder, options=("--database-url", url, *limits)) as server,
    ):
        body = json.dumps({**DRAFT, **more}).encode()
        status, answer = ask(server, "POST", "/api/v1/surveys", body)
        assert status == 201, answer
        published = Published.from_json(answer["manifest"])
        yield _Asked(server, published, Generator(server.url, seconds, _report(published)))


def _report(published: Published) -> tuple[str, str, str]:
    (record,) = records(published, 1, np.random.default_rng(1))
    return _path(published), published.digest, wire.b64encode(record.tobytes())


def _path(published: Published) -> str:
    return f"/api/v1/surveys/{published.name}/reports"


@contextmanager
def _code_of(folder: Path) -> Iterator[None]:
    """Let servers that are started meanwhile run the code of another checkout."""
    own = os.environ.get("PYTHONPATH", "")
    parts = (str(folder.resolve() / part) for part in ("protocols", "shared", "client", "server"))
    os.environ["PYTHONPATH"] = os.pathsep.join((*parts, own))
    try:
        yield
    finally:
        os.environ["PYTHONPATH"] = own
