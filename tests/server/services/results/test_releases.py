"""Analysts are given releases, which the clock makes: no question, job or upload does."""

from __future__ import annotations

from collections import Counter

import pytest
from sqlalchemy import text

from hushpoll_server.services.maintenance.sealing import Maintenance
from hushpoll_shared.spelling.clock import FixedClock
from hushpoll_shared.wire.records_file import read_records
from sample_survey import VERSION, make_draft, make_report
from waiting import wait_until

HALF_A_DAY = 12 * 3600
ASKED = ("estimates", "cross-tables?a=gender&b=age", "records", "records?format=csv")


def sweep(site):
    site.services.sealing.sweep(site.services.surveys.now())


def midnight(site):
    """Move the clock from noon over midnight to the next noon, and do what it asks for."""
    site.clock.advance(2 * HALF_A_DAY)
    sweep(site)


def exported(site):
    answer = site.get(f"{VERSION}/records")
    assert answer.status_code == 200, answer.json
    return Counter(bytes(row) for row in read_records(answer.data)[1])


def told(site):
    """All that an analyst is told of numbers and records."""
    answers = [site.get(f"{VERSION}/{what}") for what in (*ASKED[:2], "counts")]
    return [exported(site), *(answer.json for answer in answers)]


def segments(site):
    with site.services.database.reading() as connection:
        rows = connection.execute(text("SELECT id, reports, released, data FROM segments"))
        return {row.id: (row.reports, bool(row.released), bytes(row.data)) for row in rows}


@pytest.mark.sqlite
@pytest.mark.parametrize("what", [*ASKED, "jobs/export", "jobs/train", "jobs/shape"])
def test_before_first_release_nothing_is_told_but_when_it_is_due(site, what):
    site.fill(site.publish(release="daily"), 50)
    path = f"{VERSION}/{what}"
    answer = site.post(path, json={}) if what.startswith("jobs") else site.get(path)
    assert site.problem(answer) == (409, "not-released", None)
    assert answer.json["next_release"] == "2026-03-02T00:00:00Z"
    assert "2026-03-02T00:00:00Z" in answer.json["detail"]
    assert "release: immediate" in answer.json["detail"]
    assert "50" not in answer.json["detail"]


@pytest.mark.sqlite
def test_manifest_without_the_term_releases_daily(site):
    draft = make_draft()
    del draft["release"]
    manifest = site.post("/api/v1/surveys", json=draft).json["manifest"]
    assert "release" not in manifest
    assert site.row().release == "daily"


def test_reports_are_released_at_midnight(site):
    published = site.publish(release="daily")
    site.fill(published, 20)
    site.clock.advance(HALF_A_DAY - 1)
    sweep(site)
    assert site.problem(site.get(f"{VERSION}/estimates"))[1] == "not-released"
    site.clock.advance(1)
    sweep(site)
    body = site.get(f"{VERSION}/estimates").json
    assert (body["n"], body["pending"]) == (20, None)
    assert body["release"] == "daily"
    assert body["released_at"] == "2026-03-02T00:00:00Z"
    assert body["next_release"] == "2026-03-03T00:00:00Z"
    assert site.get(f"{VERSION}/cross-tables?a=gender&b=age").json["n"] == 20
    assert sum(exported(site).values()) == 20


@pytest.mark.parametrize("first", [0, 20], ids=["before the first release", "after one"])
def test_no_question_no_job_and_no_upload_releases_anything(make_site, first):
    site = make_site(SEAL_AT=10)
    published = site.publish(release="daily")
    if first:
        site.fill(published, first)
        midnight(site)
    before = site.counts(published)
    reports = site.fill(published, 40)
    for report in [make_report(published), *reports[:5]]:
        site.send(published, report)
    for _ in range(2):
        for what in ASKED:
            site.get(f"{VERSION}/{what}")
        job = site.run_job("seal")
        assert job["moved"] is None
        assert (job["inbox"], job["sealed"]) == (None, first)
        site.services.sealing.turn()
        sweep(site)
    assert site.services.segments.counts(1)[1] >= first + 40  # they were sealed meanwhile
    assert site.counts(published) == before
    assert (before["accepted"], before["inbox"], before["duplicate"]) == (first, None, 0)
    listed = site.get("/api/v1/surveys").json["surveys"][0]
    assert listed["reports"] == first
    if first:
        assert site.get(f"{VERSION}/estimates").json["n"] == first
        assert sum(exported(site).values()) == first
        assert site.run_job("shape")["n"] == first


@pytest.mark.sqlite
def test_counts_are_those_of_the_release_until_the_survey_is_over(site):
    published = site.publish(release="daily")
    reports = site.fill(published, 10)
    site.send_batch(published, reports[:4])
    midnight(site)
    first = site.counts(published)
    assert (first["accepted"], first["sealed"], first["duplicate"]) == (10, 10, 4)
    site.send_batch(published, reports[:3])
    site.fill(published, 1)
    assert site.counts(published) == first
    site.close()
    assert site.send(published).status_code == 410
    last = site.counts(published)
    assert (last["accepted"], last["duplicate"]) == (11, 7)
    assert last["rejected"] == {"survey-closed": 1}


