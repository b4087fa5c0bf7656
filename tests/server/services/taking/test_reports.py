"""One report at a time: every answer, and the order in which a request is checked."""

from __future__ import annotations

import json
import os

import pytest

from hushpoll_shared.wire import reports as wire


def body_of(published, report):
    return wire.encode_report_json(published.digest, report)


def altered(report, change):
    record = bytearray(report.record)
    change(record)
    return wire.Report(report.id, bytes(record))


def test_a_report_is_accepted_once(site, make_report):
    published = site.publish()
    body = body_of(published, make_report(published))
    first = site.send("work", body)
    again = site.send("work", body)
    assert (first.status_code, first.json) == (201, {"status": "accepted"})
    assert (again.status_code, again.json) == (200, {"status": "duplicate"})
    counts = site.counts(published)
    assert (counts["accepted"], counts["duplicate"], counts["rejected"]) == (1, 1, {})


def test_other_bytes_under_a_known_id_conflict(site, make_report):
    published = site.publish()
    report = make_report(published)
    site.send("work", body_of(published, report))
    other = wire.Report(report.id, make_report(published, education="low").record)
    assert site.problem(site.send("work", body_of(published, other))) == (
        409,
        "report-conflict",
        "id",
    )
    assert site.counts(published)["accepted"] == 1
    assert site.counts(published)["rejected"] == {"report-conflict": 1}


def test_once_sealed_only_the_id_is_known(site, make_report):
    published = site.publish()
    report = make_report(published)
    site.send("work", body_of(published, report))
    site.fill(published, 10)
    site.services.sealing.seal(site.services.surveys.latest("work"))
    assert site.counts(published)["sealed"] == 11
    other = wire.Report(report.id, make_report(published, education="low").record)
    for repeated in (report, other):
        assert site.send("work", body_of(published, repeated)).json == {"status": "duplicate"}
    assert site.counts(published)["accepted"] == 11


def test_any_open_version_takes_its_own_reports(site, make_report):
    first = site.publish()
    second = site.publish(version=2)
    report = make_report(first)
    assert site.send("work", body_of(first, report)).status_code == 201
    assert site.send("work", body_of(second, report)).status_code == 201
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


@pytest.mark.parametrize(("change", "field", "reason"), MALFORMED)
def test_a_malformed_record_is_refused_by_attribute(site, make_report, change, field, reason):
    published = site.publish()
    assert published.layout.record_size == 5
    report = altered(make_report(published), change)
    answer = site.send("work", body_of(published, report))
    assert site.problem(answer) == (422, "malformed-report", field)
    assert answer.json["reason"] == reason
    counts = site.counts(published)
    assert (counts["accepted"], counts["rejected"]) == (0, {f"malformed-report:{reason}": 1})


def test_a_record_is_never_quoted(site, make_report):
    published = site.publish()
    report = altered(make_report(published), lambda record: record.__setitem__(3, 197))
    answer = site.send("work", body_of(published, report))
    assert "197" not in answer.text
    assert wire.b64encode(report.record) not in answer.text


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
def test_a_report_of_another_form_is_refused_by_field(site, make_report, changes, field):
    published = site.publish()
    body = {**body_of(published, make_report(published)), **changes}
    answer = site.send("work", body)
    assert site.problem(answer) == (422, "invalid-request", field)
    assert site.counts(published)["accepted"] == 0


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
    answer = site.post(
        "/api/v1/surveys/work/reports", data=body, content_type=media_type, headers={}
    )
    assert site.problem(answer) == expected


def test_the_identity_encoding_is_none(site, make_report):
    published = site.publish()
    answer = site.post(
        "/api/v1/surveys/work/reports",
        json=body_of(published, make_report(published)),
        headers={"Content-Encoding": "Identity"},
    )
    assert answer.json == {"status": "accepted"}


def test_unknown_surveys_and_digests_are_told_apart(site, make_report):
    published = site.publish()
    other = site.publish(name="other")
    body = body_of(published, make_report(published))
    assert site.problem(site.send("nowhere", body)) == (404, "unknown-survey", "name")
    unknown = {**body, "digest": "0" * 64}
    assert site.problem(site.send("work", unknown)) == (404, "unknown-digest", "digest")
    elsewhere = {**body, "digest": other.digest}
    assert site.problem(site.send("work", elsewhere)) == (404, "unknown-digest", "digest")


