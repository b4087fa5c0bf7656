"""A report is taken back until it is sealed, once, by its secret alone, and never comes back."""

from __future__ import annotations

import random
import threading

import pytest

from hushpoll_server.store.reports import ReportRow
from hushpoll_shared.spelling.base64url import b64encode
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.withdrawals import (
    SECRET_SIZE,
    encode_withdrawal_json,
    id_of,
    new_secret,
)
from sample_survey import body_of, make_report, with_secret
from waiting import run_together

DELETED, NOT_HERE = {"status": "deleted"}, {"status": "not-here"}
RACES = 24
RACES_OF_ISSUE = 200


def sent(site, published, **changes):
    report, secret = with_secret(published, **changes)
    assert site.send(published, report).status_code == 201
    return report, secret


def numbers(site, published):
    counts = site.counts(published)
    received = counts["accepted"] + counts["withdrawn"] + counts["duplicate"]
    assert counts["received"] == received + sum(counts["rejected"].values())
    assert counts["accepted"] == counts["inbox"] + counts["sealed"]
    return counts


def test_report_that_waits_is_deleted_and_its_retries_do_not_bring_it_back(site):
    published = site.publish()
    report, secret = sent(site, published)
    assert site.withdraw(published, secret).json == DELETED
    # The same bytes, other bytes under the same id, and both in a batch.
    other = wire.Report(report.id, make_report(published, gender="Female").record)
    for late in (report, other):
        answer = site.send(published, late)
        assert (answer.status_code, answer.json) == (200, {"status": "duplicate"})
    assert site.send_batch(published, [report]).json["duplicate"] == 1
    counts = numbers(site, published)
    assert (counts["inbox"], counts["withdrawn"], counts["duplicate"]) == (0, 1, 3)
    site.fill(published, 5)
    assert site.seal() == 5
    assert site.send(published, report).json == {"status": "duplicate"}
    assert site.withdraw(published, secret).json == NOT_HERE
    counts = numbers(site, published)
    assert (counts["sealed"], counts["withdrawn"]) == (5, 1)
    assert site.scalars("SELECT count(*) FROM inbox") == [0]


def test_record_is_gone_from_the_inbox(site):
    published = site.publish()
    _, secret = sent(site, published)
    site.withdraw(published, secret)
    (record,) = site.scalars("SELECT record FROM inbox")
    assert bytes(record) == bytes(len(record)), "zeros"
    assert len(record) == site.row().record_size + 1, "of a size that no record has"


def test_repeated_withdrawal_gets_the_same_answer_until_the_seal(site):
    published = site.publish()
    _, secret = sent(site, published)
    never = new_secret()
    for _ in range(3):
        assert site.withdraw(published, secret).json == DELETED
        assert site.withdraw(published, never).json == NOT_HERE
    assert numbers(site, published)["withdrawn"] == 1
    site.fill(published, 3)
    site.seal()
    for _ in range(2):
        assert site.withdraw(published, secret).json == NOT_HERE
        assert site.withdraw(published, never).json == NOT_HERE
    assert numbers(site, published)["withdrawn"] == 1


def test_report_that_was_released_and_one_that_never_came_get_the_same_answer(site):
    published = site.publish()
    _, secret = sent(site, published)
    site.fill(published, 3)
    site.seal()
    released, never = site.withdraw(published, secret), site.withdraw(published, new_secret())
    different = {"X-Request-Id", "Date"}

    def seen(answer):
        headers = {name: value for name, value in answer.headers.items() if name not in different}
        return answer.status_code, answer.data, headers

    assert seen(released) == seen(never)
    assert released.json == NOT_HERE
    assert numbers(site, published)["sealed"] == 4


def test_both_write_the_same_counter_durably(site):
    """What takes longest is the commit: it is there for both, or their times would differ."""
    published = site.publish()
    _, secret = sent(site, published)
    site.fill(published, 3)
    site.seal()
    counts = "SELECT count FROM counters WHERE outcome = 'withdrawn'"
    for one in (secret, new_secret()):
        site.execute("DELETE FROM counters")
        site.withdraw(published, one)
        assert site.scalars(counts) == [0]


