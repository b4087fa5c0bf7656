"""The background sender: over forks, threads, processes and the end of the interpreter."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path

import pytest

import hushpoll_client.threads
from hushpoll_client import Ledger
from hushpoll_client.threads import SendingThread
from waiting import LONGEST_SECONDS, wait_until

FORK_LOAD = Path(__file__).parent / "fork_load.py"
ACCEPTED = {"status": "accepted"}


def number_of(seen) -> str:
    return json.loads(seen.body)["id"]


def test_a_hundred_forks_under_load(server, steps, tmp_path):
    server.play(steps.respond(201, ACCEPTED))
    path = tmp_path / "ledger.sqlite"
    done = subprocess.run(
        [sys.executable, FORK_LOAD, server.url, path, "100"],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    document = json.loads(done.stdout)
    assert document["ended"] == [0] * 100
    assert (document["flushed"], document["faults"]) == (True, [])
    entries = Ledger.open(path).entries()
    # Nothing is lost and nothing is randomised twice ...
    expected = [*document["parent"], *range(100_000, 100_100)]
    assert sorted(entry.version for entry in entries) == sorted(expected)
    assert {entry.state for entry in entries} == {"accepted"}
    # ... and, with a server that answers, nothing is even sent twice.
    assert Counter(number_of(seen) for seen in server.seen) == Counter(
        entry.id for entry in entries
    )


def test_several_processes_send_each_report_once(server, steps, tmp_path):
    server.play(steps.respond(201, ACCEPTED))
    path = tmp_path / "ledger.sqlite"
    code = (
        "import sys; sys.argv[3] = '0'; import fork_load as f; f.url, f.path = sys.argv[1:3]\n"
        "first = int(sys.argv[4])\n"
        "for number in range(first, first + 20):\n"
        "    f.client(number).answer({'a': 'x'})\n"
        "assert f.client(first).flush(600)\n"
    )
    commands = [
        [sys.executable, "-c", code, server.url, path, "0", str(1 + 20 * index)]
        for index in range(4)
    ]
    running = [subprocess.Popen(command, cwd=FORK_LOAD.parent) for command in commands]
    assert [process.wait(LONGEST_SECONDS) for process in running] == [0] * 4
    entries = Ledger.open(path).entries()
    assert sorted(entry.version for entry in entries) == list(range(1, 81))
    assert Counter(number_of(seen) for seen in server.seen) == Counter(
        entry.id for entry in entries
    )


EXIT = """
import sys; import fork_load as f; f.url, f.path = sys.argv[1:3]
from dataclasses import replace
f.CONFIG = replace(f.CONFIG, exit_patience=float(sys.argv[3]))
assert f.client(1).answer({"a": "x"}).stands
"""


def ends(server_url: str, path: Path, patience: float, code: str = EXIT) -> None:
    """Run an app that answers; fail if it does not end within five minutes."""
    done = subprocess.run(
        [sys.executable, "-c", code, server_url, path, str(patience)],
        cwd=FORK_LOAD.parent,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")


def test_interpreters_end_waits_for_reports_that_can_be_sent(server, steps, tmp_path):
    server.play(steps.respond(201, ACCEPTED))
    path = tmp_path / "ledger.sqlite"
    ends(server.url, path, 50)
    (seen,) = server.seen
    (entry,) = Ledger.open(path).entries()
    assert (entry.state, entry.id) == ("accepted", number_of(seen))


def test_a_server_that_hangs_does_not_keep_an_app_from_ending(server, steps, tmp_path):
    over = threading.Event()
    server.play(lambda handler: over.wait(LONGEST_SECONDS))
    path = tmp_path / "ledger.sqlite"
    try:
        ends(server.url, path, 0.5)
    finally:
        over.set()
    assert Ledger.open(path).entries()[0].state == "waiting"


def test_no_network_does_not_keep_an_app_from_ending(tmp_path):
    ends("http://127.0.0.1:9", tmp_path / "ledger.sqlite", 600)


def test_answering_at_exit_is_kept_for_the_next_start(server, steps, tmp_path):
    server.play(steps.respond(201, ACCEPTED))
    code = EXIT.replace(
        "assert f.client(1)", "import atexit\nclient = f.client(1)\nclient"
    ).replace('client.answer({"a": "x"}).stands', 'atexit.register(client.answer, {"a": "x"})')
    path = tmp_path / "ledger.sqlite"
    ends(server.url, path, 1, code)
    (entry,) = Ledger.open(path).entries()
    assert entry.state in {"waiting", "accepted"}
    ends(server.url, path, 50)
    assert len({seen.body for seen in server.seen}) == 1
    assert {number_of(seen) for seen in server.seen} == {entry.id}
    assert Ledger.open(path).entries()[0].state == "accepted"


def test_a_killed_sender_is_followed_by_the_next(server, steps, tmp_path):
    """Killed while the server was answering: the same bytes come again, no others."""
    arrived, over = threading.Event(), threading.Event()

    def hang(handler: object) -> None:
        arrived.set()
        over.wait(LONGEST_SECONDS)

    server.play(hang, steps.respond(200, {"status": "duplicate"}))
    path = tmp_path / "ledger.sqlite"
    victim = subprocess.Popen(
        [sys.executable, "-c", EXIT, server.url, path, "30"], cwd=FORK_LOAD.parent
    )
    assert arrived.wait(LONGEST_SECONDS)
    victim.send_signal(signal.SIGKILL)
    assert victim.wait(LONGEST_SECONDS) == -signal.SIGKILL
    over.set()
    # Its claim is void at once, since its process is gone.
    ends(server.url, path, 50)
    assert len({seen.body for seen in server.seen}) == 1
    assert len(server.seen) == 2
    assert Ledger.open(path).entries()[0].state == "accepted"


# ---- the thread itself


@pytest.fixture
def threads():
    before = set(threading.enumerate())
    yield lambda: [thread for thread in threading.enumerate() if thread not in before]
    wait_until(lambda: set(threading.enumerate()) <= before)


def test_thread_lives_only_while_it_has_work(threads):
    calls = []

    def step() -> float | None:
        calls.append(threading.current_thread())
        return None if len(calls) % 3 == 0 else 0.0

    sender = SendingThread(step, exit_patience=1)
    assert threads() == []
    for expected in (3, 6):
        sender.wake()
        wait_until(lambda expected=expected: len(calls) == expected)
        wait_until(lambda: not threads())
    assert all(call.daemon for call in calls)


def test_waking_cuts_a_pause_short_and_none_is_missed(threads):
    waits = iter([600.0, 600.0])
    calls = []

    def step() -> float | None:
        calls.append(1)
        return next(waits, None)

    sender = SendingThread(step, exit_patience=1)
    for expected in (1, 2, 3):
        sender.wake()
        wait_until(lambda expected=expected: len(calls) >= expected)
    wait_until(lambda: not threads())


def test_simultaneous_answers_cost_one_look_at_the_file(threads, monkeypatch):
    """Guards: a step beside every answer held up the host app, which waits for the same locks."""
    monkeypatch.setattr(hushpoll_client.threads, "SETTLE_SECONDS", 600.0)
    calls = []
    sender = SendingThread(lambda: calls.append(1), exit_patience=1)
    for _ in range(100):
        sender.wake()
    assert calls == []
    sender.stop(LONGEST_SECONDS)
    assert calls == [1]


def test_an_answer_does_not_wait_until_the_thread_runs(threads, monkeypatch):
    """Guards: on a busy machine `Thread.start` took up to 56 ms of the host app's time."""
    may_run, start = threading.Event(), threading.Thread.start

    def slow(self) -> None:
        assert may_run.wait(LONGEST_SECONDS)
        start(self)

    calls = []
    sender = SendingThread(lambda: calls.append(1), exit_patience=1)
    monkeypatch.setattr(threading.Thread, "start", slow)
    sender.wake()
    # Had this thread waited, it would have waited in vain.
    may_run.set()
    wait_until(lambda: calls == [1])


