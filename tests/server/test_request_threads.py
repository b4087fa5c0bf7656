"""The threads that answer requests, and what they hand back to the one that accepts."""

from __future__ import annotations

import os
import select
import threading
import time

import pytest

from hushpoll_server.request_threads import Handback, RequestThreads

SECONDS = 10


def wait_for(condition):
    deadline = time.monotonic() + SECONDS
    while not condition():
        assert time.monotonic() < deadline
        time.sleep(0.001)


def test_no_more_threads_than_may_work_and_the_rest_in_order():
    threads = RequestThreads(2)
    began, order, gates = [], [], [threading.Event() for _ in range(5)]

    def task(number):
        began.append(number)
        gates[number].wait(SECONDS)
        order.append((number, threading.get_ident()))

    for number in range(5):
        threads.submit(lambda number=number: task(number))
    wait_for(lambda: len(began) == 2)
    time.sleep(0.02)
    assert sorted(began) == [0, 1]
    for gate in gates:
        gate.set()
    wait_for(lambda: len(order) == 5)
    assert began[2:] == [2, 3, 4]
    assert len({ident for _, ident in order}) <= 2


def test_the_thread_that_was_idle_for_the_shortest_time_works_next():
    threads = RequestThreads(3)
    gates = [threading.Event() for _ in range(3)]
    names = []

    def task(gate):
        gate.wait(SECONDS)
        names.append(threading.current_thread())

    for gate in gates:
        threads.submit(lambda gate=gate: task(gate))
    for done, gate in enumerate(gates, 1):
        gate.set()
        wait_for(lambda done=done: len(names) == done)
        wait_for(lambda done=done: len(threads._idle) == done)
    last = names[-1]
    for done in range(4, 8):
        threads.submit(lambda: names.append(threading.current_thread()))
        wait_for(lambda done=done: len(names) == done and len(threads._idle) == 3)
    assert set(names[3:]) == {last}


def test_every_task_of_many_is_done_once():
    threads = RequestThreads(4)
    handback = Handback()
    handback.init()
    done = []
    submitters = [
        threading.Thread(
            target=lambda first=first: [
                threads.submit(lambda one=one: handback.defer(done.append, one))
                for one in range(first, first + 2000)
            ]
        )
        for first in range(0, 8000, 2000)
    ]
    for submitter in submitters:
        submitter.start()
    deadline = time.monotonic() + SECONDS
    while len(done) < 8000 and time.monotonic() < deadline:
        if select.select([handback.fileno()], [], [], 1)[0]:
            handback.run_callbacks(handback.fileno())
    assert sorted(done) == list(range(8000))
    assert not select.select([handback.fileno()], [], [], 0)[0]


def test_many_calls_wake_once():
    handback = Handback()
    handback.init()
    made = []
    for one in range(50):
        handback.defer(made.append, one)
    assert len(os.read(handback.fileno(), 100)) == 1
    os.write(handback._write_end, b"\0")
    handback.run_callbacks(handback.fileno())
    assert made == list(range(50))
    handback.defer(made.append, 50)
    assert select.select([handback.fileno()], [], [], 0)[0]


def test_a_call_that_hands_back_another_is_followed_by_it():
    handback = Handback()
    handback.init()
    made = []
    handback.defer(lambda: handback.defer(made.append, "second"))
    wait_for(lambda: made or handback.run_callbacks(handback.fileno()))
    assert made == ["second"]


def test_stopping_cuts_nothing_off():
    threads = RequestThreads(1)
    gate, done = threading.Event(), threading.Event()
    threads.submit(lambda: (gate.wait(SECONDS), done.set()))
    threads.shutdown(wait=False)
    gate.set()
    assert done.wait(SECONDS)


def test_a_thread_that_cannot_be_started_leaves_its_task_to_the_others(monkeypatch):
    threads = RequestThreads(3)
    gate, done = threading.Event(), []
    start = threading.Thread.start

    def refused(_thread):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refused)
    with pytest.raises(RuntimeError):
        threads.submit(lambda: done.append(0))
    monkeypatch.setattr(threading.Thread, "start", start)
    threads.submit(lambda: (gate.wait(SECONDS), done.append(1)))
    monkeypatch.setattr(threading.Thread, "start", refused)
    threads.submit(lambda: done.append(2))
    gate.set()
    wait_for(lambda: done == [1, 2])
    monkeypatch.setattr(threading.Thread, "start", start)
    assert threads._started == 1
