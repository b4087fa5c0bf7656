"""``hushpoll simulate`` over HTTP beside bare ``requests`` sessions, and in bulk."""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.collecting import DRAFT, REPORTS, ask, ids, records, running
from benchmarks.fleet import CONCURRENCY, post_all
from benchmarks.load.figures import Figure, Options, at_least, lost
from benchmarks.load.site import AS_USUAL
from hushpoll_fleet.demo.processes import Server, run_json
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire

GOAL = 0.9
BULK_TIMES = 100


def simulate(kind: str, options: Options) -> Iterator[Figure]:
    """Play respondents through the real client, in turns with sessions that only post."""
    with (
        running(kind, *AS_USUAL, *options.server) as (server, _, published),
        tempfile.TemporaryDirectory() as name,
    ):
        folder = Path(name)
        manifest = folder / "manifest.json"
        population = {
            attribute.name: {"weights": dict.fromkeys(attribute.categories, 1)}
            for attribute in published.attributes
        }
        manifest.write_text(json.dumps({**DRAFT, "population": population}), encoding="utf-8")
        rng = np.random.default_rng(3)
        count, rates, bare = options.respondents, [], []
        _play(server, folder, CONCURRENCY)  # what is compiled and cached is so for both
        for _ in range(options.rounds):
            bodies = _bodies(published, count, rng)
            bare.append(count / post_all(server.url + REPORTS, bodies))
            rates.append(_play(server, folder, count)["reports_per_second"])
        ours, peer = statistics.median(rates), statistics.median(bare)
        yield at_least(
            f"hushpoll simulate, {count:,} respondents, {CONCURRENCY} at a time, rate",
            ours / peer,
            GOAL,
            unit=" of bare requests sessions",
            beside=f"{ours:,.0f}/s; sessions that post reports made beforehand {peer:,.0f}/s",
        )
        bulk = BULK_TIMES * count
        rate = _play(server, folder, bulk, "--bulk")["reports_per_second"]
        yield Figure(
            f"hushpoll simulate --bulk, {bulk:,} respondents, rate", "none", f"{rate:,.0f}/s",
            f"{rate / ours:,.0f} times one by one",
        )  # fmt: skip
        sent = CONCURRENCY + options.rounds * 2 * count + bulk
        status, counts = ask(server, "GET", f"/api/v1/surveys/{published.name}/versions/1/counts")
        assert status == 200, counts
        yield lost(sent, counts["accepted"])


def _play(server: Server, folder: Path, count: int, *more: str) -> dict[str, Any]:
    account = run_json(
        ["simulate", "--manifest", "manifest.json", "--respondents", str(count), *more],
        {"HUSHPOLL_URL": server.url, "HUSHPOLL_TOKEN": server.token},
        folder,
    )
    assert account["accepted"] == count, account
    return account


def _bodies(published: Published, count: int, rng: np.random.Generator) -> list[bytes]:
    return [
        json.dumps(
            wire.encode_report_json(published.digest, wire.Report(bytes(number), bytes(record)))
        ).encode()
        for number, record in zip(ids(count, rng), records(published, count, rng), strict=True)
    ]
