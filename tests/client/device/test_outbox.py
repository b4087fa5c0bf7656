from __future__ import annotations

import json
import logging
import os
import sqlite3
from contextlib import suppress
from pathlib import Path
from weakref import WeakKeyDictionary

import pytest

from hushpoll_client import (
    BudgetExhausted,
    ClientConfig,
    Ledger,
    Published,
    ReportNotSent,
    SurveyClient,
    TransportError,
    randomize,
)
from hushpoll_client.device.device import DeviceFile, device_file
from hushpoll_client.device.outbox import Claim
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.base64url import b64encode

SURVEY = "work-and-health"
ACCEPTED = {"status": "accepted"}
CONFIG = ClientConfig(raise_faults=True, exit_patience=0)
FILES: WeakKeyDictionary[SurveyClient, DeviceFile] = WeakKeyDictionary()


def version(draft, number: int) -> Published:
    return Manifest.from_dict(draft | {"version": number}).resolve()


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def make(server, path, fake_time):
    """Clients that send only when told: `randomize` starts no thread."""

    def client(published, **options) -> SurveyClient:
        options = {"config": CONFIG, "pacing": fake_time.pacing(), "storage": path} | options
        client = SurveyClient(server.url, SURVEY, published=published, **options)
        client.give_consent()
        file = Path(options["storage"])
        FILES[client] = device_file(file, options["config"], options["pacing"])
        return client

    return client


def step(client) -> float | None:
    return FILES[client].delivery.step()


def test_waiting_reports_are_sent_as_they_were_stored(
    make, server, steps, published, answers, path
):
    server.play(steps.respond(201, ACCEPTED))
    client = make(published)
    report = client.randomize(answers)
    assert client.flush() is True
    (seen,) = server.seen
    assert (seen.path, seen.body) == (
        f"/api/v1/surveys/{SURVEY}/reports",
        report.to_json().encode(),
    )
    assert Ledger.open(path).entries()[0].state == "accepted"
    assert client.flush() is True
    assert len(server.seen) == 1


def test_another_process_sends_reports_that_the_first_could_not(
    make, server, steps, draft, published, answers
):
    server.play(steps.respond(201, ACCEPTED))
    reports = [make(version(draft, number)).randomize(answers) for number in (1, 2, 3)]
    # Any client of the file sends whatever waits in it.
    assert make(published).flush() is True
    assert [seen.body for seen in server.seen] == [report.to_json().encode() for report in reports]


def test_pauses_double_from_1_to_30_seconds_and_honour_retry_after(
    make, server, steps, published, answers, fake_time
):
    server.play(
        steps.drop,
        steps.reset,
        steps.break_off,
        steps.problem("unavailable", {"Retry-After": "90"}),
        steps.problem("rate-limited"),
        steps.respond(502, b"<html>bad gateway", "text/html"),
        steps.problem("internal"),
        steps.respond(200, {"status": "duplicate"}),
    )
    client = make(published)
    report = client.randomize(answers)
    pauses = []
    while True:
        assert step(client) == 0.0
        wait = step(client)
        if wait is None:
            break
        pauses.append(round(wait, 3))
        # Not a moment too early.
        fake_time.moment += wait - 0.01
        assert step(client) > 0
        fake_time.moment += 0.02
    assert pauses == [1, 2, 4, 90, 15, 15, 15]
    assert {seen.body for seen in server.seen} == {report.to_json().encode()}
    assert len(server.seen) == 8


def test_pauses_are_jittered(make, server, steps, draft, answers, fake_time):
    server.play(steps.drop)
    client = make(version(draft, 1))
    client.randomize(answers)
    fake_time.share = 1.0
    step(client)
    assert step(client) == pytest.approx(2.0)


