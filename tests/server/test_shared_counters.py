"""Counters that hold over threads, forks and kills."""

from __future__ import annotations

import multiprocessing
import os
import signal
import threading
import time

import pytest
from limits import RateLimitItemPerMinute
from limits.storage import storage_from_string
from limits.strategies import FixedWindowRateLimiter

from hushpoll_server import shared_counters
from hushpoll_server.shared_counters import SCHEME, WAYS, SharedCounters, SharedMemory


class Clock:
    def __init__(self):
        self.now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def counters(clock):
    return SharedCounters(shared=SharedMemory(64), clock=clock)


def test_a_window_begins_with_its_first_hit_and_ends(counters, clock):
    assert [counters.incr("a", 60), counters.incr("a", 60, 3), counters.incr("b", 60)] == [1, 4, 1]
    clock.now += 59
    assert (counters.get("a"), counters.get_expiry("a")) == (4, 1060.0)
    clock.now += 1
    assert (counters.get("a"), counters.get_expiry("a")) == (0, 1060.0)
    assert counters.incr("a", 60) == 1
    assert counters.get_expiry("a") == 1120.0


def test_keys_are_cleared_one_by_one_or_all(counters):
    for key in "abc":
        counters.incr(key, 60)
    counters.clear("b")
    counters.clear("never counted")
    assert [counters.get(key) for key in "abc"] == [1, 0, 1]
    assert counters.reset() is None
    assert [counters.get(key) for key in "abc"] == [0, 0, 0]
    assert counters.check()


def test_a_crowd_of_new_keys_does_not_free_one_that_is_over_its_limit(clock):
    counters = SharedCounters(shared=SharedMemory(WAYS), clock=clock)
    for _ in range(50):
        counters.incr("busy", 60)
    for number in range(1000):
        assert counters.incr(f"new {number}", 60) == 1
    assert counters.get("busy") == 50
    clock.now += 60  # windows that are over go first
    assert [counters.incr(f"later {number}", 60) for number in range(WAYS)] == [1] * WAYS
    assert [counters.get(f"later {number}") for number in range(WAYS)] == [1] * WAYS


def test_the_library_counts_with_it_by_its_address(clock):
    storage = storage_from_string(f"{SCHEME}://", shared=SharedMemory(64), clock=clock)
    limiter, limit = FixedWindowRateLimiter(storage), RateLimitItemPerMinute(3)
    assert [limiter.hit(limit, "one") for _ in range(5)] == [True] * 3 + [False] * 2
    assert limiter.hit(limit, "other")
    assert limiter.get_window_stats(limit, "one") == (1060.0, 0)


def hit(counters, times, passed):
    found = sum(counters.incr("key", 600) <= 1000 for _ in range(times))
    with passed.get_lock():
        passed.value += found


def test_a_limit_holds_over_processes_and_their_threads():
    """4 processes of 4 threads, 250 hits each: 4000 hits, of which 1000 pass, to the unit."""
    counters = SharedCounters(shared=SharedMemory(64))
    context = multiprocessing.get_context("fork")
    passed = context.Value("q", 0)

    def run():
        threads = [threading.Thread(target=hit, args=(counters, 250, passed)) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()

    processes = [context.Process(target=run) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join(60)
    assert [process.exitcode for process in processes] == [0] * 4
    assert (passed.value, counters.get("key")) == (1000, 4000)


def test_a_process_killed_while_it_counts_leaves_no_lock(monkeypatch):
    shared = SharedMemory(WAYS)
    counters = SharedCounters(shared=shared)
    ready, told = os.pipe()
    child = os.fork()
    if child == 0:
        with shared.locked(0):
            os.write(told, b"x")
            time.sleep(60)
        os._exit(0)
    assert os.read(ready, 1) == b"x"
    done = threading.Thread(target=counters.incr, args=("key", 60), daemon=True)
    done.start()
    done.join(0.2)
    assert done.is_alive()  # it waits: there is one bucket
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    done.join(60)
    assert not done.is_alive()
    assert counters.get("key") == 1
    os.close(ready)
    os.close(told)


def test_a_fork_in_the_middle_of_a_count_does_not_stop_the_child():
    """Guards: a lock that another thread held at the fork would stay held in the child for ever."""
    shared = SharedMemory(WAYS)
    counters = SharedCounters(shared=shared)
    with shared._lock:
        child = os.fork()
        if child == 0:
            os._exit(counters.incr("key", 60))
    _, status = os.waitpid(child, 0)
    assert os.waitstatus_to_exitcode(status) == 1
    assert counters.get("key") == 1


def test_the_memory_is_not_a_file(tmp_path, monkeypatch):
    """Nothing that is counted may reach a disk: the mapping is anonymous, the locked file empty."""
    counters = SharedCounters(shared=SharedMemory(64))
    counters.incr("key", 60)
    assert os.fstat(counters._shared._file).st_size == 0
    assert shared_counters.SLOT.size * 64 == len(counters._shared.memory)
