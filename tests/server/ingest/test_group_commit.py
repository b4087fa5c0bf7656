"""Group commit on its own: who waits, who is told what, what a group holds."""

from __future__ import annotations

import asyncio
import contextlib
import json
import threading

import pytest

from hushpoll_server.errors import Refused
from hushpoll_server.ingest import group_commit
from hushpoll_server.ingest.group_commit import GroupCommit
from hushpoll_server.store.reports import Outcome, ReportRow
from waiting import LONGEST_SECONDS, wait_until

POISON = 0
ACCEPTED = [Outcome.ACCEPTED]


class Disk:
    """A commit that can be held up, and remembers its groups."""

    def __init__(self):
        self.groups = []
        self.open = threading.Event()
        self.open.set()
        self.entered = threading.Event()
        self.failure = None
        self.poison = ValueError("a statement failed")

    def commit(self, uploads):
        self.entered.set()
        assert self.open.wait(LONGEST_SECONDS)
        if self.failure is not None:
            raise self.failure
        ids = [arrival.report_id[0] for upload in uploads for arrival in upload]
        self.groups.append(ids)
        if POISON in ids:
            raise self.poison
        return [[Outcome.ACCEPTED] * len(upload) for upload in uploads]


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def run(loop):
    """Run a coroutine on a loop."""
    return loop.run


@pytest.fixture
def make(disk, run):
    made = []

    def make(**options):
        settings = {"group_reports": 100, "queue_reports": 1000, "idle": lambda: None}
        made.append(GroupCommit(disk.commit, **{**settings, **options}))
        return made[-1]

    yield make
    disk.open.set()
    disk.failure = None
    for one in made:
        run(one.stop())


def arrivals(*numbers):
    return [ReportRow(1, bytes([number]) * 16, b"record") for number in numbers]


async def submitted(commit, *uploads):
    """Submit uploads together, and return their outcomes."""
    return await asyncio.gather(*map(commit.submit, uploads))


async def entered(disk):
    while not disk.entered.is_set():
        await asyncio.sleep(0.001)


def test_no_thread_runs_before_the_first_report(make):
    before = set(threading.enumerate())
    make()
    assert set(threading.enumerate()) <= before


def test_reports_that_arrive_together_are_one_group(make, disk, run):
    commit = make()

    assert run(submitted(commit, *map(arrivals, range(1, 40)))) == [ACCEPTED] * 39
    assert [len(group) for group in disk.groups] == [39]


def test_reports_that_arrive_during_a_commit_form_the_next_group(make, disk, run):
    commit = make()
    disk.open.clear()

    async def during():
        first = commit.submit(arrivals(1))
        await entered(disk)
        rest = [commit.submit(arrivals(number)) for number in range(2, 40)]
        await asyncio.sleep(0.05)
        assert not any(one.done() for one in (first, *rest))  # nothing before its commit
        assert commit.state.waiting == 39
        disk.open.set()
        return await asyncio.gather(first, *rest)

    assert run(during()) == [ACCEPTED] * 39
    assert [len(group) for group in disk.groups] == [1, 38]
    assert commit.state.waiting == 0


def test_a_group_is_bounded_and_a_batch_is_never_split(make, disk, run):
    commit = make(group_reports=10)

    assert run(submitted(commit, *[arrivals(1, 2, 3, 4)] * 7)) == [[Outcome.ACCEPTED] * 4] * 7
    assert [len(group) for group in disk.groups] == [12, 12, 4]


def test_outcomes_go_back_to_their_own_requests(make, disk, run):
    def outcomes(upload):
        return [Outcome.ACCEPTED if one.report_id[0] % 2 else Outcome.DUPLICATE for one in upload]

    disk.commit = lambda group: [outcomes(upload) for upload in group]
    commit = make()
    batches = [arrivals(*range(number, number + number % 5 + 1)) for number in range(30)]

    assert run(submitted(commit, *batches)) == [outcomes(batch) for batch in batches]


def test_past_the_bound_of_the_queue_a_report_is_refused(make, disk, run):
    commit = make(queue_reports=3)
    disk.open.clear()

    async def fill():
        first = commit.submit(arrivals(1, 2))
        with pytest.raises(Refused, match="2 reports wait") as refused:
            commit.submit(arrivals(3, 4))
        assert (refused.value.code, refused.value.retry_after) == ("unavailable", 1)
        last = commit.submit(arrivals(5))
        disk.open.set()
        return await first, await last

    assert run(fill()) == ([Outcome.ACCEPTED] * 2, ACCEPTED)


def test_places_are_free_again_while_the_loop_is_busy(make, disk, run):
    """Guards: with a queue shorter than the number of clients nearly every report was refused."""
    commit = make(queue_reports=3)

    async def busy():
        first = commit.submit(arrivals(1, 2, 3))
        wait_until(lambda: not commit.state.waiting)  # the loop does not run meanwhile
        return await asyncio.gather(first, commit.submit(arrivals(4, 5, 6)))

    assert run(busy()) == [[Outcome.ACCEPTED] * 3] * 2


def test_a_failed_commit_stores_its_group_alone_not(make, disk, run):
    commit = make()
    disk.failure = OSError("disk full")
    assert run(submitted(commit, arrivals(1))) == [None]
    disk.failure = None
    assert run(submitted(commit, arrivals(1))) == [ACCEPTED]


