"""What metrics say, to whom, and what they never say."""

from __future__ import annotations

import re

import pytest
from prometheus_client.parser import text_string_to_metric_families

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.settings import Settings
from hushpoll_shared.wire import reports as wire
from sample_survey import bearer, body_of, make_report

TOKEN = "metrics-token-of-tests"
BEARER = bearer(TOKEN)


@pytest.fixture
def measured_site(make_site):
    return make_site(METRICS_TOKEN=TOKEN)


def samples(text):
    """Every sample by its name and labels."""
    return {
        (one.name, *sorted(one.labels.items())): one.value
        for family in text_string_to_metric_families(text)
        for one in family.samples
    }


def read(site):
    answer = site.get("/metrics", headers=BEARER)
    assert answer.status_code == 200
    assert answer.content_type.startswith("text/plain")
    assert answer.headers["Cache-Control"] == "no-store"
    return samples(answer.text)


@pytest.mark.sqlite
def test_metrics_are_answered_for_the_metrics_token_alone(make_site):
    assert make_site().get("/metrics").status_code == 404
    site = make_site(METRICS_TOKEN=TOKEN)
    assert site.get("/metrics", headers=BEARER).status_code == 200
    other = {"Authorization": f"Basic {TOKEN}"}
    for headers in ({}, site.admin, {"Authorization": f"Bearer {TOKEN}x"}, other):
        answer = site.get("/metrics", headers=headers)
        assert site.problem(answer) == (401, "unauthorized", "Authorization")
    assert site.get("/api/v1/tokens", headers=BEARER).status_code in (401, 405)
    with pytest.raises(InvalidParameter, match=r"METRICS_TOKEN is .*at least 16") as refused:
        Settings(metrics_token="short")
    assert "short" not in str(refused.value)


def test_metrics_count_reports_by_outcome_and_requests_by_route(measured_site):
    site = measured_site
    published = site.publish()
    report = make_report(published)
    body = body_of(published, report)
    other = wire.encode_report_json(published.digest, wire.Report(report.id, make_other(report)))
    broken = {**body, "record": wire.b64encode(report.record[:-1])}
    statuses = [site.send_body(one).status_code for one in (body, body, other, broken)]
    assert statuses == [201, 200, 409, 422]
    site.fill(published, 30)
    found = read(site)
    outcomes = {
        key[1][1]: value for key, value in found.items() if key[0] == "hushpoll_reports_total"
    }
    assert outcomes == {
        "accepted": 31, "duplicate": 1, "report-conflict": 1, "malformed-report:length": 1,
    }  # fmt: skip
    route = ("route", "/api/v1/surveys/<name>/reports")
    assert {
        key[3][1]: value
        for key, value in found.items()
        if key[0] == "hushpoll_http_requests_total" and route in key
    } == {"201": 1, "200": 2, "409": 1, "422": 1}
    count = ("hushpoll_http_request_seconds_count", ("method", "POST"), route)
    assert found[count] == 5
    assert found["hushpoll_group_reports_sum",] == 33  # with the repeat and the conflict
    assert found["hushpoll_commit_seconds_count",] == 4


def make_other(report):
    """Another well-formed record: the first byte is the code of a gender."""
    return bytes([1 - report.record[0]]) + report.record[1:]


def test_metrics_sample_the_database_and_tell_when_it_is_away(measured_site, monkeypatch):
    site = measured_site
    published = site.publish()
    site.fill(published, 30)
    sampler = site.services.sampler
    sampler.sample()
    found = read(site)
    assert found["hushpoll_inbox_reports",] == 30
    assert (found["hushpoll_queue_reports",], found["hushpoll_database_up",]) == (0, 1)
    states = {key[1][1]: value for key, value in found.items() if key[0] == "hushpoll_jobs"}
    assert states == dict.fromkeys(("queued", "running", "done", "failed", "cancelled"), 0)
    site.services.job_store.add(
        job_id="1",
        version_id=1,
        kind="export",
        parameters="{}",
        token_id="0",
        now=0,
        most=1,
    )
    sampler.sample()
    assert read(site)["hushpoll_jobs", ("state", "queued")] == 1
    site.seal()
    assert read(site)["hushpoll_inbox_reports",] == 30  # reading asks nothing of the database
    sampler.sample()
    assert read(site)["hushpoll_inbox_reports",] == 0

    def gone():
        raise OSError("gone")

    monkeypatch.setattr(site.services.database, "reading", gone)
    sampler.sample()
    assert read(site)["hushpoll_database_up",] == 0  # and reading metrics needs no database


@pytest.mark.parametrize("ends", ["of a period", "of the survey"])
def test_overdue_seal_of_workers_counts_as_failing_maintenance(make_site, ends):
    """Guards: where workers seal, the gauge was 0 whatever happened to them."""
    site = make_site(METRICS_TOKEN=TOKEN, SEALING="worker", CLOSE_GRACE_SECONDS=0)
    closes = "2026-03-02T12:00:00Z" if ends == "of the survey" else None
    release = "daily" if closes is None else "end"
    published = site.publish(minimum_batch=5, release=release, closes=closes)
    site.fill(published, 10)

    def failing():
        site.services.sampler.sample()
        return read(site)["hushpoll_maintenance_failing",]

    assert failing() == 0
    site.clock.advance(2 * 86_400)
    assert failing() == 1
    site.services.sealing.turn()  # as a worker does
    assert failing() == 0


@pytest.mark.sqlite
def test_no_label_tells_of_a_survey_or_a_request(measured_site):
    site = measured_site
    published = site.publish(name="x7qz-survey", title="x7Qz title")
    report = make_report(published)
    site.client().post(
        "/api/v1/surveys/x7qz-survey/reports?x7Qz=1",
        json=body_of(published, report),
        headers={"User-Agent": "x7Qz-agent", "X-Forwarded-For": "203.0.113.77"},
        environ_overrides={"REMOTE_ADDR": "198.51.100.23"},
    )
    site.client().open("/x7Qz/path", method="X7QZ")
    text = site.get("/metrics", headers=BEARER).text
    assert 'method="other",route="none",status="404"' in text or 'status="405"' in text
    for trace in ("x7qz", "203.0.113.77", "198.51.100.23", published.digest, report.id.hex()):
        assert trace not in text.lower()
    labels = set(re.findall(r'(\w+)="', text))
    assert labels == {"outcome", "method", "route", "status", "le", "version"}
