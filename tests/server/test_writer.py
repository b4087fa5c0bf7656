"""Group commit on its own: who waits, who is told what, what a group holds."""

from __future__ import annotations

import threading
import time

import pytest

from hushpoll_server.errors import Refused
from hushpoll_server.services.writer import Writer
from hushpoll_server.store.reports import Arrival, Outcome


class Disk:
    """A commit that can be held up, and remembers its groups."""

    def __init__(self):
        self.groups = []
        self.open = threading.Event()
        self.open.set()
        self.entered = threading.Semaphore(0)
        self.failing = False

    def commit(self, uploads):
        self.entered.release()
        assert self.open.wait(60)
        if self.failing:
            raise OSError("disk full")
        self.groups.append([arrival.report_id for upload in uploads for arrival in upload])
        return [[Outcome.ACCEPTED] * len(upload) for upload in uploads]


@pytest.fixture
def disk():
    return Disk()


@pytest.fixture
def make_writer(disk):
    writers = []

    def make(**options):
        settings = {"group_reports": 100, "group_seconds": 0.002, "queue_reports": 1000}
        hooks = {"after": lambda accepted: None, "idle": lambda: None}
        writers.append(Writer(disk.commit, **{**settings, **hooks, **options}))
        return writers[-1]

    yield make
    disk.open.set()
    for writer in writers:
        writer.stop(10)


def arrivals(*numbers):
    return [Arrival(1, bytes([number]) * 16, b"record") for number in numbers]


def in_background(writer, *batches):
    """Submit each batch on a thread of its own, and return what each got."""
    results = [None] * len(batches)

    def submit(place, batch):
        try:
            results[place] = writer.submit(batch)
        except Refused as error:
            results[place] = error

    threads = [
        threading.Thread(target=submit, args=(place, batch)) for place, batch in enumerate(batches)
    ]
    for thread in threads:
        thread.start()
    return threads, results


def wait_until(condition):
    deadline = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_no_thread_runs_before_the_first_report(make_writer):
    before = threading.active_count()
    make_writer()
    assert threading.active_count() == before


def test_what_arrives_during_a_commit_forms_the_next_group(make_writer, disk):
    writer = make_writer()
    disk.open.clear()
    first, _ = in_background(writer, arrivals(1))
    disk.entered.acquire()
    rest, results = in_background(writer, *[arrivals(number) for number in range(2, 40)])
    wait_until(lambda: writer._waiting == 39)
    assert results == [None] * 38  # nothing is acknowledged before its commit
    disk.open.set()
    for thread in first + rest:
        thread.join()
    assert [len(group) for group in disk.groups] == [1, 38]
    assert results == [[Outcome.ACCEPTED]] * 38


def test_a_group_is_bounded_and_a_batch_is_never_split(make_writer, disk):
    writer = make_writer(group_reports=10)
    disk.open.clear()
    first, _ = in_background(writer, arrivals(0))
    disk.entered.acquire()
    threads, results = in_background(writer, *[arrivals(*range(4))] * 7)
    wait_until(lambda: writer._waiting == 29)
    disk.open.set()
    for thread in first + threads:
        thread.join()
    assert [len(group) for group in disk.groups] == [1, 12, 12, 4]
    assert results == [[Outcome.ACCEPTED] * 4] * 7


def test_a_lone_report_does_not_wait_for_company(make_writer, disk):
    writer = make_writer(group_seconds=60.0)
    started = time.monotonic()
    for number in range(20):
        writer.submit(arrivals(number))
    assert time.monotonic() - started < 60.0  # any one of them waiting takes longer
    assert [len(group) for group in disk.groups] == [1] * 20


def test_outcomes_go_back_to_their_own_requests(make_writer, disk):
    def commit(group):
        disk.entered.release()
        assert disk.open.wait(60)
        return [
            [Outcome.ACCEPTED if one.report_id[0] % 2 else Outcome.DUPLICATE for one in upload]
            for upload in group
        ]

    disk.commit = commit
    writer = make_writer()
    disk.open.clear()
    batches = [arrivals(*range(number, number + number % 5 + 1)) for number in range(30)]
    threads, results = in_background(writer, *batches)
    disk.entered.acquire()
    disk.open.set()
    for thread in threads:
        thread.join()
    assert results == [
        [Outcome.ACCEPTED if one.report_id[0] % 2 else Outcome.DUPLICATE for one in batch]
        for batch in batches
    ]


def test_past_the_bound_of_the_queue_a_report_is_refused(make_writer, disk):
    writer = make_writer(queue_reports=3)
    disk.open.clear()
    threads, results = in_background(writer, arrivals(1, 2))
    disk.entered.acquire()
    with pytest.raises(Refused, match="2 reports wait") as refused:
        writer.submit(arrivals(3, 4))
    assert (refused.value.code, refused.value.retry_after) == ("unavailable", 1)
    more, accepted = in_background(writer, arrivals(5))
    disk.open.set()
    for thread in threads + more:
        thread.join()
    assert results + accepted == [[Outcome.ACCEPTED] * 2, [Outcome.ACCEPTED]]


def test_a_failed_commit_refuses_its_group_alone(make_writer, disk):
    writer = make_writer()
    disk.failing = True
    with pytest.raises(Refused, match="did not take") as refused:
        writer.submit(arrivals(1))
    assert refused.value.code == "unavailable"
    disk.failing = False
    assert writer.submit(arrivals(1)) == [Outcome.ACCEPTED]


def test_failing_upkeep_does_not_stop_ingest(make_writer, disk):
    def fail(*_arguments):
        raise OSError("disk full")

    writer = make_writer(after=fail, idle=fail)
    for number in range(3):
        assert writer.submit(arrivals(number)) == [Outcome.ACCEPTED]


def test_stopping_commits_what_was_submitted_and_refuses_the_rest(make_writer, disk):
    idle = []
    writer = make_writer(idle=lambda: idle.append(True))
    disk.open.clear()
    threads, results = in_background(writer, *[arrivals(number) for number in range(10)])
    wait_until(lambda: writer._waiting == 10)
    stopping = threading.Thread(target=writer.stop)
    stopping.start()
    wait_until(lambda: writer._stopping)
    with pytest.raises(Refused, match="stopping"):
        writer.submit(arrivals(99))
    disk.open.set()
    for thread in [*threads, stopping]:
        thread.join()
    assert results == [[Outcome.ACCEPTED]] * 10
    assert sum(len(group) for group in disk.groups) == 10
    assert idle


def test_a_request_gives_up_waiting_and_its_report_may_still_be_stored(
    make_writer, disk, monkeypatch
):
    monkeypatch.setattr("hushpoll_server.services.writer.ACKNOWLEDGE_SECONDS", 0.01)
    writer = make_writer()
    disk.open.clear()
    with pytest.raises(Refused, match="not stored within"):
        writer.submit(arrivals(1))
    disk.open.set()
    wait_until(lambda: disk.groups == [[b"\1" * 16]])