def test_checks_come_in_their_documented_order(site, make_report):
    """Form, digest, record, known id, open or closed, token: each hides the ones after it."""
    published = site.publish(submission="token", closes="2026-03-01T13:00:00Z")
    report = make_report(published)
    malformed = altered(report, lambda record: record.__setitem__(0, 9))
    site.clock.advance(100 * 86_400)
    seen = [
        site.problem(site.send("work", sent))[1]
        for sent in (
            {"digest": "0" * 64},
            {**body_of(published, malformed), "digest": "0" * 64},
            body_of(published, malformed),
            body_of(published, report),
        )
    ]
    assert seen == ["invalid-request", "unknown-digest", "malformed-report", "survey-closed"]


def test_before_opening_and_after_the_grace_period_nothing_new_is_taken(make_site, make_report):
    site = make_site(CLOSE_GRACE_SECONDS=600)
    published = site.publish(opens="2026-03-01T12:00:10Z", closes="2026-03-01T13:00:00Z")

    def send():
        return site.send("work", body_of(published, make_report(published)))

    assert site.problem(send()) == (403, "survey-not-open", "digest")
    assert "2026-03-01T12:00:10Z" in send().json["detail"]
    site.clock.advance(10)
    early = body_of(published, make_report(published))
    assert site.send("work", early).status_code == 201
    site.clock.advance(3590)  # closed, in the grace period
    assert site.counts(published)["state"] == "closing"
    assert send().status_code == 201
    site.clock.advance(599)
    assert send().status_code == 201
    site.clock.advance(1)
    assert site.counts(published)["state"] == "closed"
    assert site.problem(send()) == (410, "survey-closed", "digest")
    assert site.send("work", early).json == {"status": "duplicate"}
    assert site.counts(published)["rejected"] == {"survey-not-open": 2, "survey-closed": 1}


def test_closing_without_grace_takes_effect_at_once(site, make_report):
    published = site.publish()
    site.send("work", body_of(published, make_report(published)))
    site.post("/api/v1/surveys/work/versions/1/close", json={"grace_seconds": 0})
    answer = site.send("work", body_of(published, make_report(published)))
    assert site.problem(answer) == (410, "survey-closed", "digest")


def test_a_full_queue_and_a_failing_database_ask_for_a_retry(site, make_report, monkeypatch):
    published = site.publish()
    body = body_of(published, make_report(published))
    with monkeypatch.context() as broken:
        broken.setattr(site.whole.commit, "_queue_reports", 0)
        full = site.send("work", body)
        # Nothing is done for a report for which there is no room, not even to read it.
        unread = site.send("work", {**body, "record": "no record"})
    assert site.problem(full) == (503, "unavailable", None)
    assert site.problem(unread) == (503, "unavailable", None)
    assert full.headers["Retry-After"] == "1"

    def fail(_arrivals):
        raise OSError("disk full")

    with monkeypatch.context() as broken:
        broken.setattr(site.whole.commit, "_commit", fail)
        assert site.problem(site.send("work", body)) == (503, "unavailable", None)
    assert site.send("work", body).status_code == 201


def test_an_internal_fault_is_answered_without_its_text(site, make_report, monkeypatch, debug_log):
    published = site.publish()

    def fail(*_arguments, **_options):
        raise RuntimeError("SECRET-ANSWER")

    monkeypatch.setattr(site.services.ingest, "prepare", fail)
    answer = site.send("work", body_of(published, make_report(published)))
    assert site.problem(answer) == (500, "internal", None)
    assert "SECRET-ANSWER" not in answer.text
    (line,) = [json.loads(r.message) for r in debug_log.records if "internal-error" in r.message]
    assert line["request_id"] == answer.headers["X-Request-Id"]
    assert line["error"] == "RuntimeError"
    assert "SECRET-ANSWER" not in debug_log.text


def test_random_bytes_never_fail_the_server(site):
    published = site.publish()
    for size in range(0, 64, 3):
        noise = os.urandom(size)
        as_record = wire.encode_report_json(published.digest, wire.Report(bytes(16), noise))
        for answer in (
            site.send("work", as_record),
            site.send_batch("work", noise),
            site.post("/api/v1/surveys/work/reports", data=noise, content_type="application/json"),
        ):
            assert 400 <= answer.status_code < 500 or (size == 6 and answer.status_code < 300)