def test_a_pause_outlives_the_process(make, server, steps, published, answers, fake_time):
    server.play(steps.problem("rate-limited", {"Retry-After": "60"}))
    first = make(published)
    first.randomize(answers)
    step(first)
    first.close()
    second = make(published)
    # flush cuts short what this side chose, and nothing that a server asked for.
    assert second.flush(5) is False
    assert len(server.seen) == 1
    fake_time.moment += 61
    server.play(steps.drop, steps.respond(201, ACCEPTED))
    assert step(second) == 0.0
    assert second.flush(0.01) is True
    assert len(server.seen) == 2


def test_a_report_that_always_fails_does_not_block_the_others(
    make, server, steps, draft, answers, fake_time
):
    poison = make(version(draft, 1)).randomize(answers)
    good = make(version(draft, 2)).randomize(answers)
    server.play(steps.problem("internal"), steps.respond(201, ACCEPTED), steps.problem("internal"))
    client = make(version(draft, 3))
    assert client.flush(0) is False
    fake_time.moment += 60
    assert client.flush(0) is False
    assert [seen.body for seen in server.seen][:2] == [
        report.to_json().encode() for report in (poison, good)
    ]


@pytest.mark.parametrize(
    "code",
    [
        "invalid-json",
        "invalid-request",
        "malformed-report",
        "manifest-refused",
        "unauthorized",
        "forbidden",
        "survey-not-open",
        "unknown-survey",
        "unknown-digest",
        "report-conflict",
        "survey-closed",
        "payload-too-large",
        "unsupported-media-type",
    ],
)
def test_terminal_problems_end_a_report_and_are_counted(
    make, server, steps, published, answers, code, caplog
):
    server.play(steps.problem(code))
    reasons = []
    client = make(published, on_loss=reasons.append)
    client.randomize(answers)
    with caplog.at_level(logging.WARNING):
        assert client.flush() is True
    assert len(server.seen) == 1
    assert client.losses == {code: 1}
    assert reasons == [code]
    assert [(record.levelname, code in record.message) for record in caplog.records] == [
        ("WARNING", True)
    ]
    (entry,) = client.ledger.entries()
    assert (entry.state, entry.reason, entry.epsilon) == ("refused", code, 4)
    assert entry.report is not None


def test_a_server_cannot_invent_reasons(make, server, steps, published, answers):
    document = {"type": "urn:hushpoll:problem:forbidden", "status": 418, "code": "x" * 1000}
    server.play(steps.respond(403, document, "application/problem+json"))
    client = make(published)
    client.randomize(answers)
    client.flush()
    assert client.losses == {"forbidden": 1}


LOGIN = b"<html>Welcome to the train. Log in.</html>"


@pytest.mark.parametrize(
    "status", [103, 200, 201, 301, 302, 308, 400, 401, 403, 404, 409, 410, 418, 422, 511, 520, 526]
)
@pytest.mark.parametrize("media_type", ["text/html", "application/problem+json"])
def test_an_answer_that_is_not_the_servers_ends_no_report(
    make, server, steps, published, answers, status, media_type
):
    """Guards: the device gave up at 401, 403, 404, 511, 520 and an interim 103 of anybody's."""
    server.play(
        steps.respond(status, LOGIN, media_type, {"Location": "https://[", "Retry-After": "9999"})
    )
    client = make(published)
    report = client.randomize(answers)
    assert step(client) == 0
    assert client.flush(0) is False
    (entry,) = client.ledger.entries()
    assert (entry.state, entry.reason, entry.report) == ("waiting", None, report)
    assert client.losses == {}
    with pytest.raises(ReportNotSent, match=r"is not a hushpoll server's|redirects") as caught:
        client.send(report, wait=60)
    assert caught.value.retryable
    # What no server of ours has asked for does not keep the device away.
    server.play(steps.respond(201, ACCEPTED))
    assert client.flush() is True
    assert client.ledger.entries()[0].state == "accepted"
    assert {seen.body for seen in server.seen} == {report.to_json().encode()}


