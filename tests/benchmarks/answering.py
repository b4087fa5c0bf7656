"""How long a host app's thread waits in `answer`, the network dead.

On a busy machine most of what it waits for is a processor. ``chrt --reset-on-fork --rr 10
scripts/bench --only answer`` gives the host's thread one at once, and the sender's none: what is
left is what the SDK itself makes it wait for.
"""

from __future__ import annotations

import random
import sqlite3
import statistics
import tempfile
import time
from contextlib import closing
from pathlib import Path

from benchmarks.harness import Figure, against, announced
from hushpoll_client import ClientConfig, SurveyClient
from hushpoll_shared.drafts.manifest import Manifest

LIMIT_MS = 5.0
DEVICES = 25
SURVEYS = 40
# Between two answers, so that the background is at work among them, not after them.
PAUSE_SECONDS = 0.01
# Nothing listens there: every connection is refused, and the sender keeps trying.
NOWHERE = "http://127.0.0.1:9"
DRAFT = {
    "name": "answering",
    "version": 1,
    "title": "Answering",
    "epsilon": "4",
    "split": "uniform",
    "protocol": "SS",
    "attributes": [
        {"name": "age", "role": "sensitive", "range": [17, 90]},
        {"name": "smoker", "role": "sensitive", "categories": ["yes", "no"], "missing": "skipped"},
        {"name": "country", "role": "sensitive", "protocol": "OLH", "range": [1, 200]},
        {"name": "trade", "role": "plain", "categories": ["shop", "office"]},
    ],
}
ANSWERS = {"age": 44, "smoker": None, "country": 47, "trade": "shop"}


def _bare_file(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, isolation_level=None)
    connection.execute("PRAGMA journal_mode=WAL")
    connection.execute("PRAGMA synchronous=NORMAL")
    connection.execute("PRAGMA wal_autocheckpoint=0")
    connection.execute("CREATE TABLE answers (report TEXT)")
    return connection


def _bare_commit(connection: sqlite3.Connection) -> float:
    """Milliseconds of the least that could keep an answer: says what the machine itself takes."""
    began = time.perf_counter_ns()
    connection.execute("BEGIN IMMEDIATE")
    connection.execute("INSERT INTO answers VALUES (?)", ("x" * 300,))
    connection.execute("COMMIT")
    return (time.perf_counter_ns() - began) / 1e6


def answering() -> list[Figure]:
    """The 99th percentile of `answer` over 1,000 first answers, each stored in a real file."""
    surveys = [
        Manifest.from_dict(DRAFT | {"version": number + 1}).resolve() for number in range(SURVEYS)
    ]
    config = ClientConfig(exit_patience=10, raise_faults=True)
    times: list[float] = []
    bare: list[float] = []
    with (
        announced("answer, the network dead"),
        tempfile.TemporaryDirectory() as folder,
        closing(_bare_file(Path(folder) / "bare.sqlite")) as beside,
    ):
        for device in range(DEVICES):
            clients = [
                SurveyClient(
                    NOWHERE,
                    survey.name,
                    published=survey,
                    storage=Path(folder) / f"{device}.sqlite",
                    config=config,
                )
                for survey in surveys
            ]
            clients[0].give_consent()
            for client in clients:
                time.sleep(random.uniform(0, PAUSE_SECONDS))
                bare.append(_bare_commit(beside))
                began = time.perf_counter_ns()
                outcome = client.answer(ANSWERS)
                times.append((time.perf_counter_ns() - began) / 1e6)
                assert outcome.status == "kept", outcome
            for client in clients:
                client.close()
    for name, waits in (("answer()", times), ("a bare commit of one row", bare)):
        quantiles = statistics.quantiles(waits, n=1000)
        print(
            f"  {name}: median {quantiles[499]:.2f} ms, p99 {quantiles[989]:.2f} ms, "
            f"most {max(waits):.2f} ms"
        )
    return [
        against(
            "answer() with the network dead, 99th percentile",
            unit="ms",
            ours=statistics.quantiles(times, n=100)[98],
            peer=LIMIT_MS,
            peer_name="limit",
            goal=1,
            repeats=len(times),
        )
    ]
