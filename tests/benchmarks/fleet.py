"""Fleets: a million users in bulk, and single respondents beside bare sessions."""

from __future__ import annotations

import statistics
import tempfile
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import requests

from benchmarks.adult import MIXED, draft, load_codes
from benchmarks.harness import Figure, against, announced
from hushpoll_client import randomize
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.demo.processes import Server
from hushpoll_fleet.population.population import Population
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_fleet.sending.account import Account
from hushpoll_fleet.sending.bulk import blocks
from hushpoll_fleet.sending.fleet import Fleet
from hushpoll_fleet.sending.wire import play
from hushpoll_protocols import PROTOCOLS
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.reports import JSON_MEDIA_TYPE

USERS = 1_000_000
BULK_LIMIT_SECONDS = 10.0
RESPONDENTS = 1_500
CONCURRENCY = 8
ROUNDS = 5
WIRE_GOAL = 0.7


def bulk(data: Path, scale: float) -> list[Figure]:
    """Draw a million users of Adult's domains and perturb them, protocol by protocol."""
    import numpy as np

    codes = load_codes(data / "adult_26k.csv")
    users = max(1, round(USERS * scale))
    figures = []
    for protocol in PROTOCOLS:
        document = draft(codes, protocols=dict.fromkeys(MIXED, protocol), split="uniform")
        document["population"] = {
            attribute["name"]: {
                "weights": {
                    category: int(count)
                    for category, count in zip(
                        attribute["categories"],
                        np.bincount(
                            codes[attribute["name"]], minlength=len(attribute["categories"])
                        ),
                        strict=True,
                    )
                    if count
                }
            }
            for attribute in document["attributes"]
        }
        manifest = Manifest.from_dict(document)
        published = manifest.resolve()
        population = Population.from_manifest(manifest)

        def play_all(
            published: Any = published, population: Any = population, n: int = users
        ) -> int:
            respondents = SimulatedRespondents(
                published.attributes, population.sample(n, np.random.default_rng(1))
            )
            fleet = Fleet(published=published, respondents=respondents, noise_seed=1)
            return sum(map(len, blocks(fleet)))

        with announced(f"a fleet of {users:,} in bulk, {protocol}"):
            play_all(n=1000)  # the kernels are compiled by now
            taken = []
            for _ in range(3):
                start = time.perf_counter()
                assert play_all() == users
                taken.append(time.perf_counter() - start)
        figures.append(
            against(
                f"{users:,} users of Adult's domains drawn and perturbed, {protocol}",
                unit="s",
                ours=statistics.median(taken),
                peer=BULK_LIMIT_SECONDS * scale,
                peer_name="limit",
                goal=1,
                repeats=len(taken),
            )
        )
    return figures


def wire(data: Path, scale: float) -> list[Figure]:
    """Single respondents through `SurveyClient`, beside sessions that post the same bytes."""
    codes = load_codes(data / "adult_26k.csv")
    count = max(CONCURRENCY, round(RESPONDENTS * scale))
    document = draft(codes, protocols=MIXED, split="uniform")
    rows = codes.sample(count, replace=True, random_state=1).astype(str).to_dict("records")
    with (
        tempfile.TemporaryDirectory() as folder,
        announced(f"{count:,} respondents over the wire"),
        Server(Path(folder)) as server,
        AnalystClient(server.url, server.token) as analyst,
    ):
        analyst.publish(document)
        manifest = Manifest.from_dict(document)
        published = manifest.resolve()
        respondents = SimulatedRespondents.of_rows(
            manifest.attributes,
            [
                [attribute.code(row[attribute.name]) for attribute in manifest.attributes]
                for row in rows
            ],
        )
        ours, bare = [], []
        for _ in range(ROUNDS):
            bodies = [randomize(published, row).to_json().encode() for row in rows]
            bare.append(post_all(f"{server.url}/api/v1/surveys/adult/reports", bodies))
            fleet = Fleet(published=published, respondents=respondents)
            account = play(server.url, fleet, Account(count), concurrency=CONCURRENCY)
            assert account.accepted == count, account
            ours.append(account.seconds)
    return [
        against(
            f"{count:,} Adult respondents over HTTP, {CONCURRENCY} at a time",
            unit="s",
            ours=statistics.median(ours),
            peer=statistics.median(bare),
            peer_name="bare requests sessions posting such bytes",
            goal=WIRE_GOAL,
            repeats=ROUNDS,
        )
    ]


def post_all(url: str, bodies: list[bytes]) -> float:
    lock = threading.Lock()
    turns: Iterator[bytes] = iter(bodies)

    def work() -> None:
        with requests.Session() as session:
            while True:
                with lock:
                    body = next(turns, None)
                if body is None:
                    return
                answer = session.post(url, data=body, headers={"Content-Type": JSON_MEDIA_TYPE})
                assert answer.status_code == 201, answer.text

    start = time.perf_counter()
    with ThreadPoolExecutor(CONCURRENCY) as pool:
        for running in [pool.submit(work) for _ in range(CONCURRENCY)]:
            running.result()
    return time.perf_counter() - start