def test_an_interim_answer_is_not_taken_for_the_next_ones(
    make, server, steps, published, answers, draft
):
    """Guards: the real answer, left unread in the connection, acknowledged another report."""

    def early_hints(handler) -> None:
        handler.wfile.write(b"HTTP/1.1 103 Early Hints\r\nLink: </a>\r\n\r\n")
        steps.respond(201, ACCEPTED)(handler)

    server.play(early_hints, steps.problem("unavailable"))
    client = make(published)
    client.randomize(answers)
    assert client.flush(0) is False
    step(client)
    assert client.ledger.entries()[0].state == "waiting"


@pytest.mark.parametrize(
    "body",
    [
        b"[" * 100_000,
        b'{"type": "urn:hushpoll:problem:forbidden", "x": '
        + b"[" * 100_000
        + b"]" * 100_000
        + b"}",
        b'{"type": 5, "title": {}, "detail": [], "status": ' + b"1" * 9999 + b"}",
        b'{"type": ["urn:hushpoll:problem:forbidden"]}',
        b'{"type": "urn:hushpoll:problem:forbidden", "x": NaN}',
        b'{"type": "urn:hushpoll:problem:forbidden", "x": "\xff"}',
        b"\xef\xbb\xbf{}",
    ],
)
def test_an_odd_problem_raises_nothing_that_is_not_ours(
    make, server, steps, published, answers, body
):
    """Guards: a nested document raised RecursionError in the app."""
    server.play(steps.respond(403, body, "application/problem+json"))
    client = make(published)
    with pytest.raises(ReportNotSent) as caught:
        client.send(client.randomize(answers), wait=0)
    assert caught.value.retryable
    with pytest.raises(TransportError) as refused:
        SurveyClient(server.url, SURVEY).fetch(wait=0.5)
    assert refused.value.retryable


@pytest.mark.parametrize(
    "headers",
    [
        {"Content-Encoding": "gzip, gzip"},
        {"Content-Encoding": "x"},
        {"Content-Length": "5, 6"},
        {"Transfer-Encoding": "chunked"},
        {"Set-Cookie": "\x00=;;;", "Retry-After": "\xb2"},
    ],
)
@pytest.mark.parametrize("status", [200, 201, 302, 403, 503])
def test_an_odd_header_raises_nothing_that_is_not_ours(
    make, server, steps, published, answers, headers, status
):
    server.play(steps.respond(status, ACCEPTED, "text/html", headers | {"Location": "http://["}))
    client = make(published)
    with pytest.raises(ReportNotSent) as caught:
        client.send(client.randomize(answers), wait=0.2)
    assert caught.value.retryable
    assert client.ledger.entries()[0].state == "waiting"


def test_an_endless_redirect_is_not_read(make, server, published, answers):
    """Guards: Requests reads the whole body of a redirect that it is told not to follow."""
    sent = []

    def endless(handler) -> None:
        handler.send_response(302)
        handler.send_header("Location", "/elsewhere")
        handler.end_headers()
        with suppress(OSError):
            for _ in range(2000):
                handler.wfile.write(b"x" * 65_536)
                sent.append(1)
        handler.close_connection = True

    server.play(endless)
    client = make(published)
    client.randomize(answers)
    assert client.flush(0) is False
    # The limit of an answer is 4 MiB; some more is in the buffers of the system.
    assert len(sent) < 1000


@pytest.mark.parametrize(
    "between",
    [
        (200, b"<html>Welcome to the hotel's network", "text/html"),
        (200, {"welcome": True}, None),
        (302, b"", None),
    ],
)
def test_answers_of_proxies_do_not_end_a_report(
    make, server, steps, published, answers, between, fake_time
):
    status, body, media = between
    server.play(steps.respond(status, body, media), steps.respond(201, ACCEPTED))
    client = make(published)
    client.randomize(answers)
    assert client.flush(0.1) is False
    assert client.ledger.entries()[0].state == "waiting"
    assert client.losses == {}
    fake_time.moment += 10
    assert client.flush() is True


def test_a_login_page_is_no_receipt(make, server, steps, published, answers):
    server.play(steps.respond(200, b"<html>", "text/html"), steps.respond(201, ACCEPTED))
    client = SurveyClient(server.url, SURVEY, published=published, config=ClientConfig(attempts=1))
    with pytest.raises(ReportNotSent):
        client.submit(answers)


