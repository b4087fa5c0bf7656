"""Many reports in one request."""

from __future__ import annotations

import pytest

from hushpoll_shared.wire import reports as wire


def test_a_batch_counts_each_report_once(site, make_report):
    published = site.publish()
    reports = [make_report(published) for _ in range(50)]
    body = wire.pack_reports(published.digest, [*reports, *reports[:7]])
    assert site.send_batch("work", body).json == {"accepted": 50, "duplicate": 7, "rejected": []}
    assert site.send_batch("work", body).json == {"accepted": 0, "duplicate": 57, "rejected": []}
    counts = site.counts(published)
    assert (counts["accepted"], counts["duplicate"]) == (50, 64)


def test_one_bad_report_never_fails_its_neighbours(site, make_report):
    published = site.publish()
    good = [make_report(published) for _ in range(4)]
    site.send("work", wire.encode_report_json(published.digest, good[3]))
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
    answer = site.send_batch("work", wire.pack_reports(published.digest, reports))
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


def test_an_empty_batch_changes_nothing(site):
    published = site.publish()
    answer = site.send_batch("work", wire.pack_reports(published.digest, []))
    assert answer.json == {"accepted": 0, "duplicate": 0, "rejected": []}


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
def test_a_batch_of_another_form_is_refused_as_a_whole(make_site, make_report, change, expected):
    site = make_site(MAX_BULK_REPORTS=4, MAX_BODY_BYTES=4096, MAX_JSON_BYTES=4096)
    published = site.publish()
    reports = [make_report(published) for _ in range(2)]
    answer = site.send_batch("work", change(wire.pack_reports(published.digest, reports)))
    assert site.problem(answer) == expected
    assert site.counts(published)["accepted"] == 0


def test_a_batch_needs_the_scope_submit(site, make_report):
    published = site.publish()
    body = wire.pack_reports(published.digest, [make_report(published)])
    reader = {"Authorization": f"Bearer {site.services.access.issue(['read']).token}"}
    submitter = {"Authorization": f"Bearer {site.services.access.issue(['submit']).token}"}
    assert site.problem(site.send_batch("work", body, headers={}))[:2] == (401, "unauthorized")
    assert site.problem(site.send_batch("work", body, headers=reader))[:2] == (403, "forbidden")
    assert site.send_batch("work", body, headers=submitter).json["accepted"] == 1


def test_a_token_survey_takes_no_batches(site, make_report):
    published = site.publish(submission="token")
    body = wire.pack_reports(published.digest, [make_report(published)])
    answer = site.send_batch("work", body)
    assert site.problem(answer) == (415, "unsupported-media-type", "Content-Type")
    assert "with its token" in answer.json["detail"]
    assert answer.json["remedy"] == "Send one of the media types named in the detail."
    assert "application/json" in answer.json["detail"]  # the one that the remedy speaks of
    assert "vnd.hushpoll" not in answer.json["detail"]


def test_after_closing_only_a_batch_that_is_in_already_is_acknowledged(site, make_report):
    published = site.publish()
    reports = [make_report(published) for _ in range(5)]
    body = wire.pack_reports(published.digest, reports)
    site.send_batch("work", body)
    site.post("/api/v1/surveys/work/versions/1/close", json={"grace_seconds": 0})
    assert site.send_batch("work", body).json == {"accepted": 0, "duplicate": 5, "rejected": []}
    more = wire.pack_reports(published.digest, [*reports, make_report(published)])
    assert site.problem(site.send_batch("work", more)) == (410, "survey-closed", "digest")