def test_report_that_comes_after_its_withdrawal_is_not_stored(site):
    """Guards: a withdrawal that overtook its report in the queue of a group commit."""
    published = site.publish()
    report, secret = with_secret(published)
    assert site.withdraw(published, secret).json == NOT_HERE
    assert site.send(published, report).json == {"status": "duplicate"}
    assert site.withdraw(published, secret).json == NOT_HERE
    counts = numbers(site, published)
    assert (counts["accepted"], counts["withdrawn"], counts["duplicate"]) == (0, 0, 1)


def test_withdrawal_in_the_middle_of_its_groups_commit_leaves_no_report(make_site, monkeypatch):
    site = make_site()
    published = site.publish()
    report, secret = with_secret(published)
    insert_new = site.services.database.inbox.insert_new
    answers = []

    def overtaken(connection, rows):
        # The withdrawal found no report; a group commit stores it before the id is put down.
        if rows[0][2] == b"":
            monkeypatch.undo()
            if site.services.database.session.ONE_WRITER:
                insert_new(connection, [(site.row().id, report.id, report.record)])
            else:
                answers.append(site.send(published, report).status_code)
        return insert_new(connection, rows)

    monkeypatch.setattr(site.services.database.inbox, "insert_new", overtaken)
    assert site.withdraw(published, secret).json == DELETED
    assert answers in ([], [201])
    assert numbers(site, published)["inbox"] == 0
    assert site.send(published, report).json == {"status": "duplicate"}


def test_nothing_but_the_secret_withdraws(site):
    published = site.publish()
    report, secret = sent(site, published)
    chooser = random.Random(3)
    guesses = [report.id + report.id, report.id + bytes(16), bytes(32), secret[::-1]]
    guesses += [
        bytes([*secret[:place], secret[place] ^ 1, *secret[place + 1 :]])
        for place in range(SECRET_SIZE)
    ]
    guesses += [chooser.randbytes(32) for _ in range(20)]
    for guess in guesses:
        assert site.withdraw(published, guess).json == NOT_HERE
    assert numbers(site, published)["inbox"] == 1
    # Nor in another version, though ids of versions may be equal.
    other = site.publish(name="other")
    assert site.withdraw(other, secret).json == NOT_HERE
    assert numbers(site, published)["inbox"] == 1
    assert site.withdraw(published, secret).json == DELETED


@pytest.mark.parametrize(
    ("change", "field"),
    [
        ({"secret": "A" * 42}, "secret"),
        ({"secret": b64encode(bytes(31))}, "secret"),
        ({"secret": b64encode(bytes(33))}, "secret"),
        ({"secret": b64encode(bytes(32)) + "="}, "secret"),
        ({"secret": 1}, "secret"),
        ({"secret": None}, "secret"),
        ({"id": "A" * 22}, "id"),
        ({"digest": "0"}, "digest"),
    ],
)
def test_malformed_withdrawal_is_refused_and_its_secret_not_shown(site, debug_log, change, field):
    published = site.publish()
    body = encode_withdrawal_json(published.digest, bytes(range(32))) | change
    answer = site.post("/api/v1/surveys/work/withdrawals", json=body, headers={})
    assert site.problem(answer) == (422, "invalid-request", field)
    if isinstance(body["secret"], str):
        assert body["secret"] not in answer.text
        assert body["secret"] not in debug_log.text


