"""Exactly once over a network that fails half of the time, byte by byte, with a real server."""

from __future__ import annotations

import json
import random
import time
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from client.faulty_proxy import FAULTS, FaultyProxy
from hushpoll_client import ClientConfig, Ledger, Report, SurveyClient
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.wire.records_file import read_records

# Small pauses for a test; what a proxy drops is noticed at once on loopback.
CONFIG = ClientConfig(
    raise_faults=True,
    first_delay=0.01,
    longest_delay=0.05,
    read_timeout=30,
    attempts=100,
    exit_patience=0,
)
RESPONDENT_SECONDS = 300


@pytest.fixture(scope="module")
def real_server(tmp_path_factory) -> Iterator[Server]:
    with Server(tmp_path_factory.mktemp("server")) as server:
        yield server


def respond(number: int, proxy: FaultyProxy, survey, answers, folder: Path) -> Report:
    """Answer, perhaps restart and answer otherwise, until the report is sent."""
    chance = random.Random(number)
    options = {"storage": folder / f"{number}.sqlite", "config": CONFIG}
    if number % 5:
        options["published"] = survey
    client = SurveyClient(proxy.url, survey.name, digest=survey.digest, **options)
    assert client.give_consent()
    if not number % 5:
        client.fetch()
    mine = answers | {"age": str(chance.randint(17, 90)), "gender": chance.choice(["Male", None])}
    assert client.answer(mine).status == "kept"
    report = client.report
    if number % 3 == 0:
        # The app ends at once and is started again: another answer is no second draw.
        client.close()
        client = SurveyClient(proxy.url, survey.name, digest=survey.digest, **options)
        assert client.answer(mine | {"gender": "Female"}).status == "known"
        # What was taken meanwhile is not kept any more.
        assert client.report in (report, None)
    give_up = time.monotonic() + RESPONDENT_SECONDS
    while not client.flush(5):
        assert time.monotonic() < give_up
    client.close()
    assert client.losses == {}
    return report


def play(respondents: int, real_server, draft, answers, folder: Path) -> FaultyProxy:
    draft |= {"name": f"faulty-{respondents}", "minimum_batch": 1, "release": "immediate"}
    survey = Manifest.from_dict(draft).resolve()
    with (
        AnalystClient(real_server.url, real_server.token) as analyst,
        FaultyProxy(real_server.url, seed=respondents) as proxy,
    ):
        analyst.publish(draft)
        with ThreadPoolExecutor(8) as pool:
            reports = list(
                pool.map(
                    lambda number: respond(number, proxy, survey, answers, folder),
                    range(respondents),
                )
            )
        # Whatever the devices said, again and again, was one body per respondent.
        bodies = Counter(report.to_json().encode() for report in reports)
        assert set(bodies.values()) == {1}
        assert set(proxy.said) == set(bodies)
        assert {json.loads(body)["id"] for body in proxy.said} == {
            json.loads(body)["id"] for body in bodies
        }
        # The devices kept just these, each charged once.
        for number, report in enumerate(reports):
            (entry,) = Ledger.open(folder / f"{number}.sqlite").entries()
            assert (entry.id, entry.state) == (b64encode(report.id), "accepted")
            assert (entry.report, entry.epsilon) == (None, 4)
        # The server has each record once, byte by byte.
        assert analyst.find(survey.digest)["reports"] == respondents
        out = folder / "records.bin"
        with out.open("wb") as stream:
            analyst.export(survey.name, 1, stream.write)
        records = read_records(out)[1]
        assert sorted(map(bytes, records)) == sorted(report.record for report in reports)
    # The network was as bad as it was meant to be, and answers were lost after the commit.
    assert proxy.heard[201] == respondents
    assert set(proxy.heard) == {200, 201}
    return proxy


def test_every_answer_arrives_exactly_once(real_server, draft, answers, tmp_path):
    proxy = play(60, real_server, draft, answers, tmp_path)
    assert proxy.heard[200] > 0
    assert sum(proxy.met[fault] for fault in FAULTS) > 20


@pytest.mark.slow
def test_every_answer_of_2000_respondents_arrives_exactly_once(
    real_server, draft, answers, tmp_path
):
    proxy = play(2000, real_server, draft, answers, tmp_path)
    assert all(proxy.met[fault] > 50 for fault in FAULTS)
    assert proxy.heard[200] > 200