def test_a_failing_report_fails_its_own_request_alone(make, disk, run):
    """Guards: one statement error used to refuse every report of the group."""
    commit = make()

    uploads = (arrivals(1), arrivals(2, POISON), arrivals(3), arrivals(4))
    assert run(submitted(commit, *uploads)) == [ACCEPTED, None, ACCEPTED, ACCEPTED]
    assert [len(group) for group in disk.groups] == [5, 1, 2, 1, 1]  # the group, then each alone
    assert commit.state.waiting == 0


def test_a_group_is_not_tried_apart_for_longer_than_its_time(make, disk, run, monkeypatch):
    monkeypatch.setattr(group_commit, "APART_SECONDS", 0.0)
    commit = make()

    uploads = (arrivals(1), arrivals(POISON), arrivals(3))
    assert run(submitted(commit, *uploads)) == [None] * 3
    assert [len(group) for group in disk.groups] == [3]


class ThreadEnds(BaseException):
    """Something that no containment of exceptions catches."""


def test_requests_do_not_wait_for_a_thread_that_died(make, disk, run, monkeypatch):
    """Guards: its requests used to wait for 30 s, and their places in the queue were lost."""
    monkeypatch.setattr(threading, "excepthook", lambda _arguments: None)
    monkeypatch.setattr(group_commit, "ACKNOWLEDGE_SECONDS", 600.0)
    commit = make()
    disk.failure = ThreadEnds()
    assert run(submitted(commit, arrivals(1))) == [None]
    disk.failure = None
    assert commit.state.waiting == 0
    wait_until(lambda: commit.state.died)
    assert run(submitted(commit, arrivals(1))) == [ACCEPTED]  # by a new thread
    assert not commit.state.died


def test_report_that_arrived_while_the_thread_died_is_stored_by_a_new_one(
    make, disk, run, monkeypatch
):
    """Guards: it waited until another report came."""
    monkeypatch.setattr(threading, "excepthook", lambda _arguments: None)
    monkeypatch.setattr(group_commit, "ACKNOWLEDGE_SECONDS", 0.2)
    commit = make()
    disk.open.clear()
    disk.failure = ThreadEnds()

    async def submit():
        first = commit.submit(arrivals(1))
        await entered(disk)
        second = commit.submit(arrivals(2))
        disk.open.set()
        with contextlib.suppress(Refused):  # unless it gave up before
            assert await first is None
        while not commit.state.died and not second.done():
            await asyncio.sleep(0.001)
        disk.failure = None
        return await second

    assert run(submit()) == ACCEPTED


def test_metrics_that_cannot_be_written_do_not_undo_a_commit(make, disk, run):
    """Guards: stored reports were answered 503, and the thread ended."""

    class Full:
        def committed(self, *_arguments):
            raise OSError("no space left")

    commit = make(metrics=Full())
    assert run(submitted(commit, arrivals(1))) == [ACCEPTED]
    assert run(submitted(commit, arrivals(2))) == [ACCEPTED]
    assert not commit.state.died


def test_stopping_commits_what_was_submitted_and_refuses_the_rest(make, disk, run):
    idle = []
    commit = make(idle=lambda: idle.append(True))
    disk.open.clear()

    async def stop():
        submitted = [commit.submit(arrivals(number)) for number in range(1, 11)]
        stopping = asyncio.create_task(commit.stop())
        while not commit.state.stopping:
            await asyncio.sleep(0.001)
        with pytest.raises(Refused, match="stopping"):
            commit.submit(arrivals(99))
        disk.open.set()
        await stopping
        return await asyncio.gather(*submitted)

    assert run(stop()) == [ACCEPTED] * 10
    assert idle


def test_a_request_gives_up_waiting_and_its_report_may_still_be_stored(
    make, disk, run, monkeypatch
):
    commit = make()
    disk.open.clear()

    with monkeypatch.context() as patched:
        patched.setattr(group_commit, "ACKNOWLEDGE_SECONDS", 0.01)
        with pytest.raises(Refused, match="not stored within"):
            run(submitted(commit, arrivals(1)))
    disk.open.set()
    wait_until(lambda: disk.groups == [[1]] and not commit.state.waiting)
    assert run(submitted(commit, arrivals(2))) == [ACCEPTED]


def test_request_that_arrives_after_others_gave_up_gives_up_as_well(make, disk, run, monkeypatch):
    """Guards: it waited for as long as the database hung."""
    monkeypatch.setattr(group_commit, "ACKNOWLEDGE_SECONDS", 0.01)
    commit = make()
    disk.open.clear()

    async def submit():
        for number in (1, 2, 3):
            with pytest.raises(Refused, match="not stored within"):
                await asyncio.wait_for(commit.submit(arrivals(number)), LONGEST_SECONDS)

    try:
        run(submit())
    finally:
        disk.open.set()


def test_counts_that_cannot_be_written_are_logged_once_until_they_can(
    make, run, debug_log, monkeypatch
):
    """Guards: a database that was away filled the log, two lines a second."""
    monkeypatch.setattr(group_commit, "IDLE_SECONDS", 0.001)
    turns = [OSError(), OSError(), ValueError(), None, None, OSError()]
    over = threading.Event()

    def idle():
        error = turns.pop(0) if turns else None
        if error is not None:
            raise error
        if not turns:
            over.set()

    commit = make(idle=idle)
    run(submitted(commit, arrivals(1)))
    assert over.wait(LONGEST_SECONDS)
    run(commit.stop())
    found = [json.loads(one.message) for one in debug_log.records if "counts-" in one.message]
    assert [(one["event"], one.get("error")) for one in found] == [
        ("counts-not-written", "OSError"),
        ("counts-not-written", "ValueError"),
        ("counts-written-again", None),
        ("counts-not-written", "OSError"),
        ("counts-written-again", None),
    ]