def test_hostile_bodies_are_refused(site):
    published = site.publish()
    path = "/api/v1/surveys/work/withdrawals"

    def code(data, content_type="application/json", **options):
        answer = site.post(path, data=data, content_type=content_type, headers={}, **options)
        return site.problem(answer)[:2]

    assert code(b"") == (400, "invalid-json")
    assert code(b"[" * 100_000)[0] in (400, 413)
    assert code(b'{"digest": 1, "digest": 2}') == (400, "invalid-json")
    assert code(b"[]") == (422, "invalid-request")
    assert code(b"{}", "application/vnd.hushpoll.reports") == (415, "unsupported-media-type")
    assert code(b" " * 2**20) == (413, "payload-too-large")
    unknown = encode_withdrawal_json("0" * 64, new_secret())
    answer = site.post(path, json=unknown, headers={})
    assert site.problem(answer)[:2] == (404, "unknown-digest")
    for method in ("get", "delete", "put"):
        assert getattr(site, method)(path).status_code == 405
    assert numbers(site, published)["withdrawn"] == 0


def test_withdrawals_are_limited_like_uploads(make_site):
    site = make_site(RATE_LIMIT_SUBMIT=2, TRUSTED_PROXIES=1)
    published = site.publish()
    body = encode_withdrawal_json(published.digest, new_secret())
    path = "/api/v1/surveys/work/withdrawals"
    headers = {"X-Forwarded-For": "203.0.113.9"}
    codes = [site.post(path, json=body, headers=headers).status_code for _ in range(3)]
    assert codes == [200, 200, 429]


def test_secret_and_withdrawal_are_in_no_log_and_no_action(make_site, debug_log):
    site = make_site(LOG_REQUESTS=True)
    published = site.publish()
    report, secret = sent(site, published)
    before = site.scalars("SELECT count(*) FROM actions")
    debug_log.clear()
    site.withdraw(published, secret)
    for text in (b64encode(secret), secret.hex(), b64encode(report.id), report.id.hex()):
        assert text not in debug_log.text
    assert "withdrawals" not in debug_log.text
    assert site.scalars("SELECT count(*) FROM actions") == before


def test_a_token_that_was_spent_stays_spent(site):
    published = site.publish(submission="token")
    (token,) = site.tokens(1)
    report, secret = with_secret(published)
    assert site.send(published, report, token).status_code == 201
    assert site.withdraw(published, secret).json == DELETED
    assert site.send(published, make_report(published), token).status_code == 401
    assert site.send(published, report, token).json == {"status": "duplicate"}
    assert site.scalars("SELECT count(*) FROM respondent_tokens") == [0]


def test_withdrawn_reports_count_for_no_minimum_batch(site):
    published = site.publish()
    secrets = [sent(site, published)[1] for _ in range(3)]
    assert site.withdraw(published, secrets[0]).json == DELETED
    assert site.seal() == 0
    sent(site, published)
    assert site.seal() == 3


def test_version_that_holds_withdrawn_reports_alone_ends_with_none(site):
    published = site.publish()
    report, secret = sent(site, published)
    site.withdraw(published, secret)
    site.close()
    counts = numbers(site, published)
    assert (counts["sealed"], counts["withdrawn"], counts["received"]) == (0, 1, 1)
    assert site.scalars("SELECT count(*) FROM inbox") == [0]
    assert site.send(published, report).json == {"status": "duplicate"}
    assert site.withdraw(published, secret).json == NOT_HERE
    # Nothing is put down in a version that takes no report any more.
    assert site.withdraw(published, new_secret()).json == NOT_HERE
    assert site.scalars("SELECT count(*) FROM inbox") == [0]


def test_report_is_taken_back_during_the_grace_period(site):
    published = site.publish()
    report, secret = sent(site, published)
    site.close(grace_seconds=3600)
    assert site.withdraw(published, secret).json == DELETED
    assert site.send(published, report).json == {"status": "duplicate"}


def test_release_tells_what_was_withdrawn_until_then(make_site):
    site = make_site()
    published = site.publish(release="end")
    reports = [sent(site, published) for _ in range(6)]
    for _, secret in reports[:2]:
        assert site.withdraw(published, secret).json == DELETED
    counts = site.counts(published)
    assert (counts["accepted"], counts["withdrawn"]) == (0, 0), "nothing newer than the release"
    site.close()
    counts = site.counts(published)
    assert (counts["accepted"], counts["withdrawn"], counts["received"]) == (4, 2, 6)
    assert counts["reconciles"]


