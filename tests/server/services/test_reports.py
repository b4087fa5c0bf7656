"""Reports, one at a time and in batches: every answer, and the order of the checks."""

from __future__ import annotations

import json
import os
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from hushpoll_server.store.reports import ReportStore
from hushpoll_shared.wire import reports as wire
from sample_survey import REPORTS, body_of, make_report
from waiting import LONGEST_SECONDS, wait_until


def altered(report, change):
    record = bytearray(report.record)
    change(record)
    return wire.Report(report.id, bytes(record))


def test_a_report_is_accepted_once(site):
    published = site.publish()
    body = body_of(published)
    first = site.send_body(body)
    again = site.send_body(body)
    assert (first.status_code, first.json) == (201, {"status": "accepted"})
    assert (again.status_code, again.json) == (200, {"status": "duplicate"})
    counts = site.counts(published)
    assert (counts["accepted"], counts["duplicate"], counts["rejected"]) == (1, 1, {})


def test_other_bytes_under_a_known_id_conflict(site):
    published = site.publish()
    report = make_report(published)
    site.send(published, report)
    other = wire.Report(report.id, make_report(published, education="low").record)
    assert site.problem(site.send(published, other)) == (
        409,
        "report-conflict",
        "id",
    )
    assert site.counts(published)["accepted"] == 1
    assert site.counts(published)["rejected"] == {"report-conflict": 1}


def test_once_sealed_only_the_id_is_known(site):
    published = site.publish()
    report = make_report(published)
    site.send(published, report)
    site.fill(published, 10)
    site.seal()
    assert site.counts(published)["sealed"] == 11
    other = wire.Report(report.id, make_report(published, education="low").record)
    for repeated in (report, other):
        assert site.send(published, repeated).json == {"status": "duplicate"}
    assert site.counts(published)["accepted"] == 11


def test_any_open_version_takes_its_own_reports(site):
    first = site.publish()
    second = site.publish(version=2)
    report = make_report(first)
    assert site.send(first, report).status_code == 201
    assert site.send(second, report).status_code == 201
    assert [site.counts(one)["accepted"] for one in (first, second)] == [1, 1]


# In DRAFT's record: gender 1 byte, age 1 byte (8 bits), country 1 byte (5 bits), education, income.
MALFORMED = [
    (lambda record: record.pop(), "record", "length"),
    (lambda record: record.append(0), "record", "length"),
    (lambda record: record.clear(), "record", "length"),
    (lambda record: record.__setitem__(0, 2), "gender", "range"),
    (lambda record: record.__setitem__(2, record[2] | 0x80), "country", "padding"),
    (lambda record: record.__setitem__(2, 0b11111), "country", "popcount"),
    (lambda record: record.__setitem__(3, 3), "education", "range"),
    (lambda record: record.__setitem__(4, 255), "income", "range"),
]


@pytest.mark.sqlite
@pytest.mark.parametrize(("change", "field", "reason"), MALFORMED)
def test_a_malformed_record_is_refused_by_attribute(site, change, field, reason):
    published = site.publish()
    assert published.layout.record_size == 5
    report = altered(make_report(published), change)
    answer = site.send(published, report)
    assert site.problem(answer) == (422, "malformed-report", field)
    assert answer.json["reason"] == reason
    counts = site.counts(published)
    assert (counts["accepted"], counts["rejected"]) == (0, {f"malformed-report:{reason}": 1})