def test_a_full_outbox_refuses_before_randomising(make, draft, answers):
    config = ClientConfig(raise_faults=True, exit_patience=0, outbox_limit=2)
    reasons = []
    for number in (1, 2):
        make(version(draft, number), config=config).randomize(answers)
    client = make(version(draft, 3), config=config, on_loss=reasons.append)
    outcome = client.answer(answers)
    assert (outcome.status, outcome.reason) == ("refused", "outbox-full")
    assert reasons == ["outbox-full"]
    assert client.ledger.spent() == 8


# ---- claims


def test_two_senders_never_send_the_same_report(make, server, steps, published, answers):
    server.play(steps.respond(201, ACCEPTED))
    client, other = make(published), make(published)
    client.randomize(answers)
    claimed = FILES[client].outbox.claim()
    assert isinstance(claimed, Claim)
    assert 0 < FILES[other].outbox.claim() <= 0.05
    assert claimed.report not in repr(claimed)
    assert other.flush(0.2) is False
    assert server.seen == []
    FILES[client].outbox.release(claimed)
    assert other.flush() is True


def test_a_dead_senders_claim_runs_out(make, server, steps, published, answers, fake_time):
    server.play(steps.respond(201, ACCEPTED))
    client = make(published)
    client.randomize(answers)
    FILES[client].outbox.claim()
    fake_time.moment += CONFIG.connect_timeout + CONFIG.exchange_timeout + 30 + 0.1
    assert client.flush(0) is True
    assert len(server.seen) == 1


def test_a_clock_that_was_set_back_does_not_hold_a_claim(
    make, server, steps, published, answers, fake_time
):
    server.play(steps.respond(201, ACCEPTED))
    client = make(published)
    client.randomize(answers)
    fake_time.moment += 10_000_000
    FILES[client].outbox.claim()
    fake_time.moment -= 10_000_000
    assert client.flush(0) is True


def test_a_claim_is_on_the_disk_before_anything_is_sent(
    make, server, steps, published, answers, monkeypatch
):
    client = make(published)
    client.randomize(answers)
    # From here on in the order in which it happens: the commit, the disk, the network.
    order = []
    fsync = os.fsync

    def noticed(descriptor: int) -> None:
        order.append(Path(f"/proc/self/fd/{descriptor}").readlink().name)
        fsync(descriptor)

    def answered(handler: object) -> None:
        order.append("sent")
        steps.respond(201, ACCEPTED)(handler)

    monkeypatch.setattr("hushpoll_client.device.database.os.fsync", noticed)
    with FILES[client].durable.reading() as connection:
        connection.set_trace_callback(lambda text: order.append(text.split()[0]))
    order.clear()
    server.play(answered)
    assert step(client) == 0.0
    # What follows deletes the report that was taken.
    assert order[:6] == ["BEGIN", "SELECT", "UPDATE", "COMMIT", "ledger.sqlite-wal", "sent"]
    modes = []
    for database in (FILES[client].quick, FILES[client].durable):
        with database.reading() as connection:
            for name in ("journal_mode", "synchronous"):
                modes += connection.execute(f"PRAGMA {name}").fetchone()
    assert modes == ["wal", 1, "wal", 1]


def test_token_is_kept_until_the_report_is_acknowledged(make, server, steps, draft, answers, path):
    survey = Manifest.from_dict(draft | {"submission": "token"}).resolve()
    make(survey, token="t0ken").randomize(answers)
    server.play(steps.respond(201, ACCEPTED))
    assert make(survey).flush() is True
    assert server.seen[0].headers["Authorization"] == "Bearer t0ken"
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT token FROM answers").fetchall() == [(None,)]


# ---- the file holds perturbed bytes only


