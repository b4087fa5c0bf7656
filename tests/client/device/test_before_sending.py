"""Kill switch, `before_send` and jitter: what keeps a report on the device, and for how long."""

from __future__ import annotations

import json
import logging
import sqlite3

import pytest

from hushpoll_client import (
    BudgetExhausted,
    ClientConfig,
    ClientDisabled,
    InvalidParameter,
    Ledger,
    Outgoing,
    ReportNotSent,
    SurveyClient,
)
from hushpoll_client.cli.commandline import main
from hushpoll_client.device.device import device_file

SURVEY = "work-and-health"
ACCEPTED = {"status": "accepted"}
CONFIG = ClientConfig(raise_faults=True, exit_patience=0)


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger.sqlite"


@pytest.fixture
def pacing(fake_time):
    return fake_time.pacing()


@pytest.fixture
def make(server, path, published, pacing):
    """Clients of one file that send only when told: `randomize` starts no thread."""

    def client(**options) -> SurveyClient:
        settings = {"config": CONFIG, "pacing": pacing, "storage": path}
        made = SurveyClient(server.url, SURVEY, published=published, **(settings | options))
        made.give_consent()
        return made

    return client


@pytest.fixture
def due(path, pacing):
    """Do what the sending thread does next: 0 where it has sent something, else its wait."""
    return lambda: device_file(path, CONFIG, pacing).delivery.step()


# ---- the kill switch


@pytest.mark.parametrize("switch", ["config", "1", "true", "whatever"])
def test_a_client_that_is_switched_off_asks_stores_and_sends_nothing(
    make, server, answers, path, monkeypatch, caplog, switch
):
    config = CONFIG
    if switch == "config":
        config = ClientConfig(enabled=False)
    else:
        monkeypatch.setenv("HUSHPOLL_DISABLED", switch)
    lost = []
    client = make(config=config, on_loss=lost.append)
    outcome = client.answer(answers)
    assert (client.enabled, client.consented, client.give_consent()) == (False, False, False)
    assert (outcome.status, outcome.reason, outcome.stands) == ("refused", "disabled", False)
    assert isinstance(outcome.error, ClientDisabled)
    assert client.flush() is False
    for call in (client.fetch, lambda: client.randomize(answers), lambda: client.submit(answers)):
        with pytest.raises(ClientDisabled, match="switched off by"):
            call()
    client.close()
    assert server.seen == []
    assert not path.exists()
    assert (lost, client.losses) == ([], {})
    (line,) = [record for record in caplog.records if record.levelno == logging.WARNING]
    assert "is switched off by" in line.getMessage()


@pytest.mark.parametrize("value", ["", "0", "false", "No", " off "])
def test_words_for_no_leave_a_client_on(make, answers, monkeypatch, value):
    monkeypatch.setenv("HUSHPOLL_DISABLED", value)
    assert make().enabled


def test_withdrawing_works_while_a_client_is_switched_off(make, answers, path):
    make().randomize(answers)
    client = make(config=ClientConfig(enabled=False))
    assert client.withdraw()
    assert [entry.state for entry in client.ledger.entries()] == ["withdrawn"]


def test_a_client_without_storage_is_switched_off_too(server, published, answers):
    config = ClientConfig(enabled=False)
    client = SurveyClient(server.url, SURVEY, published=published, config=config)
    other = client.for_next_respondent()
    report = SurveyClient(server.url, SURVEY, published=published).randomize(answers)
    for one in (client, other):
        with pytest.raises(ClientDisabled):
            one.randomize(answers)
        with pytest.raises(ReportNotSent, match="switched off") as caught:
            one.send(report)
        assert (caught.value.report, caught.value.retryable) == (report, False)
    assert server.seen == []


@pytest.mark.parametrize("command", [("answer",), ("ledger", "send")])
def test_commands_say_that_they_are_switched_off(
    make, server, answers, path, command, monkeypatch, capsys
):
    make().randomize(answers)
    monkeypatch.setenv("HUSHPOLL_DISABLED", "1")
    monkeypatch.setenv("HUSHPOLL_LEDGER", str(path))
    link = [f"{server.url}/s/{SURVEY}"] if command == ("answer",) else []
    with pytest.raises(SystemExit) as caught:
        main([*command, *link])
    assert caught.value.code == 1
    assert "switched off by the environment variable HUSHPOLL_DISABLED" in capsys.readouterr().err
    assert server.seen == []


# ---- before_send


def test_before_send_is_told_what_the_server_may_know_and_no_record(
    make, server, steps, published, answers, fake_time, path, due
):
    server.play(steps.problem("unavailable"), steps.respond(201, ACCEPTED))
    told = []
    make(before_send=told.append).randomize(answers)
    due()
    fake_time.sleep(60)
    assert due() == 0
    # Asked before each attempt, although the client is forgotten; only False refuses.
    assert told == 2 * [Outgoing(server.url, SURVEY, 1, published.digest, published.epsilon)]
    assert len(server.seen) == 2