@pytest.mark.sqlite
def test_fewer_than_a_minimum_batch_wait_for_the_next_midnight(site):
    published = site.publish(release="daily", minimum_batch=10)
    site.fill(published, 12)
    midnight(site)
    before = told(site)
    site.fill(published, 9)
    midnight(site)
    after = told(site)
    assert after[0] == before[0]
    site.fill(published, 5)  # now there are enough, and the chance is gone
    sweep(site)
    assert told(site) == after
    midnight(site)
    assert site.get(f"{VERSION}/estimates").json["n"] == 26


def test_server_that_was_down_at_midnight_releases_when_it_starts(make_site):
    first = make_site()
    published = first.publish(release="daily")
    first.fill(published, 20)
    first.services.stop()
    later = make_site(clock=FixedClock("2026-03-04T07:30:00Z"))
    maintenance = Maintenance(later.services.sealing)
    maintenance.start()
    wait_until(lambda: later.get(f"{VERSION}/estimates").status_code == 200)
    maintenance.stop()
    body = later.get(f"{VERSION}/estimates").json
    assert (body["n"], body["released_at"]) == (20, "2026-03-04T07:30:00Z")
    assert body["next_release"] == "2026-03-05T00:00:00Z"


def test_worker_that_seals_makes_releases(make_site):
    site = make_site(SEALING="worker")
    published = site.publish(release="daily")
    site.fill(published, 20)
    site.clock.advance(2 * HALF_A_DAY)
    assert site.get(f"{VERSION}/estimates").status_code == 409
    site.services.sealing.turn()
    assert site.get(f"{VERSION}/estimates").json["n"] == 20


def test_one_of_two_servers_makes_a_release(make_site):
    one = make_site()
    other = make_site(clock=FixedClock(one.clock.now()))
    published = one.publish(release="daily")
    other.fill(published, 20)
    midnight(one)
    before = told(one)
    one.fill(published, 30)
    midnight(other)  # the same one
    assert told(other) == told(one) == before


@pytest.mark.sqlite
@pytest.mark.parametrize("release", ["daily", "weekly", "end"])
def test_end_of_a_survey_releases_the_rest(site, release):
    published = site.publish(release=release)
    site.fill(published, 20)
    site.close(3600)
    assert site.problem(site.get(f"{VERSION}/estimates"))[1] == "not-released"
    assert site.get(f"{VERSION}/counts").json["next_release"] == "2026-03-01T13:00:00Z"
    site.fill(published, 1)
    site.clock.advance(3600)
    sweep(site)
    body = site.get(f"{VERSION}/estimates").json
    assert (body["n"], body["next_release"]) == (21, None)
    assert sum(exported(site).values()) == 21
    assert [one[1] for one in segments(site).values()] == [True]


@pytest.mark.sqlite
def test_survey_that_releases_at_its_end_is_silent_until_then(site):
    published = site.publish(release="end")
    site.fill(published, 20)
    for _ in range(9):
        midnight(site)
    answer = site.get(f"{VERSION}/estimates")
    assert site.problem(answer)[1] == "not-released"
    assert "closed" in answer.json["detail"]
    assert answer.json["next_release"] is None
    site.close()
    assert site.get(f"{VERSION}/estimates").json["n"] == 20


@pytest.mark.sqlite
def test_survey_that_is_over_with_too_few_reports_says_so(site):
    published = site.publish(release="daily", minimum_batch=10)
    site.fill(published, 4)
    site.close()
    assert site.problem(site.get(f"{VERSION}/estimates"))[1] == "not-enough-reports"


@pytest.mark.sqlite
@pytest.mark.parametrize("release", ["daily", "end"])
def test_survey_that_is_over_without_a_report_promises_no_release(site, release):
    """Guards: that its reports are released within seconds was said for ever."""
    site.publish(release=release)
    site.close(60)
    site.clock.advance(60)
    sweep(site)
    assert site.problem(site.get(f"{VERSION}/estimates"))[1] == "not-enough-reports"
    assert site.get(f"{VERSION}/counts").json["next_release"] is None


@pytest.mark.sqlite
def test_week_ends_as_monday_begins(site):
    published = site.publish(release="weekly")  # on Sunday, 1 March 2026
    site.fill(published, 20)
    assert site.get(f"{VERSION}/counts").json["next_release"] == "2026-03-02T00:00:00Z"
    midnight(site)
    assert site.get(f"{VERSION}/estimates").json["n"] == 20
    site.fill(published, 20)
    for _ in range(6):
        midnight(site)
        assert site.get(f"{VERSION}/estimates").json["n"] == 20
    midnight(site)
    assert site.get(f"{VERSION}/estimates").json["n"] == 40


