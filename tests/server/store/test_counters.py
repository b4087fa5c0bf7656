"""Counts of what was not stored: added up, written late, never lost by a failed write."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hushpoll_server.errors import Refused
from waiting import LONGEST_SECONDS, wait_until


@pytest.fixture
def published(site):
    return site.publish()


@pytest.fixture
def counters(site, published):
    return site.services.counters


def rows(site):
    with site.services.database.reading() as connection:
        found = connection.exec_driver_sql("SELECT day, outcome, count FROM counters ORDER BY day")
        return [tuple(row) for row in found]


def test_counts_add_up_over_flushes_and_days(site, counters):
    counters.add(1, "2026-03-01", "duplicate", 2)
    counters.flush()
    counters.add(1, "2026-03-01", "duplicate")
    counters.add(1, "2026-03-02", "duplicate", 4)
    assert counters.totals(1) == {"duplicate": 7}
    assert rows(site) == [("2026-03-01", "duplicate", 3), ("2026-03-02", "duplicate", 4)]


def test_counts_wait_in_memory_until_the_server_is_quiet(site, counters, published):
    counters.add(1, "2026-03-01", "duplicate")
    assert rows(site) == []
    site.fill(published, 1)
    wait_until(lambda: rows(site) == [("2026-03-01", "duplicate", 1)])
    counters.flush()
    assert rows(site) == [("2026-03-01", "duplicate", 1)]


def test_counts_survive_a_failed_write(site, counters, monkeypatch):
    def fail(**_options):
        raise OSError("disk full")

    counters.add(1, "2026-03-01", "duplicate")
    with monkeypatch.context() as broken:
        broken.setattr(site.services.database, "writing", fail)
        with pytest.raises(OSError, match="disk full"):
            counters.flush()
    counters.add(1, "2026-03-01", "duplicate")
    assert counters.totals(1) == {"duplicate": 2}


@pytest.fixture
def slow_flush(site, counters, monkeypatch):
    """Writes a count on another thread, and waits in the middle until it is told to go on."""
    begun, finish = threading.Event(), threading.Event()
    writing = site.services.database.writing

    def slowly(**options):
        begun.set()
        assert finish.wait(LONGEST_SECONDS)
        return writing(**options)

    monkeypatch.setattr(site.services.database, "writing", slowly)
    counters.add(1, "2026-03-01", "duplicate")
    with ThreadPoolExecutor(1) as thread:
        flushed = thread.submit(counters.flush)
        assert begun.wait(LONGEST_SECONDS)
        try:
            yield finish
        finally:
            finish.set()
        flushed.result(LONGEST_SECONDS)


def test_counts_that_are_being_written_are_not_missing(counters, slow_flush):
    """Guards: the writing thread has taken them out of memory and has not committed them yet."""
    with ThreadPoolExecutor(1) as thread:
        totals = thread.submit(counters.totals, 1)
        with pytest.raises(TimeoutError):
            totals.result(0.2)
        slow_flush.set()
        assert totals.result(LONGEST_SECONDS) == {"duplicate": 1}


def test_counts_that_the_database_does_not_take_are_not_waited_for(
    counters, slow_flush, monkeypatch
):
    with monkeypatch.context() as patched:
        patched.setattr("hushpoll_server.store.counts.WAIT_SECONDS", 0.05)
        with pytest.raises(Refused, match="latest counts") as refused:
            counters.totals(1)
    assert (refused.value.code, refused.value.retry_after) == ("unavailable", 2)
    slow_flush.set()
    assert counters.totals(1) == {"duplicate": 1}


def test_stopping_writes_the_counts(make_site):
    first = make_site()
    first.publish()
    first.services.counters.add(1, "2026-03-01", "survey-closed")
    first.services.stop()
    second = make_site()
    assert second.services.counters.totals(1) == {"survey-closed": 1}