def test_a_report_that_before_send_refuses_is_deleted_and_counted_as_lost(
    make, server, published, answers, path, fake_time
):
    lost = []
    client = make(before_send=lambda outgoing: outgoing.survey != SURVEY, on_loss=lost.append)
    report = client.randomize(answers)
    assert client.flush() is True
    assert (server.seen, lost, client.losses) == ([], ["before-send"], {"before-send": 1})
    (entry,) = client.ledger.entries()
    assert (entry.state, entry.reason, entry.report) == ("dropped", "before-send", None)
    assert client.ledger.spent() == published.epsilon
    client.close()
    record = json.loads(report.to_json())["record"].encode()
    assert all(record not in file.read_bytes() for file in path.parent.iterdir())
    # Its epsilon is spent, so that the version is not answered again.
    with pytest.raises(BudgetExhausted, match="dropped by the app's before_send"):
        make().randomize(answers)


def test_submit_says_that_before_send_refused(make, server, answers):
    client = make(before_send=lambda outgoing: False)
    with pytest.raises(ReportNotSent, match="before_send refused") as caught:
        client.submit(answers)
    assert caught.value.retryable is False
    assert server.seen == []


def test_an_exception_of_before_send_is_logged_and_keeps_the_report(
    make, server, steps, answers, path, fake_time, caplog, due
):
    server.play(steps.respond(201, ACCEPTED))
    faults = [ValueError("green"), None]

    def before_send(outgoing):
        if fault := faults.pop(0):
            raise fault

    client = make(before_send=before_send)
    client.randomize(answers)
    due()
    assert (server.seen, client.losses) == ([], {})
    assert [entry.state for entry in client.ledger.entries()] == ["waiting"]
    assert "before_send raised ValueError" in caplog.text
    assert "green" not in caplog.text
    fake_time.sleep(60)
    assert due() == 0
    assert [entry.state for entry in client.ledger.entries()] == ["accepted"]


def test_before_send_needs_the_device_s_file(server, published):
    with pytest.raises(InvalidParameter, match="before_send need storage=") as caught:
        SurveyClient(server.url, SURVEY, published=published, before_send=print)
    assert caught.value.field == "storage"


# ---- jitter

JITTERED = ClientConfig(raise_faults=True, exit_patience=0, send_jitter=1000.0)


def test_a_report_is_first_sent_after_its_delay_over_restarts_too(
    make, server, steps, answers, path, fake_time, due
):
    server.play(steps.respond(201, ACCEPTED))
    fake_time.share = 0.75
    make(config=JITTERED).randomize(answers)
    make(config=JITTERED).close()
    fake_time.share = 0.0
    # An app that starts again, with another jitter or none, keeps the moment that was drawn.
    assert due() == pytest.approx(750)
    fake_time.sleep(740)
    assert make().flush(5) is False
    assert server.seen == []
    fake_time.sleep(11)
    assert make().flush(5) is True
    assert len(server.seen) == 1
    with sqlite3.connect(path) as connection:
        # The moment, which is near that of the answer, is not kept.
        assert connection.execute("SELECT send_after FROM answers").fetchall() == [(0,)]
    connection.close()


@pytest.mark.parametrize("share", [0.0, 0.5, 1.0])
def test_delays_are_drawn_from_the_whole_interval(make, server, answers, path, fake_time, share):
    fake_time.share = share
    make(config=JITTERED).randomize(answers)
    with sqlite3.connect(path) as connection:
        (moment,) = connection.execute("SELECT send_after FROM answers").fetchone()
    connection.close()
    assert moment - fake_time.now().timestamp() == pytest.approx(1000 * share)


def test_submit_does_not_wait_for_the_jitter(make, server, steps, answers, fake_time):
    server.play(steps.respond(201, ACCEPTED))
    fake_time.share = 1.0
    assert make(config=JITTERED).submit(answers).status == "accepted"
    assert fake_time.slept == []


def test_a_clock_that_was_set_back_does_not_hold_a_report(
    make, server, steps, answers, path, fake_time, due
):
    server.play(steps.respond(201, ACCEPTED))
    make(config=JITTERED).randomize(answers)
    fake_time.moment -= 30 * 86_400
    assert due() == 0
    assert len(server.seen) == 1


def test_withdrawing_forgets_the_moment(make, answers, path, fake_time):
    fake_time.share = 0.5
    client = make(config=JITTERED)
    client.randomize(answers)
    client.withdraw()
    with sqlite3.connect(path) as connection:
        assert connection.execute("SELECT send_after FROM answers").fetchall() == [(0,)]
    connection.close()


@pytest.mark.parametrize("value", [-1, 604_801, float("nan"), "60", True])
def test_jitter_has_its_interval(value):
    with pytest.raises(InvalidParameter, match=r"\[0, 604800\]") as caught:
        ClientConfig(send_jitter=value)
    assert caught.value.field == "send_jitter"


def test_a_file_of_format_2_is_converted(make, server, steps, answers, path):
    report = make().randomize(answers)
    with sqlite3.connect(path) as connection:
        # As the file was made before it had the column, and before a report could be dropped.
        connection.executescript(
            "DROP INDEX waiting; ALTER TABLE answers DROP COLUMN send_after; "
            "DROP TABLE withdrawals; "
            "CREATE INDEX waiting ON answers (server, attempts) WHERE state = 'waiting'; "
            "PRAGMA user_version=2;"
        )
    connection.close()
    server.play(steps.respond(201, ACCEPTED))
    (entry,) = Ledger.open(path).entries()
    assert (entry.state, entry.report) == ("waiting", report)
    assert make().flush() is True
