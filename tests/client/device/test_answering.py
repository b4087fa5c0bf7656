"""What a host app can rely on: its mistakes raise, and nothing else ever does."""

from __future__ import annotations

import json
import logging
import os
import socket
import subprocess
import sys
import threading
import traceback
from contextlib import suppress

import pytest

from hushpoll_client import ClientConfig, InvalidParameter, StorageError, SurveyClient
from waiting import LONGEST_SECONDS, wait_until

SURVEY = "work-and-health"
ACCEPTED = {"status": "accepted"}
QUIET = ClientConfig(exit_patience=0)
STRICT = ClientConfig(exit_patience=0, raise_faults=True)


@pytest.fixture
def make(server, tmp_path, published):
    clients = []

    def client(config=QUIET, **options) -> SurveyClient:
        options = {"published": published, "storage": tmp_path / "ledger.sqlite"} | options
        clients.append(SurveyClient(server.url, SURVEY, config=config, **options))
        clients[-1].give_consent()
        return clients[-1]

    yield client
    for opened in clients:
        opened.close()


def test_an_answer_is_sent_in_the_background(make, server, steps, answers):
    server.play(steps.respond(201, ACCEPTED))
    client = make()
    outcome = client.answer(answers)
    assert (outcome.status, outcome.reason, outcome.error) == ("kept", None, None)
    assert outcome.stands
    wait_until(lambda: client.ledger.entries()[0].state == "accepted")
    assert [seen.body for seen in server.seen] == [client.report.to_json().encode()]
    assert client.answer(answers).status == "known"


@pytest.mark.parametrize("config", [QUIET, STRICT])
@pytest.mark.parametrize(
    ("changes", "field"),
    [({"gender": "S3CRET"}, "gender"), ({"age": None}, "age"), ({"shoe": "S3CRET"}, "shoe")],
)
def test_a_callers_mistake_raises_and_spends_nothing(make, answers, config, changes, field):
    client = make(config)
    with pytest.raises(InvalidParameter) as caught:
        client.answer(answers | changes)
    assert caught.value.field == field
    assert client.ledger.entries() == []


@pytest.mark.parametrize("seconds", [-1, float("nan"), "1", True])
def test_flush_takes_seconds(make, seconds):
    with pytest.raises(InvalidParameter):
        make().flush(seconds)


class Faults:
    """Ways in which a device's file fails."""

    @staticmethod
    def folder(path):
        path.mkdir()

    @staticmethod
    def garbage(path):
        path.write_bytes(b"not a database" * 1000)

    @staticmethod
    def foreign(path):
        import sqlite3

        with sqlite3.connect(path) as connection:
            connection.execute("CREATE TABLE theirs (a)")

    @staticmethod
    def no_folder(path):
        path.parent.joinpath("file").write_text("")


@pytest.mark.parametrize("fault", ["folder", "garbage", "foreign", "no_folder"])
def test_a_failing_file_never_breaks_the_host(server, published, answers, tmp_path, fault, caplog):
    path = tmp_path / "ledger.sqlite"
    getattr(Faults, fault)(path)
    if fault == "no_folder":
        path = tmp_path / "file" / "ledger.sqlite"
    reasons = []
    options = {"published": published, "storage": path}
    with caplog.at_level(logging.WARNING):
        client = SurveyClient(server.url, SURVEY, config=QUIET, on_loss=reasons.append, **options)
        assert client.give_consent() is False
        assert client.consented is False
        outcome = client.answer(answers)
        assert (outcome.status, outcome.reason) == ("failed", "storage")
        assert isinstance(outcome.error, StorageError)
        assert client.losses == {"storage": 1}
        assert reasons == ["storage"]
        client.flush(0)
        client.close()
    assert any(record.levelname == "WARNING" for record in caplog.records)
    if path.is_file():
        assert untouched(path, fault)
    if fault != "no_folder":
        with pytest.raises(StorageError):
            SurveyClient(server.url, SURVEY, config=STRICT, **options).give_consent()


def untouched(path, fault) -> bool:
    if fault == "garbage":
        return path.read_bytes() == b"not a database" * 1000
    return b"theirs" in path.read_bytes() and b"answers" not in path.read_bytes()


def test_an_internal_fault_never_breaks_the_host(make, answers, monkeypatch, caplog):
    def broken(*_: object) -> None:
        raise RuntimeError("with an answer: Female")

    monkeypatch.setattr("hushpoll_client.device.survey_client.draw", broken)
    client = make()
    with caplog.at_level(logging.DEBUG):
        outcome = client.answer(answers)
    assert (outcome.status, outcome.reason) == ("failed", "internal")
    assert client.losses == {"internal": 1}
    assert "Female" not in caplog.text + repr(outcome) + str(outcome.error)
    assert client.ledger.entries() == []
    with pytest.raises(RuntimeError):
        make(STRICT).answer(answers)


