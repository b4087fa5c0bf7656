"""Records are deleted once a survey is over; what was counted, and the ids, stay."""

from __future__ import annotations

import pytest

from hushpoll_server.jobs.runner import Runner
from hushpoll_shared import wire

VERSION = "/api/v1/surveys/work/versions/1"


def delete(site):
    return site.app.test_client().delete(f"{VERSION}/records", headers=site.admin)


def close(site, grace=0):
    answer = site.post(f"{VERSION}/close", json={"grace_seconds": grace})
    assert answer.status_code == 200


@pytest.fixture
def over(site):
    published = site.publish()
    reports = site.fill(published, 40)
    site.get(f"{VERSION}/estimates")
    reports += site.fill(published, 1)
    close(site)
    return published, reports


def test_what_is_released_can_be_deleted(site, over, database_url, tmp_path):
    published, reports = over
    before = site.get(f"{VERSION}/estimates").json
    table = site.get(f"{VERSION}/cross-tables?a=gender&b=country").json
    assert before["n"] == table["n"] == 41
    job = site.post(f"{VERSION}/jobs/export", json={}).json["id"]
    Runner(site.collector).run(job)
    answer = delete(site)
    assert answer.status_code == 200
    assert answer.json == {
        "name": "work",
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
        body = wire.encode_report_json(published.digest, report)
        assert site.send("work", body).json == {"status": "duplicate"}
    if database_url.startswith("sqlite"):
        content = b"".join(path.read_bytes() for path in tmp_path.glob("hushpoll.sqlite*"))
        rows = b"".join(report.record for report in reports)
        size = published.layout.record_size
        # No two records are left next to each other anywhere, in whatever order they were.
        sealed = {rows[start : start + size] for start in range(0, len(rows), size)}
        assert not any(one + two in content for one in sealed for two in sealed)


def test_deleting_again_changes_nothing(site, over):
    first = delete(site).json
    site.clock.advance(1000)
    assert delete(site).json == {**first, "deleted": 0}


def test_a_pair_whose_counts_are_not_kept_is_gone_with_the_records(site, monkeypatch):
    monkeypatch.setattr("hushpoll_analysis.pair_counts.PAIRED_CATEGORIES", 7)
    published = site.publish()
    site.fill(published, 20)
    close(site)
    # gender, income and education have 2, 2 and 3 categories
    path = f"{VERSION}/cross-tables?a=gender&b="
    assert site.get(path + "age").status_code == 200
    delete(site)
    assert site.problem(site.get(path + "age")) == (410, "records-deleted", None)
    assert site.get(path + "education").status_code == 200


@pytest.mark.parametrize("grace", [None, 60])
def test_a_survey_that_may_still_get_reports_keeps_its_records(site, grace):
    published = site.publish()
    site.fill(published, 20)
    if grace is not None:
        close(site, grace)
    assert site.problem(delete(site)) == (409, "survey-not-over", None)
    assert len(wire.read_records(site.get(f"{VERSION}/records").data)[1]) == 20


def test_segments_older_than_the_counts_are_counted_before_they_go(site, over):
    before = site.get(f"{VERSION}/estimates").json
    with site.collector.database.writing() as connection:
        connection.exec_driver_sql("DELETE FROM folded_counts")
    assert delete(site).json["deleted"] == 41
    assert site.get(f"{VERSION}/estimates").json == before
