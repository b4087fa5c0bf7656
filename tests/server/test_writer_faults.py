"""What the writer tells requests when a commit or its own thread fails."""

from __future__ import annotations

import json
import threading
import time

import pytest

from hushpoll_server.errors import Refused
from hushpoll_server.services import writer as module
from hushpoll_server.services.writer import Writer
from hushpoll_server.store.reports import Arrival, Outcome

POISON = bytes(16)


class Store:
    """Takes everything but the poisoned report; the first commit waits until it is let go."""

    def __init__(self):
        self.stored = []
        self.attempts = []
        self.entered = threading.Event()
        self.let_go = threading.Event()
        self.poison = ValueError("a statement failed")

    def commit(self, uploads):
        ids = [one.report_id for upload in uploads for one in upload]
        self.attempts.append(len(ids))
        self.entered.set()
        assert self.let_go.wait(60)
        if POISON in ids:
            raise self.poison
        self.stored += ids
        return [[Outcome.ACCEPTED] * len(upload) for upload in uploads]


@pytest.fixture
def store():
    return Store()


@pytest.fixture
def writer(store):
    made = Writer(
        store.commit,
        after=lambda accepted: None,
        idle=lambda: None,
        group_reports=100,
        group_seconds=0.0,
        queue_reports=1000,
    )
    yield made
    store.let_go.set()
    made.stop(10)


def submit_together(writer, store, batches):
    """Let a first report open the door, then form one group of all the batches."""
    results = {}

    def submit(place, arrivals):
        try:
            results[place] = writer.submit(arrivals)
        except Refused as error:
            results[place] = error

    threads = [threading.Thread(target=submit, args=(-1, [arrival(255)]))]
    threads[0].start()
    assert store.entered.wait(60)
    for place, batch in enumerate(batches):
        threads.append(threading.Thread(target=submit, args=(place, batch)))
        threads[-1].start()
    deadline = time.monotonic() + 60
    while writer._waiting < 1 + sum(map(len, batches)):
        assert time.monotonic() < deadline
        time.sleep(0.001)
    store.let_go.set()
    for thread in threads:
        thread.join(60)
    return results


def arrival(number):
    return Arrival(1, bytes([number]) * 16, b"record")


def test_a_failing_report_fails_its_own_request_alone(writer, store):
    """Guards: one statement error used to refuse every report of the group."""
    results = submit_together(
        writer, store, [[arrival(1)], [arrival(2), arrival(0)], [arrival(3)], [arrival(4)]]
    )
    assert isinstance(results[1], Refused)
    assert results[1].code == "unavailable"
    assert [results[place] for place in (0, 2, 3)] == [[Outcome.ACCEPTED]] * 3
    assert sorted(one[0] for one in store.stored) == [1, 3, 4, 255]
    assert sorted(store.attempts[2:]) == [1, 1, 1, 2]  # after the first and the whole group
    assert writer._waiting == 0


def test_a_group_is_not_tried_apart_for_longer_than_its_time(writer, store, monkeypatch):
    monkeypatch.setattr(module, "APART_SECONDS", 0.0)
    results = submit_together(writer, store, [[arrival(1)], [arrival(0)], [arrival(3)]])
    assert [results[place].code for place in range(3)] == ["unavailable"] * 3
    assert store.attempts == [1, 3]
    assert writer._waiting == 0


class ThreadEnds(BaseException):
    """Something that no containment of exceptions catches."""


def test_requests_do_not_wait_for_a_thread_that_died(writer, store, monkeypatch):
    """Guards: its requests used to wait for 30 s, and their places in the queue were lost."""
    ended = threading.Event()
    monkeypatch.setattr(threading, "excepthook", lambda _arguments: ended.set())
    store.poison = ThreadEnds()
    started = time.monotonic()
    results = submit_together(writer, store, [[arrival(0)], [arrival(1)]])
    assert time.monotonic() - started < 10
    assert ended.wait(60)
    assert {results[place].code for place in (0, 1)} == {"unavailable"}
    assert writer._waiting == 0
    assert writer.submit([arrival(1)]) == [Outcome.ACCEPTED]  # by a new thread


def test_stopping_commits_what_a_dead_thread_left_behind(writer, store):
    """Guards: reports queued behind a thread that died were dropped at the end."""
    job = module._Job([arrival(7)])
    writer._waiting = 1
    writer._jobs.append(job)
    store.let_go.set()
    writer.stop(10)
    assert job.settled
    assert job.outcomes == [Outcome.ACCEPTED]
    with pytest.raises(Refused, match="stopping"):
        writer.submit([arrival(8)])


def test_upkeep_that_keeps_failing_is_logged_once_until_it_works(debug_log):
    """Guards: a database that was away filled the log, two lines a second."""
    fails = [OSError(), OSError(), ValueError(), None, None, OSError()]
    turns = iter(fails)

    def idle():
        error = next(turns, None)
        if error is not None:
            raise error

    made = Writer(
        lambda uploads: [],
        after=lambda accepted: None,
        idle=idle,
        group_reports=1,
        group_seconds=0.0,
        queue_reports=1,
    )
    for _ in fails:
        made._contained(idle)
    found = [json.loads(one.message) for one in debug_log.records if "upkeep" in one.message]
    assert [(one["event"], one.get("error")) for one in found] == [
        ("upkeep-failed", "OSError"),
        ("upkeep-failed", "ValueError"),
        ("upkeep-works-again", None),
        ("upkeep-failed", "OSError"),
    ]