def test_withdrawn_count_stands_in_the_dashboards_tables(site):
    published = site.publish()
    _, secret = sent(site, published)
    site.withdraw(published, secret)
    answer = site.get("/api/v1/surveys/work/versions/1")
    assert answer.status_code == 200
    assert site.counts(published)["refused_by_day"] == []


def race_with_sealing(make_site, races):
    """Withdraw and seal at once, `races` times; each report is sealed or deleted, never both."""
    site = make_site()
    published = site.publish(minimum_batch=1)
    row, store = site.row(), site.services.ingest.withdrawals
    others = 2
    sealed = deleted = 0
    for _ in range(races):
        report, secret = sent(site, published)
        site.fill(published, others)
        told, moved = [], []
        gate = threading.Barrier(2)

        def withdraw(report=report, told=told, gate=gate):
            gate.wait()
            told.append(store.withdraw(row, report.id, "2026-03-01").value)

        def seal(moved=moved, gate=gate):
            gate.wait()
            moved.append(site.seal())

        run_together(withdraw, seal)
        assert (told, moved) in ((["deleted"], [others]), (["not-here"], [others + 1]))
        sealed += moved[0]
        deleted += told == ["deleted"]
        assert site.send(published, report).json == {"status": "duplicate"}
        # Where the seal came first it is over; where it came second the id went with it.
        assert site.withdraw(published, secret).json == NOT_HERE
    counts = numbers(site, published)
    assert (counts["sealed"], counts["withdrawn"], counts["inbox"]) == (sealed, deleted, 0)
    assert sealed + deleted == races * (others + 1)
    assert len(site.sealed_rows()) == sealed


def test_report_is_deleted_or_sealed_when_both_come_at_once(make_site):
    race_with_sealing(make_site, RACES)


@pytest.mark.slow
def test_report_is_deleted_or_sealed_in_200_races(make_site):
    race_with_sealing(make_site, RACES_OF_ISSUE)


def race_with_retries(make_site, races):
    """Withdraw while the same report is stored and sent again by several threads at once."""
    site = make_site()
    published = site.publish(minimum_batch=1)
    row, ingest = site.row(), site.services.ingest
    stored_then_deleted = 0
    for _ in range(races):
        report, secret = with_secret(published)
        kept = ReportRow(row.id, report.id, report.record)
        run_together(
            lambda kept=kept: ingest.reports.insert([[kept]]),
            lambda secret=secret: ingest.withdraw(
                "work", encode_withdrawal_json(published.digest, secret)
            ),
            lambda kept=kept: ingest.reports.insert([[kept]]),
        )
        stored_then_deleted += site.withdraw(published, secret).json == DELETED
    counts = numbers(site, published)
    assert (counts["inbox"], counts["withdrawn"]) == (0, stored_then_deleted)
    assert site.seal() == 0
    assert id_of(secret) == report.id


def test_retry_and_withdrawal_at_once_leave_no_report(make_site):
    race_with_retries(make_site, RACES)


@pytest.mark.slow
def test_retry_and_withdrawal_leave_no_report_in_200_races(make_site):
    race_with_retries(make_site, RACES_OF_ISSUE)


def test_two_processes_delete_a_report_once(make_site):
    one, other = make_site(), make_site()
    published = one.publish()
    _, secret = sent(one, published)
    answers = []
    run_together(
        lambda: answers.append(one.withdraw(published, secret).json),
        lambda: answers.append(other.withdraw(published, secret).json),
    )
    assert answers == [DELETED, DELETED]
    assert numbers(one, published)["withdrawn"] == 1
    assert one.send_body(body_of(published)).status_code == 201
