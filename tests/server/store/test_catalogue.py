"""Two servers on one database: a close that was answered holds in both, and so does a deletion."""

from __future__ import annotations

import threading

import pytest
from sqlalchemy import text

from hushpoll_shared.spelling.clock import FixedClock
from hushpoll_shared.wire import reports as wire
from sample_survey import VERSION, body_of, make_report
from waiting import LONGEST_SECONDS


def delete(site):
    answer = site.delete_records()
    assert answer.status_code == 200, answer.json
    return answer.json["deleted"]


def stored(site):
    """The reports in the inbox and the records in segments, as the tables have them."""
    (waiting,) = site.scalars("SELECT count(*) FROM inbox")
    (sealed,) = site.scalars("SELECT coalesce(sum(reports), 0) FROM segments")
    return waiting, sealed


@pytest.fixture
def two(make_site):
    """Two servers of one database, whose clocks need not agree."""
    one = make_site()
    other = make_site(clock=FixedClock(one.clock.now()))
    return one, other


def test_report_to_another_server_after_close_was_answered_is_refused(two):
    """Guards: each server believed its own copy of the version's row for a second."""
    one, other = two
    published = one.publish()
    first = make_report(published)
    body = body_of(published, first)
    assert other.send_body(body).status_code == 201  # and it remembers the row
    assert one.close()["state"] == "closed"
    assert other.problem(other.send(published)) == (410, "survey-closed", "digest")
    # A retry of a report that is in is never refused.
    assert other.send_body(body).json == {"status": "duplicate"}
    assert one.counts(published)["accepted"] == 1
    assert other.counts(published)["rejected"] == {"survey-closed": 1}


def test_batch_to_another_server_after_close_was_answered_is_refused_as_a_whole(two):
    one, other = two
    published = one.publish()
    reports = other.fill(published, 5)
    one.close()
    again = wire.pack_reports(published.digest, reports)
    more = wire.pack_reports(published.digest, [*reports, make_report(published)])
    assert other.problem(other.send_bytes(more))[:2] == (410, "survey-closed")
    assert other.send_bytes(again).json == {"accepted": 0, "duplicate": 5, "rejected": []}
    assert one.counts(published)["accepted"] == 5


def test_token_is_not_spent_by_a_report_after_close_was_answered(two):
    one, other = two
    published = one.publish(submission="token")
    path = "/api/v1/surveys/work/tokens"
    (first, second) = one.post(path, json={"count": 2}).json["tokens"]
    body = body_of(published)
    assert other.send_body(body, first).status_code == 201
    one.close()
    assert other.problem(other.send(published, token=second))[:2] == (410, "survey-closed")
    assert other.send_body(body).json == {"status": "duplicate"}
    assert one.scalars("SELECT count(*) FROM respondent_tokens") == [1]


def test_grace_period_that_was_shortened_is_shorter_for_another_server(two):
    one, other = two
    published = one.publish()
    one.close(3600)
    assert other.send(published).status_code == 201
    one.close(60)
    other.clock.advance(60)
    assert other.problem(other.send(published))[:2] == (410, "survey-closed")


def test_server_whose_clock_is_slow_takes_no_report_after_close_was_answered(two):
    one, other = two
    published = one.publish()
    other.clock.advance(-30)
    assert other.send(published).status_code == 201
    one.close()
    assert other.problem(other.send(published))[:2] == (410, "survey-closed")


def test_server_whose_clock_is_slow_takes_no_report_after_the_last_were_sealed(two):
    one, other = two
    published = one.publish(closes="2026-03-01T12:01:00Z")
    grace = one.services.settings.close_grace_seconds
    one.clock.advance(60 + grace)
    other.clock.advance(50 + grace)
    assert other.send(published).status_code == 201
    assert delete(one) == 1
    assert other.problem(other.send(published))[:2] == (410, "survey-closed")
    assert stored(one) == (0, 0)


def test_nothing_is_left_of_reports_sent_while_the_survey_is_closed_and_deleted(two):
    """Guards: late reports were sealed after the deletion, and a second one deleted none."""
    one, other = two
    published = one.publish()

    def body():
        return body_of(published)

    assert other.send_body(body()).status_code == 201
    answered, begun = threading.Event(), threading.Event()
    outcomes = []

    def send():
        while sum(late for late, _ in outcomes) < 5:
            late = answered.is_set()
            outcomes.append((late, other.send_body(body()).status_code))
            begun.set()

    sending = threading.Thread(target=send)
    sending.start()
    assert begun.wait(LONGEST_SECONDS)
    try:
        one.close()
    finally:
        answered.set()
    deleted = delete(one)
    sending.join(LONGEST_SECONDS)
    assert not sending.is_alive()
    assert {status for late, status in outcomes if late} == {410}
    accepted = 1 + sum(status == 201 for _, status in outcomes)
    assert deleted == accepted
    assert stored(one) == (0, 0)
    assert one.counts(published)["accepted"] == accepted


def test_deletion_deletes_records_that_were_sealed_after_an_earlier_one(site):
    published = site.publish()
    site.fill(published, 20)
    site.close()
    assert delete(site) == 20
    before = site.get(f"{VERSION}/estimates").json["n"]
    # As a server of an earlier release left them: one in the inbox, and some in a segment.
    late = make_report(published)
    row = site.row()
    with site.services.database.writing() as connection:
        connection.execute(
            text("INSERT INTO inbox (version_id, report_id, record) VALUES (:v, :i, :r)"),
            {"v": row.id, "i": late.id, "r": late.record},
        )
    site.clock.advance(100)
    assert delete(site) == 1
    assert stored(site) == (0, 0)
    assert site.counts(published)["sealed"] == 21
    assert site.get(f"{VERSION}/estimates").json["n"] == before + 1
    assert site.problem(site.get(f"{VERSION}/records"))[:2] == (410, "records-deleted")
    with site.services.database.writing() as connection:
        connection.execute(
            text("INSERT INTO segments (version_id, reports, data) VALUES (:v, 1, :r)"),
            {"v": row.id, "r": late.record},
        )
    assert delete(site) == 1
    assert delete(site) == 0
    assert stored(site) == (0, 0)
    assert site.counts(published)["sealed"] == 21
