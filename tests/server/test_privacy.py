"""The order and the moment of a report are not kept: the tables and SQLite's file are searched."""

from __future__ import annotations

import pytest

from chunks import unpack
from sample_survey import body_of, make_report


def files(tmp_path):
    """Everything the database has on disk: file, log and index of the log."""
    found = {path.name: path.read_bytes() for path in tmp_path.glob("hushpoll.sqlite*")}
    assert "hushpoll.sqlite" in found
    return found


@pytest.mark.sqlite
def test_sealed_reports_leave_the_file_and_its_log(site, tmp_path):
    """A recognisable record next to its id is in the files before sealing and not after."""
    published = site.publish()
    reports = site.fill(published, 300)
    pairs = [(report.id, report.record) for report in reports]

    def linked():
        contents = files(tmp_path).values()
        # SQLite writes the columns of a row one after the other
        return sum(any(one + two in content for content in contents) for one, two in pairs)

    assert linked() == 300
    site.seal()
    assert site.counts(published)["sealed"] == 300
    assert linked() == 0


@pytest.mark.sqlite
def test_the_rows_of_a_table_are_in_the_order_of_their_random_keys(site):
    published = site.publish()
    ids = []
    for _ in range(40):
        report = make_report(published)
        site.send(published, report)
        ids.append(report.id)

    def rows(table):
        (schema,) = site.scalars(f"SELECT sql FROM sqlite_master WHERE name = '{table}'")
        # Row ids of chunks are given in the order of their ids.
        assert ("WITHOUT ROWID" in schema) == (table != "sealed_ids")
        if table == "sealed_ids":
            return list(unpack(site.scalars("SELECT ids FROM sealed_ids")))
        return site.scalars(f"SELECT report_id FROM {table}")

    assert (rows("inbox"), rows("sealed_ids")) == (sorted(ids), [])
    site.seal()
    assert (rows("inbox"), rows("sealed_ids")) == ([], sorted(ids))


@pytest.mark.sqlite
def test_where_sealed_ids_stand_in_the_file_tells_nothing_of_their_arrival(site, tmp_path):
    """Guards: a page keeps its rows where they were inserted, so ids inserted one by one told."""
    published = site.publish()
    arrived = []
    for _ in range(60):  # a page has room for more, so nothing moves once it is inserted
        report = make_report(published)
        site.send(published, report)
        arrived.append(report.id)
    site.seal()
    content = files(tmp_path)["hushpoll.sqlite"]
    # A chunk's least id is its key as well, in the row and in the index.
    places = {one: content.rindex(one) for one in arrived}
    assert all(content.count(one) <= 2 for one in arrived)
    assert max(places.values()) - min(places.values()) < 4096
    # The place follows from the ids alone.
    assert sorted(arrived, key=places.__getitem__) == sorted(arrived)


def test_time_is_kept_to_the_day(site):
    published = site.publish()
    body = body_of(published)
    for _ in range(2):
        site.send_body(body)
    site.services.counters.flush()
    assert site.scalars("SELECT day || outcome || count FROM counters") == ["2026-03-01duplicate1"]