@pytest.mark.sqlite
def test_a_record_is_never_quoted(site):
    published = site.publish()
    report = altered(make_report(published), lambda record: record.__setitem__(3, 197))
    answer = site.send(published, report)
    assert "197" not in answer.text
    assert wire.b64encode(report.record) not in answer.text


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"record": "AAAAAAA="}, "record"),
        ({"record": "AAAAAAB"}, "record"),
        ({"record": "A+AA"}, "record"),
        ({"record": " AAAA"}, "record"),
        ({"record": 5}, "record"),
        ({"id": "AAAA"}, "id"),
        ({"id": None}, "id"),
        ({"digest": "A" * 64}, "digest"),
        ({"digest": "0" * 63}, "digest"),
        ({"digest": 5}, "digest"),
        ({"answer": "rich"}, "answer"),
    ],
)
def test_a_report_of_another_form_is_refused_by_field(site, changes, field):
    published = site.publish()
    body = {**body_of(published), **changes}
    answer = site.send_body(body)
    assert site.problem(answer) == (422, "invalid-request", field)
    assert site.counts(published)["accepted"] == 0


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("body", "media_type", "expected"),
    [
        (b"not json", "application/json", (400, "invalid-json", "body")),
        (b'{"id": "a", "id": "a"}', "application/json", (400, "invalid-json", "body")),
        (b"\xff\xfe", "application/json", (400, "invalid-json", "body")),
        (b"", "application/json", (400, "invalid-json", "body")),
        (b"{}", "text/json", (415, "unsupported-media-type", "Content-Type")),
        (b"{}", None, (415, "unsupported-media-type", "Content-Type")),
        (b"[" * 600, "application/json", (413, "payload-too-large", "body")),
    ],
)
def test_a_body_that_is_no_report_is_refused(make_site, body, media_type, expected):
    site = make_site(MAX_JSON_BYTES=512)
    site.publish()
    answer = site.post(REPORTS, data=body, content_type=media_type, headers={})
    assert site.problem(answer) == expected


def test_unknown_surveys_and_digests_are_told_apart(site):
    published = site.publish()
    other = site.publish(name="other")
    body = body_of(published)
    assert site.problem(site.send_body(body, name="nowhere")) == (404, "unknown-survey", "name")
    unknown = {**body, "digest": "0" * 64}
    assert site.problem(site.send_body(unknown)) == (404, "unknown-digest", "digest")
    elsewhere = {**body, "digest": other.digest}
    assert site.problem(site.send_body(elsewhere)) == (404, "unknown-digest", "digest")


def test_checks_come_in_their_documented_order(site):
    """Form, digest, record, known id, open or closed, token: each hides the ones after it."""
    published = site.publish(submission="token", closes="2026-03-01T13:00:00Z")
    report = make_report(published)
    malformed = altered(report, lambda record: record.__setitem__(0, 9))
    site.clock.advance(100 * 86_400)
    seen = [
        site.problem(site.send_body(sent))[1]
        for sent in (
            {"digest": "0" * 64},
            {**body_of(published, malformed), "digest": "0" * 64},
            body_of(published, malformed),
            body_of(published, report),
        )
    ]
    assert seen == ["invalid-request", "unknown-digest", "malformed-report", "survey-closed"]


def test_a_full_queue_and_a_failing_database_ask_for_a_retry(make_site, monkeypatch):
    room = threading.Event()
    failures = [OSError("disk full")]
    insert = ReportStore.insert

    def slowly(store, uploads):
        assert room.wait(LONGEST_SECONDS)
        if failures:
            raise failures.pop()
        return insert(store, uploads)

    monkeypatch.setattr(ReportStore, "insert", slowly)
    site = make_site(QUEUE_REPORTS=1, MAX_BULK_REPORTS=1)
    published = site.publish()
    body = body_of(published)
    with ThreadPoolExecutor(1) as thread:
        first = thread.submit(site.send, published)
        wait_until(lambda: site.whole.commit.state.waiting == 1)
        full = site.send_body(body)
        # Nothing is done for a report for which there is no room, not even to read it.
        unread = site.send_body({**body, "record": "no record"})
        room.set()
        failed = first.result(LONGEST_SECONDS)
    assert site.problem(full) == (503, "unavailable", None)
    assert site.problem(unread) == (503, "unavailable", None)
    assert full.headers["Retry-After"] == "1"
    assert site.problem(failed) == (503, "unavailable", None)
    assert site.send_body(body).status_code == 201


@pytest.mark.sqlite
def test_an_internal_fault_is_answered_without_its_text(site, monkeypatch, debug_log):
    published = site.publish()

    def fail(*_arguments, **_options):
        raise RuntimeError("SECRET-ANSWER")

    monkeypatch.setattr(site.services.ingest, "check", fail)
    answer = site.send_body(body_of(published))
    assert site.problem(answer) == (500, "internal", None)
    assert "SECRET-ANSWER" not in answer.text
    (line,) = [json.loads(r.message) for r in debug_log.records if "internal-error" in r.message]
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert line["error"] == "RuntimeError"
    assert "SECRET-ANSWER" not in debug_log.text