def test_no_answer_is_in_the_file(make, server, steps, draft, answers, path):
    draft["attributes"] = [
        attribute
        | ({"categories": ["Qqfemale", "Qqmale"]} if attribute["name"] == "gender" else {})
        for attribute in draft["attributes"]
    ]
    draft["protected"] = {"attribute": "gender", "unprivileged": "Qqfemale", "privileged": "Qqmale"}
    survey = Manifest.from_dict(draft).resolve()
    server.play(steps.drop)
    client = make(survey)
    client.randomize(answers | {"gender": "Qqfemale"})
    client.flush(0.01)
    held = b"".join(
        file.read_bytes() for file in path.parent.iterdir() if file.name.startswith(path.name)
    )
    assert client.report.to_json().encode() in held
    assert b"Qqfemale" not in held
    for answer in ("Norway", "college"):
        assert answer.encode() not in held


def test_submit_with_storage_waits_for_the_receipt(make, server, steps, published, answers):
    server.play(steps.drop, steps.respond(201, ACCEPTED))
    client = make(published)
    receipt = client.submit(answers)
    assert receipt.status == "accepted"
    assert client.ledger.entries()[0].state == "accepted"
    assert len({seen.body for seen in server.seen}) == 1
    assert receipt.known is False
    # Sent already: other answers, perhaps another person's, are not thanked for.
    with pytest.raises(BudgetExhausted, match="neither randomised nor sent"):
        client.submit(answers | {"gender": "Male"})
    assert client.send(receipt.report).status == "duplicate"
    assert len(server.seen) == 2
    assert json.loads(server.seen[0].body)["digest"] == published.digest


def test_submit_says_that_an_earlier_answers_report_was_sent(
    make, server, steps, published, answers
):
    server.play(steps.respond(201, ACCEPTED))
    report = make(published).randomize(answers)
    receipt = make(published).submit(answers | {"gender": "Male"})
    assert (receipt.status, receipt.report, receipt.known) == ("accepted", report, True)


# ---- what is kept once a report was taken


def held(path) -> bytes:
    files = [file for file in path.parent.iterdir() if file.name.startswith(path.name)]
    return b"".join(file.read_bytes() for file in files)


def test_acknowledged_report_is_deleted_from_the_device(
    make, server, steps, published, answers, path
):
    server.play(steps.problem("unavailable"), steps.respond(201, ACCEPTED))
    client = make(published)
    report = client.randomize(answers)
    body = report.to_json().encode()
    record = json.loads(body)["record"].encode()
    assert client.flush(0.01) is False
    assert body in held(path)
    assert client.flush() is True
    # While the app goes on, and the file is open.
    kept = held(path)
    assert record not in kept
    number = b64encode(report.id)
    assert number.encode() in kept
    (entry,) = client.ledger.entries()
    assert (entry.state, entry.id, entry.report) == ("accepted", number, None)
    (line,) = client.ledger.to_dict()["answers"]
    assert line == {
        "digest": published.digest,
        "survey_digest": entry.survey_digest,
        "epsilon": "4",
        "state": "accepted",
        "survey": SURVEY,
        "version": 1,
        "server": server.url,
        "reason": None,
        "id": number,
        "withdrawable": True,
        "report": None,
    }
    # It still refuses a second answer, whichever server asks.
    again = make(published)
    assert again.answer(answers).status == "known"
    assert len(server.seen) == 2


def test_a_refused_report_is_kept_to_be_sent_again(make, server, steps, published, answers):
    server.play(steps.problem("survey-closed"), steps.respond(201, ACCEPTED))
    client = make(published)
    report = client.randomize(answers)
    assert client.flush() is True
    (entry,) = client.ledger.entries()
    assert (entry.state, entry.report) == ("refused", report)
    assert make(published).submit(answers).report == report
    assert [seen.body for seen in server.seen] == [report.to_json().encode()] * 2


