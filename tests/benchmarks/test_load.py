"""The parts of ``scripts/load`` at a small size: what it holds up, offers and counts is so."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from benchmarks.collecting import ask, empty_database, publish, running
from benchmarks.load import hostile, workers
from benchmarks.load.analysts import CLICKS, VERSION, Analyst
from benchmarks.load.figures import Options
from benchmarks.load.honest import fill
from benchmarks.load.open_loop import Answers, Offer, offer
from benchmarks.load.site import one_report
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.survey.published import Published

FEW = 20


@pytest.fixture(scope="module")
def served() -> Iterator[tuple[Server, Published]]:
    with running("sqlite", "--trusted-proxies=1", "--seal-idle-seconds=0.2") as (
        server,
        _,
        published,
    ):
        yield server, published


def offered(
    server: Server, published: Published, *, rate: float, seconds: float, connections: int
) -> Answers:
    path, digest, record = one_report(published)
    return offer(Offer(server.url, path, digest, record, rate, seconds, connections))


def accepted(server: Server) -> int:
    status, counts = ask(server, "GET", f"{VERSION}/counts")
    assert status == 200
    return int(counts["accepted"])


@pytest.mark.parametrize(
    "shape", [*hostile.CLIENTS, *hostile.BODIES], ids=lambda shape: shape.name.replace(" ", "-")
)
def test_reports_are_taken_beside_slow_clients(served, shape):
    server, published = served
    before = accepted(server)
    with hostile.held(server.url, [hostile.smaller(shape, FEW)]) as crowd:
        answers = offered(server, published, rate=100, seconds=0.5, connections=8)
        assert crowd.wanted == FEW
    assert answers.scheduled == 50
    assert answers.statuses == {201: answers.sent}
    assert accepted(server) == before + answers.sent


def test_every_report_offered_is_sent_or_counted_as_unsent(served):
    """Two connections are too few for so many, however fast the server is."""
    server, published = served
    before = accepted(server)
    answers = offered(server, published, rate=100_000, seconds=0.3, connections=2)
    assert answers.scheduled == answers.sent + answers.unsent == 30_000
    assert answers.unsent > 0
    assert answers.statuses == {201: answers.sent}
    assert answers.lost == answers.without_retry_after == 0
    assert accepted(server) == before + answers.sent


def test_refusals_of_a_full_queue_say_when_to_come_again():
    with running("sqlite", "--queue-reports=1", "--max-bulk-reports=1", "--trusted-proxies=1") as (
        server,
        _,
        published,
    ):
        answers = offered(server, published, rate=5000, seconds=0.5, connections=50)
        assert answers.statuses.keys() <= {201, 503}
        assert sum(answers.statuses.values()) == answers.sent
        assert answers.lost == answers.without_retry_after == 0
        assert accepted(server) == answers.accepted > 0


def test_every_click_of_an_analyst_is_answered(served):
    server, published = served
    fill(server, published, 1)
    status, _ = ask(server, "POST", f"{VERSION}/jobs/seal", b"{}")
    assert status == 202
    once = threading.Event()
    once.set()
    for number in range(len(CLICKS)):
        analyst = Analyst(server.url, server.token, number)
        analyst.click(once, 0.0)
        assert analyst.statuses == {200: 1}, CLICKS[number]


@pytest.mark.slow
def test_restarts_in_turn_lose_no_report_and_store_none_twice(tmp_path):
    with empty_database("postgresql") as (url, _), ExitStack() as stack:
        sites = workers.Sites(url, tmp_path, (), workers=1)
        sites.start(stack)
        published = publish(sites.servers[0])
        rate, missing, twice = workers.rolled(
            sites, url, published, Options(rounds=1, seconds=1), clients=4
        )
    assert "2 restarts" in rate.beside
    assert missing.reached, missing
    assert twice.reached, twice
    assert not missing.beside.startswith("0 ")
