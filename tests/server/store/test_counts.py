"""Counts are those of the segments, whatever sealing did, and estimates are computed from them."""

from __future__ import annotations

import pytest

from hushpoll_shared.wire.records_file import read_records
from sample_survey import VERSION
from waiting import run_together


def agree(site):
    """Whether the counts that are kept are those of the segments; the number of reports."""
    row = site.row()
    kept, counted = site.services.segments.recount(row.id, row.record_size)
    assert kept == counted
    return counted.reports


def test_counts_grow_with_each_seal_and_never_by_mixing(site, monkeypatch):
    monkeypatch.setattr("hushpoll_server.store.segments.SEGMENT_REPORTS", 20)
    published = site.publish(minimum_batch=5)
    total = 0
    for number in (5, 9, 30, 6, 41):
        site.fill(published, number)
        total += number
        site.seal()
        assert agree(site) == total
    site.fill(published, 2)
    site.seal(last=True)
    assert agree(site) == total + 2
    site.seal(last=True)
    assert agree(site) == total + 2


def test_counts_answer_what_a_scan_answers(site, monkeypatch):
    published = site.publish()
    site.fill(published, 80)
    paths = [f"{VERSION}/estimates", f"{VERSION}/cross-tables?a=age&b=country"]
    kept = [site.get(path).json for path in paths]

    def never(*_):
        raise AssertionError("the records were read")

    with monkeypatch.context() as patched:
        patched.setattr(site.services.segments, "blocks", never)
        assert [site.get(path).json for path in paths] == kept
    with site.services.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM aggregates")
    assert [site.get(path).json for path in paths] == kept
    assert site.counts(published)["sealed"] == 80


def test_a_seal_that_fails_changes_neither_segments_nor_counts(site, monkeypatch):
    published = site.publish()
    site.fill(published, 20)
    site.seal()
    site.fill(published, 10)

    def fail(*_, **__):
        raise OSError("disk full")

    with monkeypatch.context() as patched:
        patched.setattr("hushpoll_server.store.segments.insert_rows", fail)
        with pytest.raises(OSError, match="disk full"):
            site.seal()
    assert agree(site) == 20
    assert site.counts(published)["inbox"] == 10
    assert site.seal() == 10
    assert agree(site) == 30


def test_seals_at_the_same_time_count_each_report_once(site, make_site):
    """Two processes' worth of folders, on one database."""
    other = make_site()
    published = site.publish()
    moved, total = [], 0
    for number in (30, 50, 20):
        site.fill(published, number)
        total += number
        run_together(*(lambda one=one: moved.append(one.seal()) for one in (site, other) * 3))
        assert agree(site) == total
    assert sum(moved) == total


def test_segments_of_a_release_without_counts_are_counted_at_the_next_seal(site):
    published = site.publish()
    site.fill(published, 20)
    site.seal()
    with site.services.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM aggregates")
    site.fill(published, 10)
    assert site.get(f"{VERSION}/estimates").json["n"] == 30
    assert agree(site) == 30


def test_counts_of_a_release_that_kept_other_pairs_are_made_anew(site, monkeypatch):
    published = site.publish()
    site.fill(published, 20)
    with monkeypatch.context() as patched:
        patched.setattr("hushpoll_analysis.records.counts.PAIRED_CATEGORIES", 5)
        site.seal()
    path = f"{VERSION}/cross-tables?a=age&b=gender"
    assert site.get(path).json["n"] == 20
    site.fill(published, 10)
    assert site.get(path).json["n"] == 30
    assert agree(site) == 30


def test_an_answer_says_how_many_reports_it_leaves_out(site):
    published = site.publish(minimum_batch=10)
    site.fill(published, 10)
    assert (site.get(f"{VERSION}/estimates").json["pending"]) == 0
    site.fill(published, 4)
    for path in ("estimates", "cross-tables?a=gender&b=age"):
        body = site.get(f"{VERSION}/{path}").json
        assert (body["n"], body["pending"]) == (10, 4)
    assert len(read_records(site.get(f"{VERSION}/records").data)[1]) == 10