def test_file_of_format_1_is_converted_and_forgets_acknowledged_reports(
    make, server, steps, draft, answers, path
):
    path.parent.mkdir(parents=True, exist_ok=True)
    surveys = [version(draft, number) for number in (1, 2, 3)]
    reports = [randomize(survey, answers) for survey in surveys]
    with sqlite3.connect(path) as connection:
        connection.executescript(FORMAT_1)
        for number, (survey, report, state) in enumerate(
            zip(surveys, reports, ("accepted", "waiting", "withdrawn"), strict=True), 1
        ):
            place = (SURVEY, number, server.url, report.to_json())
            connection.execute(
                "INSERT INTO answers (digest, survey_digest, picoepsilon, state, survey, version, "
                "server, report) VALUES (?, 'x', 4000000000000, ?, ?, ?, ?, ?)",
                (survey.digest, state, *(place if state != "withdrawn" else [None] * 4)),
            )
    connection.close()
    client = make(surveys[0])
    accepted, waiting, withdrawn = client.ledger.entries()
    assert (accepted.id, accepted.report) == (b64encode(reports[0].id), None)
    assert (waiting.id, waiting.report) == (b64encode(reports[1].id), reports[1])
    assert (withdrawn.id, withdrawn.report, withdrawn.state) == (None, None, "withdrawn")
    assert client.ledger.spent() == 12
    server.play(steps.respond(201, ACCEPTED))
    assert client.flush() is True
    for report in reports[:2]:
        assert json.loads(report.to_json())["record"].encode() not in held(path)


# As the file was made before it had a column for the report's number.
FORMAT_1 = """
CREATE TABLE consents (
  server TEXT NOT NULL, survey TEXT NOT NULL, given TEXT NOT NULL, statement TEXT,
  PRIMARY KEY (server, survey)
);
CREATE TABLE pins (
  server TEXT NOT NULL, survey TEXT NOT NULL, version INTEGER NOT NULL,
  digest TEXT NOT NULL, manifest BLOB NOT NULL,
  PRIMARY KEY (server, survey, version)
);
CREATE TABLE answers (
  digest TEXT PRIMARY KEY,
  survey_digest TEXT NOT NULL,
  picoepsilon INTEGER NOT NULL,
  state TEXT NOT NULL CHECK (state IN ('waiting', 'accepted', 'refused', 'withdrawn')),
  survey TEXT, version INTEGER, server TEXT, report TEXT, token TEXT, reason TEXT,
  attempts INTEGER NOT NULL DEFAULT 0,
  claimed_by TEXT, claimed_until REAL NOT NULL DEFAULT 0,
  CHECK (CASE state WHEN 'withdrawn'
    THEN coalesce(survey, version, server, report, token, reason, claimed_by) IS NULL
    ELSE survey IS NOT NULL AND version IS NOT NULL AND server IS NOT NULL AND report IS NOT NULL
    END)
);
CREATE INDEX waiting ON answers (server, attempts) WHERE state = 'waiting';
CREATE TABLE servers (
  server TEXT PRIMARY KEY, failures INTEGER NOT NULL, resume_at REAL NOT NULL,
  asked INTEGER NOT NULL
);
PRAGMA user_version=1;
"""


def test_submit_keeps_a_report_that_it_could_not_send_and_sends_it_later(
    make, server, steps, published, answers
):
    server.play(steps.problem("unavailable", {"Retry-After": "3600"}))
    client = make(published)
    receipt = client.submit(answers)
    assert (receipt.status, receipt.known) == ("waiting", False)
    (entry,) = client.ledger.entries()
    assert (entry.state, entry.report) == ("waiting", receipt.report)
    # The server asked for an hour, which the thread that submit has woken keeps to.
    assert len(server.seen) == 1
    assert client.submit(answers, wait=0).known
    server.play(steps.problem("survey-closed"))
    report = receipt.report
    with pytest.raises(ReportNotSent) as caught:
        client.send(report)
    assert (caught.value.status, client.losses) == (410, {"survey-closed": 1})


def test_missing_folder_is_created(make, tmp_path, published, answers):
    deep = tmp_path / "a" / "b" / "ledger.sqlite"
    make(published, storage=str(deep)).randomize(answers)
    assert deep.parent.stat().st_mode & 0o777 == 0o700
