"""Turns: one thread at a time, in the order of asking, and none waits for ever or in a crowd."""

from __future__ import annotations

import threading

import pytest

from hushpoll_server.errors import Refused
from hushpoll_server.services.surveys.turns import RETRY_AFTER_SECONDS, Turns
from waiting import LONGEST_SECONDS, run_together, wait_until


def test_threads_work_one_at_a_time_in_the_order_in_which_they_asked():
    turns, order, together = Turns("others work", most=5), [], []

    def work(number):
        with turns.take(LONGEST_SECONDS):
            together.append(number)
            order.append(number)
            assert together == [number]
            together.remove(number)

    threads = []
    with turns.take():
        for number in range(5):
            threads.append(threading.Thread(target=work, args=(number,)))
            threads[-1].start()
            wait_until(lambda: len(turns._waiting) == len(threads))
    for thread in threads:
        thread.join(LONGEST_SECONDS)
    assert order == [0, 1, 2, 3, 4]


def test_who_waits_too_long_is_refused_and_leaves_the_queue():
    turns = Turns("others work", most=1)
    with turns.take():
        for _ in range(2):
            with pytest.raises(Refused, match="others work; send the same again") as refused:
                turns.take(0.01).__enter__()
            assert refused.value.code == "unavailable"
            assert refused.value.retry_after == RETRY_AFTER_SECONDS
    with turns.take(0):
        pass


def test_past_the_most_that_may_wait_the_next_is_refused_at_once():
    turns, done = Turns("others work", most=1), threading.Event()

    def wait():
        with turns.take(LONGEST_SECONDS):
            done.set()

    def crowd():
        with turns.take():
            thread = threading.Thread(target=wait)
            thread.start()
            wait_until(lambda: turns._waiting)
            with pytest.raises(Refused):
                turns.take(LONGEST_SECONDS).__enter__()
        thread.join(LONGEST_SECONDS)

    run_together(crowd)
    assert done.is_set()


def test_a_turn_ends_where_the_work_fails():
    turns = Turns("others work", most=1)
    with pytest.raises(ValueError, match="of the work"), turns.take():
        raise ValueError("of the work")
    with turns.take(0):
        pass