def attack(site, published):
    """Export, wait for one report, send 99 of one's own, export again, subtract.

    Whatever can be asked is asked in between. Returns what is new and not one's own.
    """
    before = exported(site)
    answers = {"gender": "Female", "age": None, "education": "low", "income": "poor"}
    victim = make_report(published, **answers)
    site.send(published, victim)
    own = [make_report(published, education="middle") for _ in range(99)]
    site.send_batch(published, own)
    for what in ASKED:
        site.get(f"{VERSION}/{what}")
    site.run_job("seal")
    site.services.sealing.turn()
    return exported(site) - before - Counter(report.record for report in own), victim.record


@pytest.mark.sqlite
def test_attacker_who_subtracts_exports_of_a_daily_survey_finds_nothing(site):
    """Guards: an analyst who sent all reports of a minimum batch but one was given that one."""
    published = site.publish(release="daily", minimum_batch=100)
    site.fill(published, 300)
    midnight(site)
    for _ in range(3):
        found, _ = attack(site, published)
        assert not found
    assert site.get(f"{VERSION}/estimates").json["n"] == 300


@pytest.mark.sqlite
def test_same_attacker_finds_a_record_where_release_is_immediate(site):
    published = site.publish(release="immediate", minimum_batch=100)
    site.fill(published, 300)
    found, victim = attack(site, published)
    assert found == Counter([victim])


def test_records_sealed_between_releases_stay_apart_from_released_ones(site):
    published = site.publish(release="daily")
    site.fill(published, 10)
    midnight(site)
    (first,) = segments(site).values()
    assert first[:2] == (10, True)
    for _ in range(3):
        site.fill(published, 5)
        site.run_job("seal")
        later = sorted(segments(site).values())
        assert later[0] == first or later[1] == first
        assert len(later) == 2  # what is not released is shuffled together
    midnight(site)
    ((reports, released, _),) = segments(site).values()  # and with the rest by the release
    assert (reports, released) == (25, True)


@pytest.mark.parametrize("most", [7, 16])
def test_releases_of_full_segments_hold_every_report_once(site, monkeypatch, most):
    monkeypatch.setattr("hushpoll_server.store.segments.SEGMENT_REPORTS", most)
    published = site.publish(release="daily")
    sent = Counter()
    for size in (5, 11, 23, 3, 40):
        sent += Counter(report.record for report in site.fill(published, size))
        site.run_job("seal")
        site.fill(published, 3)
        before = exported(site) if len(sent) > 5 else None
        site.run_job("seal")
        if before is not None:
            assert exported(site) == before
        midnight(site)
        sent = exported(site)
    assert sum(sent.values()) == 5 + 11 + 23 + 3 + 40 + 15
    assert site.get(f"{VERSION}/estimates").json["n"] == sum(sent.values())


def test_records_of_releases_are_deleted_and_their_counts_stay(site):
    published = site.publish(release="daily")
    site.fill(published, 20)
    midnight(site)
    site.fill(published, 10)
    site.close()
    assert site.delete_records().json["deleted"] == 30
    assert segments(site) == {}
    assert site.get(f"{VERSION}/estimates").json["n"] == 30
    assert site.problem(site.get(f"{VERSION}/records"))[1] == "records-deleted"


def by_day(site):
    answer = site.get(f"{VERSION}/overview")
    assert answer.status_code == 200, answer.json
    return [tuple(entry.values()) for entry in answer.json["released_by_day"]]


def test_released_reports_are_counted_by_day_of_release(site):
    published = site.publish(release="daily")
    assert by_day(site) == []
    site.fill(published, 20)
    midnight(site)
    site.fill(published, 30)
    # What came in since the release is told by nobody.
    assert by_day(site) == [("2026-03-02", 20, 20)]
    midnight(site)
    midnight(site)  # without a report there is no release, and no day
    assert by_day(site) == [("2026-03-02", 20, 20), ("2026-03-03", 50, 30)]


@pytest.mark.sqlite
def test_immediate_reports_are_counted_by_day_of_sealing(site):
    published = site.publish(release="immediate")
    site.fill(published, 20)
    site.get(f"{VERSION}/estimates")
    site.fill(published, 15)
    site.get(f"{VERSION}/estimates")
    assert by_day(site) == [("2026-03-01", 35, 35)]
    site.clock.advance(2 * HALF_A_DAY)
    site.fill(published, 20)
    site.get(f"{VERSION}/estimates")
    assert by_day(site) == [("2026-03-01", 35, 35), ("2026-03-02", 55, 20)]


@pytest.mark.sqlite
def test_reports_of_the_end_are_counted_on_its_day(site):
    site.fill(site.publish(release="end"), 20)
    midnight(site)
    assert by_day(site) == []
    site.services.surveys.close(site.row())
    site.clock.advance(30 * 2 * HALF_A_DAY)
    sweep(site)
    assert by_day(site) == [(site.clock.now().strftime("%Y-%m-%d"), 20, 20)]