@pytest.mark.sqlite
def test_random_bytes_never_fail_the_server(site):
    published = site.publish()
    for size in range(0, 64, 3):
        noise = os.urandom(size)
        as_record = wire.encode_report_json(published.digest, wire.Report(bytes(16), noise))
        for answer in (
            site.send_body(as_record),
            site.send_bytes(noise),
            site.post(REPORTS, data=noise, content_type="application/json"),
        ):
            assert 400 <= answer.status_code < 500 or (size == 6 and answer.status_code < 300)


def test_a_batch_counts_each_report_once(site):
    published = site.publish()
    reports = [make_report(published) for _ in range(50)]
    body = wire.pack_reports(published.digest, [*reports, *reports[:7]])
    assert site.send_bytes(body).json == {"accepted": 50, "duplicate": 7, "rejected": []}
    assert site.send_bytes(body).json == {"accepted": 0, "duplicate": 57, "rejected": []}
    assert site.send_batch(published, []).json == {"accepted": 0, "duplicate": 0, "rejected": []}
    counts = site.counts(published)
    assert (counts["accepted"], counts["duplicate"]) == (50, 64)


def test_one_bad_report_never_fails_its_neighbours(site):
    published = site.publish()
    good = [make_report(published) for _ in range(4)]
    site.send(published, good[3])
    malformed = bytearray(make_report(published).record)
    malformed[3] = 200
    padded = bytearray(make_report(published).record)
    padded[2] |= 0xE0
    reports = [
        wire.Report(bytes(15) + b"\1", bytes(malformed)),
        good[0],
        wire.Report(good[3].id, make_report(published, education="low").record),
        good[1],
        wire.Report(bytes(15) + b"\2", bytes(padded)),
        good[2],
    ]
    answer = site.send_batch(published, reports)
    assert answer.status_code == 200
    assert answer.json == {
        "accepted": 3,
        "duplicate": 0,
        "rejected": [
            {
                "index": 0,
                "code": "malformed-report",
                "field": "education",
                "reason": "range",
            },
            {"index": 2, "code": "report-conflict", "field": "id"},
            {"index": 4, "code": "malformed-report", "field": "country", "reason": "padding"},
        ],
    }
    assert site.counts(published)["rejected"] == {
        "malformed-report:padding": 1,
        "malformed-report:range": 1,
        "report-conflict": 1,
    }


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("change", "expected"),
    [
        (lambda body: body[:-1], (422, "invalid-request", "body")),
        (lambda body: body + b"\0", (422, "invalid-request", "body")),
        (lambda body: b"HUSH", (422, "invalid-request", "body")),
        (lambda body: b"", (422, "invalid-request", "body")),
        (lambda body: b"HREC" + body[4:], (422, "invalid-request", "body")),
        (lambda body: b"HUSH\2" + body[5:], (422, "invalid-request", "body")),
        (lambda body: body[:5] + bytes(32) + body[37:], (404, "unknown-digest", "digest")),
        (lambda body: body + body[37:] * 3, (413, "payload-too-large", "body")),
        (lambda body: body + bytes(4096), (413, "payload-too-large", "body")),
    ],
)
def test_malformed_batch_is_refused_as_a_whole(make_site, change, expected):
    site = make_site(MAX_BULK_REPORTS=4, MAX_BODY_BYTES=4096, MAX_JSON_BYTES=4096)
    published = site.publish()
    reports = [make_report(published) for _ in range(2)]
    answer = site.send_bytes(change(wire.pack_reports(published.digest, reports)))
    assert site.problem(answer) == expected
    assert site.counts(published)["accepted"] == 0


def test_a_token_survey_takes_no_batches(site):
    published = site.publish(submission="token")
    body = wire.pack_reports(published.digest, [make_report(published)])
    answer = site.send_bytes(body)
    assert site.problem(answer) == (415, "unsupported-media-type", "Content-Type")
    assert "with its token" in answer.json["detail"]
    assert answer.json["remedy"] == "Send one of the media types named in the detail."
    assert "application/json" in answer.json["detail"]  # the one that the remedy speaks of
    assert "vnd.hushpoll" not in answer.json["detail"]