def test_where_no_thread_can_be_started_the_next_answer_tries_again(threads, monkeypatch):
    def refuse(self) -> None:
        raise RuntimeError("can't start new thread")

    calls = []
    sender = SendingThread(lambda: calls.append(1), exit_patience=1)
    with monkeypatch.context() as patch:
        patch.setattr(threading.Thread, "start", refuse)
        sender.wake()
        sender.stop(LONGEST_SECONDS)
    assert calls == []
    sender.wake()
    wait_until(lambda: calls == [1])


def test_many_threads_wake_a_single_sender(threads):
    active, most, calls = [], [], []

    def step() -> float | None:
        active.append(1)
        most.append(len(active))
        calls.append(1)
        time.sleep(0.001)
        active.pop()
        return None

    sender = SendingThread(step, exit_patience=1)
    wakers = [threading.Thread(target=lambda: [sender.wake() for _ in range(50)]) for _ in range(8)]
    for waker in wakers:
        waker.start()
    for waker in wakers:
        waker.join()
    # The sender is started by another thread, which may not have run yet; stopping waits for both.
    sender.stop(LONGEST_SECONDS)
    assert threads() == []
    assert calls
    assert max(most) == 1


def test_stopping_ends_a_pause_and_waking_starts_again(threads):
    calls = []

    def step() -> float | None:
        calls.append(1)
        return 600.0 if len(calls) < 2 else None

    sender = SendingThread(step, exit_patience=1)
    sender.wake()
    wait_until(lambda: calls)
    sender.stop(LONGEST_SECONDS)
    assert threads() == []
    sender.wake()
    wait_until(lambda: len(calls) == 2)


def test_stopping_thread_finishes_what_needs_no_wait(threads):
    left = list(range(20))

    def step() -> float | None:
        if not left:
            return None
        left.pop()
        time.sleep(0.002)
        return 0.0

    sender = SendingThread(step, exit_patience=1)
    sender.wake()
    sender.stop(LONGEST_SECONDS)
    assert left == []
