"""Records are deleted once a survey is over; what was counted, and the ids, stay."""

from __future__ import annotations

import pytest

from hushpoll_shared.wire.records_file import read_records
from postgres_files import files
from sample_survey import VERSION


@pytest.fixture
def over(site):
    published = site.publish()
    reports = site.fill(published, 40)
    site.get(f"{VERSION}/estimates")
    reports += site.fill(published, 1)
    site.close()
    return published, reports


def test_released_records_can_be_deleted(site, over, database_url, tmp_path):
    published, reports = over
    before = site.get(f"{VERSION}/estimates").json
    table = site.get(f"{VERSION}/cross-tables?a=gender&b=country").json
    assert before["n"] == table["n"] == 41
    job = site.post(f"{VERSION}/jobs/export", json={}).json["id"]
    site.run_jobs()
    answer = site.delete_records()
    assert answer.status_code == 200
    assert answer.json == {
        "survey": "work",
        "version": 1,
        "deleted": 41,
        "deleted_at": "2026-03-01T12:00:00Z",
    }
    assert site.get(f"{VERSION}/estimates").json == before
    assert site.get(f"{VERSION}/cross-tables?a=gender&b=country").json == table
    counts = site.counts(published)
    assert (counts["accepted"], counts["sealed"], counts["inbox"]) == (41, 41, 0)
    for path in ("records", "records?format=parquet"):
        assert site.problem(site.get(f"{VERSION}/{path}")) == (410, "records-deleted", None)
    for kind in ("export", "train"):
        answer = site.post(f"{VERSION}/jobs/{kind}", json={})
        assert site.problem(answer)[:2] == (410, "records-deleted")
    assert site.get(f"/api/v1/jobs/{job}/result").status_code == 404
    for report in reports[::10]:
        assert site.send(published, report).json == {"status": "duplicate"}
    if database_url.startswith("sqlite"):
        content = b"".join(path.read_bytes() for path in tmp_path.glob("hushpoll.sqlite*"))
        rows = b"".join(report.record for report in reports)
        size = published.layout.record_size
        # No two records are left next to each other anywhere, in whatever order they were.
        sealed = {rows[start : start + size] for start in range(0, len(rows), size)}
        assert not any(one + two in content for one in sealed for two in sealed)


def test_deleting_again_changes_nothing(site, over):
    first = site.delete_records().json
    site.clock.advance(1000)
    assert site.delete_records().json == {**first, "deleted": 0}


def test_cross_table_without_kept_counts_is_refused_after_deletion(site, monkeypatch):
    monkeypatch.setattr("hushpoll_analysis.records.counts.PAIRED_CATEGORIES", 7)
    published = site.publish()
    site.fill(published, 20)
    site.close()
    # gender, income and education have 2, 2 and 3 categories
    path = f"{VERSION}/cross-tables?a=gender&b="
    assert site.get(path + "age").status_code == 200
    site.delete_records()
    assert site.problem(site.get(path + "age")) == (410, "records-deleted", None)
    assert site.get(path + "education").status_code == 200


@pytest.mark.parametrize("grace", [None, 60])
def test_a_survey_that_may_still_get_reports_keeps_its_records(site, grace):
    published = site.publish()
    site.fill(published, 20)
    if grace is not None:
        site.close(grace)
    assert site.problem(site.delete_records()) == (409, "survey-not-over", None)
    assert len(read_records(site.get(f"{VERSION}/records").data)[1]) == 20


def test_segments_older_than_the_counts_are_counted_before_they_go(site, over):
    before = site.get(f"{VERSION}/estimates").json
    site.execute("DELETE FROM aggregates")
    assert site.delete_records().json["deleted"] == 41
    assert site.get(f"{VERSION}/estimates").json == before


def holding(postgres, site, records):
    """The tables and indexes in whose files, free space and all, one of the records is."""
    found = files(postgres, site)
    return {name for name, content in found.items() if any(one in content for one in records)}


@pytest.fixture
def two_surveys(site):
    """Unlike records of two surveys, sealed and exported; the one that came later is over.

    What is on a page goes where something that was there before it is deleted, and overwrites it.
    """
    records = []
    for name in ("home", "work"):
        published = site.publish(name=name)
        records.append([report.record for report in site.fill(published, 150)])
        site.seal(name)
        site.run_job("export", name=name)
    site.close()
    site.stop_storing()  # whose own vacuum would come in between
    site.vacuum()
    others, mine = set(records[0]), set(records[1])
    # Not one that is a part of what else is stored, by chance.
    return mine - others, others - mine


@pytest.mark.postgresql
def test_of_deleted_records_no_byte_is_left_in_any_table(site, two_surveys, postgres):
    """Guards: those of exports stayed on the pages of job_results, and others in free space."""
    gone, kept = two_surveys
    assert {"segments", "job_results"} <= holding(postgres, site, gone)
    assert site.delete_records().status_code == 200
    site.vacuum()
    assert holding(postgres, site, gone) == set()
    assert {"segments", "job_results"} <= holding(postgres, site, kept)
    assert site.get("/api/v1/surveys/home/versions/1/records").status_code == 200


@pytest.mark.postgresql
def test_of_records_that_are_deleted_under_a_reader_none_is_left_when_it_ends(
    site, two_surveys, postgres
):
    gone, _ = two_surveys
    with site.services.database.reading() as connection:
        connection.exec_driver_sql("SELECT count(*) FROM job_results")
        assert site.delete_records().status_code == 200
        assert {"segments", "job_results"} <= holding(postgres, site, gone)
    site.vacuum()
    assert holding(postgres, site, gone) == set()


@pytest.mark.postgresql
def test_second_deletion_removes_traces_that_a_killed_process_left(
    site, two_surveys, postgres, monkeypatch, make_site
):
    gone, _ = two_surveys
    with monkeypatch.context() as killed:
        killed.setattr(site.services.database, "vacuum", lambda: True)
        assert site.delete_records().json["deleted"] == 150
        site.stop()
    again = make_site()
    again.vacuum()
    assert holding(postgres, again, gone)
    assert again.delete_records().json["deleted"] == 0
    again.vacuum()
    assert holding(postgres, again, gone) == set()


@pytest.mark.postgresql
def test_of_forgotten_results_no_byte_is_left(site, postgres):
    published = site.publish()
    records = {report.record for report in site.fill(published, 150)}
    site.run_job("export")
    site.stop_storing()
    assert "job_results" in holding(postgres, site, records)
    site.clock.advance(100)
    assert site.services.job_store.forget(before=site.services.surveys.now()) == 1
    site.vacuum()
    assert "job_results" not in holding(postgres, site, records)
    assert "segments" in holding(postgres, site, records)