def test_a_fault_in_the_background_is_raised_for_tests_alone(
    make, server, steps, answers, monkeypatch, caplog
):
    def broken(*_: object) -> None:
        raise RuntimeError("background")

    server.play(steps.respond(201, ACCEPTED))
    client, quiet = make(STRICT), make()
    with monkeypatch.context() as patch:
        patch.setattr("hushpoll_client.delivery.transport.Transport.post_report", broken)
        client.answer(answers)
        wait_until(lambda: "sending in the background failed: RuntimeError" in caplog.text)
        with pytest.raises(RuntimeError, match="background"):
            client.flush()
        assert quiet.flush(0) is False
    # The thread may have failed once more.
    with suppress(RuntimeError):
        client.flush(0)
    assert quiet.flush()


def test_failing_callback_is_logged_and_ignored(make, answers, caplog):
    def broken(reason: str) -> None:
        raise ValueError(reason)

    client = make(on_loss=broken, max_epsilon=4, max_epsilon_total=1)
    assert client.answer(answers).reason == "budget"
    assert "on_loss raised ValueError" in caplog.text


FULL_DISK = """
import resource, signal, sys, json, logging
from hushpoll_client import ClientConfig, Published, SurveyClient
path, survey, answers = sys.argv[1:]
logging.basicConfig(level=logging.DEBUG)
published = Published.from_json(open(survey, "rb").read())
client = SurveyClient("http://127.0.0.1:9", published.name, published=published, storage=path,
    config=ClientConfig(exit_patience=0.1))
assert client.give_consent()
# From here on no file grows: the kernel refuses every write beyond, as a full disk does.
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
outcome = client.answer(json.loads(answers))
print(outcome.status, outcome.reason, client.losses, bool(client.withdraw()))
client.flush(0.1)
# The disk has room again.
resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
client.give_consent()
print(client.answer(json.loads(answers)).status, client.ledger.spent())
"""


def test_a_full_disk_loses_nothing_but_the_answer(tmp_path, published, answers):
    survey = tmp_path / "survey.json"
    survey.write_bytes(published.canonical)
    done = subprocess.run(
        [sys.executable, "-c", FULL_DISK, tmp_path / "l.sqlite", survey, json.dumps(answers)],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == ["failed storage {'storage': 1} False", "kept 4"]
    assert "Traceback" not in done.stderr
    assert "Norway" not in done.stderr


# ---- answers stay out of crash reports


def locals_of(error: BaseException) -> str:
    """All that a crash reporter collects: the locals of every frame, of the whole chain."""
    shown, pending, seen = [], [error], set()
    while pending:
        error = pending.pop()
        if error is None or id(error) in seen:
            continue
        seen.add(id(error))
        shown += [str(error), repr(error.args)]
        for frame, _ in traceback.walk_tb(error.__traceback__):
            if frame.f_code.co_filename != __file__:
                shown.append(repr(dict(frame.f_locals)))
        pending += [error.__cause__, error.__context__]
    return "\n".join(shown)


SECRET = {"gender": "Female", "age": "44", "country": "Norway", "education": "S3CRET"}


@pytest.mark.parametrize("method", ["answer", "randomize", "submit", "preview"])
def test_no_frame_of_ours_shows_an_answer(make, method):
    client = make(STRICT)
    with pytest.raises(InvalidParameter) as caught:
        getattr(client, method)(SECRET)
    shown = locals_of(caught.value)
    assert "education" in shown
    for secret in ("S3CRET", "Female", "Norway"):
        assert secret not in shown


def test_the_function_shows_none_either(published):
    from hushpoll_client import randomize

    with pytest.raises(InvalidParameter) as caught:
        randomize(published, SECRET)
    assert "S3CRET" not in locals_of(caught.value)
    assert len(list(traceback.walk_tb(caught.value.__traceback__))) > 2


def test_a_fault_shows_none_either(make, answers, monkeypatch):
    def broken(published: object, codes: object) -> None:
        secret = dict(answers)
        raise RuntimeError("draw") from KeyError(len(secret))

    monkeypatch.setattr("hushpoll_client.device.survey_client.draw", broken)
    with pytest.raises(RuntimeError, match="draw") as caught:
        make(STRICT).answer(answers)
    assert "Norway" not in locals_of(caught.value)


# ---- what it does not wait for (how long it takes, the benchmark "answer" measures)


def test_answering_waits_neither_for_the_network_nor_for_the_disk(make, answers, monkeypatch):
    seen = {"network": set(), "disk": set()}

    def watched(function, what):
        def called(*arguments):
            seen[what].add(threading.current_thread())
            return function(*arguments)

        return called

    client = make(STRICT)
    monkeypatch.setattr(socket.socket, "connect", watched(socket.socket.connect, "network"))
    monkeypatch.setattr(os, "fsync", watched(os.fsync, "disk"))
    assert client.answer(answers).status == "kept"
    wait_until(lambda: all(seen.values()))
    assert threading.current_thread() not in seen["network"] | seen["disk"]
