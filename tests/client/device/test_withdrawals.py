"""What a device takes back, what its servers say of it, and what its file keeps meanwhile."""

from __future__ import annotations

import sqlite3
from hashlib import sha256

import pytest

from hushpoll_client import Ledger, SurveyClient
from hushpoll_client.device.randomization import randomize
from hushpoll_client.device.withdrawals import Withdrawal
from hushpoll_protocols.errors import InvalidParameter, TransportError
from hushpoll_shared.spelling.base64url import b64decode, b64encode
from hushpoll_shared.wire.withdrawals import parse_withdrawal_json

SURVEY = "work-and-health"
DELETED, NOT_HERE = {"status": "deleted"}, {"status": "not-here"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def answered(server, steps, published, answers, path, fast):
    """A device whose report the server has taken."""
    client = SurveyClient(server.url, SURVEY, published=published, storage=path, config=fast)
    client.give_consent()
    server.play(steps.respond(201, {"status": "accepted"}))
    report = client.submit(answers).report
    yield client, report
    client.close()


@pytest.fixture
def fast():
    from hushpoll_client import ClientConfig

    return ClientConfig(attempts=1, wait=5.0, exit_patience=0.0, raise_faults=True)


def held(path):
    return b"".join(file.read_bytes() for file in path.parent.iterdir())


def test_id_is_the_hash_of_a_secret_that_is_not_sent(published, answers, server, answered):
    report = randomize(published, answers)
    assert report.id == sha256(report.secret).digest()[:16]
    assert b64encode(report.secret) not in report.to_json()
    assert report.secret.hex() not in repr(report)
    assert randomize(published, answers).secret != report.secret
    client, sent = answered
    assert b64encode(sent.secret).encode() not in server.seen[0].body
    assert b64encode(sent.secret) not in str(client.ledger.to_dict())


@pytest.mark.parametrize(("said", "count"), [(DELETED, "deleted"), (NOT_HERE, "not_here")])
def test_server_is_asked_by_the_secret_and_forgotten(answered, server, steps, path, said, count):
    client, report = answered
    server.play(steps.respond(200, said))
    told = client.withdraw()
    assert told == Withdrawal(wiped=True, **{count: 1})
    asked = server.seen[-1]
    assert (asked.method, asked.path) == ("POST", f"/api/v1/surveys/{SURVEY}/withdrawals")
    assert b64encode(report.secret) not in asked.path
    assert "Authorization" not in asked.headers
    import json

    assert parse_withdrawal_json(json.loads(asked.body)) == (report.digest, report.id)
    assert client.ledger.withdrawals.pending() == []
    assert client.withdraw() == Withdrawal(wiped=True)
    assert client.ledger.spent() == 4


def test_unanswered_withdrawal_wipes_at_once_and_is_asked_again(
    answered, server, steps, path, published
):
    client, report = answered
    for step in (
        steps.drop,
        steps.respond(200, b"<p>Welcome to the train</p>", "text/html"),
        steps.respond(201, DELETED),
        steps.respond(200, {"status": "accepted"}),
        steps.problem("unavailable"),
    ):
        server.play(step)
        told = client.withdraw()
        assert told == Withdrawal(wiped=True, unanswered=1)
        (entry,) = client.ledger.entries()
        assert (entry.state, entry.id, entry.withdrawable) == ("withdrawn", None, False)
    (pending,) = client.ledger.withdrawals.pending(SURVEY)
    assert (pending.digest, pending.secret) == (published.digest, report.secret)
    assert "not shown" in repr(pending)
    server.play(steps.respond(200, DELETED))
    assert client.flush() is True
    assert client.ledger.withdrawals.pending() == []
    client.ledger.withdraw(SURVEY)
    assert b64encode(report.secret).encode() not in held(path)


def test_nobody_waits_for_a_network_with_wait_0(answered, server):
    client, _ = answered
    before = len(server.seen)
    assert client.withdraw(wait=0) == Withdrawal(wiped=True, unanswered=1)
    assert len(server.seen) == before


def test_report_that_never_left_is_not_asked_about(server, published, answers, path, fast):
    client = SurveyClient(server.url, SURVEY, published=published, storage=path, config=fast)
    client.give_consent()
    client.randomize(answers)
    assert client.withdraw() == Withdrawal(wiped=True)
    assert server.seen == []
    client.close()


def test_refusal_for_good_ends_it(answered, server, steps):
    client, _ = answered
    server.play(steps.problem("unknown-digest"))
    assert client.withdraw() == Withdrawal(wiped=True, unable=1)
    assert client.ledger.withdrawals.pending() == []


def test_report_of_an_earlier_release_cannot_be_taken_back(answered, server, path):
    client, _ = answered
    with sqlite3.connect(path) as connection:
        connection.execute("UPDATE answers SET secret = NULL")
    connection.close()
    (entry,) = client.ledger.entries()
    assert not entry.withdrawable
    before = len(server.seen)
    assert client.withdraw() == Withdrawal(wiped=True, unable=1)
    assert len(server.seen) == before


def test_file_of_format_3_is_converted_and_its_reports_are_not_withdrawable(
    answered, path, server, steps
):
    client, report = answered
    client.close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA writable_schema=ON")
        connection.executescript(
            "DROP TABLE withdrawals; UPDATE sqlite_master SET sql = replace(replace(sql, "
            "', secret TEXT', ''), ', secret) IS NULL', ') IS NULL') WHERE name = 'answers'; "
            "PRAGMA user_version=3;"
        )
    connection.close()
    ledger = Ledger.open(path)
    (entry,) = ledger.entries()
    assert (entry.state, entry.withdrawable) == ("accepted", False)
    assert b64decode(entry.id, field="id") == report.id
    assert ledger.to_dict()["withdrawals"] == []
    ledger.close()


def test_client_without_storage_takes_a_report_back(server, steps, published, answers, fast):
    client = SurveyClient(server.url, SURVEY, published=published, config=fast)
    server.play(steps.respond(201, {"status": "accepted"}), steps.respond(200, DELETED))
    receipt = client.submit(answers)
    assert client.take_back(receipt.report) == "deleted"
    server.play(steps.drop)
    with pytest.raises(TransportError):
        client.take_back(receipt.report)
    read = type(receipt.report).from_json(receipt.report.to_json())
    for wrong in (read, "report"):
        with pytest.raises(InvalidParameter, match="has no secret"):
            client.take_back(wrong)
    client.close()
