"""SQLite's write-ahead log is emptied: it would tell the order of arrival, and tokens with it."""

from __future__ import annotations

import pytest

from waiting import wait_until

pytestmark = pytest.mark.sqlite


@pytest.fixture
def log(tmp_path):
    return tmp_path / "hushpoll.sqlite-wal"


def test_a_quiet_moment_empties_the_log(site, log):
    """Guards: the log kept each commit, and with it the order of arrival, until the next seal."""
    published = site.publish()
    site.send(published)
    wait_until(lambda: log.stat().st_size == 0)
    assert site.counts(published)["inbox"] == 1


def test_a_seal_under_a_reader_leaves_the_log_when_the_reader_ends(site, log):
    """Guards: what was sealed while a reader was at work stayed in the log with its ids."""
    published = site.publish()
    reports = site.fill(published, 50)
    with site.services.database.reading() as connection:
        assert connection.exec_driver_sql("SELECT count(*) FROM inbox").scalar() == 50
        assert site.seal() == 50
        assert any(report.id + report.record in log.read_bytes() for report in reports)
    site.services.database.vacuum()
    assert log.read_bytes() == b""


def test_a_log_left_behind_is_emptied_though_nothing_is_written(site, log, make_site):
    """Guards: after a crash the log of the process before stayed as it was."""
    published = site.publish()
    site.fill(published, 5)
    assert log.stat().st_size
    again = make_site()
    again.services.database.vacuum()
    assert log.read_bytes() == b""
