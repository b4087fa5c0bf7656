"""Counts of what was not stored: added up, written late, never lost by a failed write."""

from __future__ import annotations

import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hushpoll_server.errors import Refused


@pytest.fixture
def counters(site):
    site.publish()
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


def test_counts_wait_in_memory_until_they_are_written(site, counters):
    counters.add(1, "2026-03-01", "duplicate")
    assert rows(site) == []
    site.whole._idle()
    assert rows(site) == [("2026-03-01", "duplicate", 1)]
    counters.flush()
    assert rows(site) == [("2026-03-01", "duplicate", 1)]


def test_counts_survive_a_failed_write(site, counters, monkeypatch):
    def fail(_pending):
        raise OSError("disk full")

    counters.add(1, "2026-03-01", "duplicate")
    with monkeypatch.context() as broken:
        broken.setattr(counters, "_write", fail)
        with pytest.raises(OSError, match="disk full"):
            counters.flush()
    counters.add(1, "2026-03-01", "duplicate")
    assert counters.totals(1) == {"duplicate": 2}


def test_counts_that_are_being_written_are_not_missing(counters, monkeypatch):
    """Guards: the writing thread has taken them out of memory and has not committed them yet."""
    taken, finish = threading.Event(), threading.Event()
    write = counters._write

    def slowly(pending):
        taken.set()
        assert finish.wait(60)
        write(pending)

    monkeypatch.setattr(counters, "_write", slowly)
    counters.add(1, "2026-03-01", "duplicate")
    with ThreadPoolExecutor(2) as threads:
        flushed = threads.submit(counters.flush)
        assert taken.wait(60)
        totals = threads.submit(counters.totals, 1)
        with pytest.raises(TimeoutError):
            totals.result(0.2)
        finish.set()
        assert totals.result(60) == {"duplicate": 1}
        flushed.result(60)


def test_counts_that_the_database_does_not_take_are_not_waited_for(counters, monkeypatch):
    counters.add(1, "2026-03-01", "duplicate")
    with monkeypatch.context() as patched:
        patched.setattr("hushpoll_server.store.counts.WAIT_SECONDS", 0.05)
        with counters._writing, pytest.raises(Refused, match="latest counts") as refused:
            counters.totals(1)
    assert (refused.value.code, refused.value.retry_after) == ("unavailable", 2)
    assert counters.totals(1) == {"duplicate": 1}


def test_stopping_writes_the_counts(make_site):
    first = make_site()
    first.publish()
    first.services.counters.add(1, "2026-03-01", "survey-closed")
    first.services.stop()
    second = make_site()
    assert second.services.counters.totals(1) == {"survey-closed": 1}
