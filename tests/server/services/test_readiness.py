"""Whether a server is alive, ready, and able to store; one that is not recovers by itself."""

from __future__ import annotations

import asyncio
import json
import resource
import threading

import psutil
import pytest
from sqlalchemy import text

from hushpoll_server.ingest.group_commit import GroupCommit
from hushpoll_server.services.readiness import (
    NO_WORKER,
    WORKER_START_SECONDS,
    WORKER_STARTS,
    CommitState,
    MissingWorker,
    Readiness,
)
from hushpoll_server.store import migrate
from hushpoll_server.store.reports import Outcome, ReportRow
from sample_survey import VERSION, make_draft, make_report
from waiting import LONGEST_SECONDS, wait_until

REPORT = ReportRow(1, bytes(16), b"record")


def gone():
    raise OSError("gone to 203.0.113.9")


def ask(site):
    answer = site.get("/ready", headers={})
    if answer.status_code == 200:
        assert (answer.json["status"], answer.json["web"]) == ("ready", "ok")
        return []
    assert site.problem(answer) == (503, "unavailable", None)
    assert answer.headers["Retry-After"] == "5"
    assert all(one["detail"] in answer.json["detail"] for one in answer.json["reasons"])
    return [one["code"] for one in answer.json["reasons"]]


def test_alive_asks_nothing_of_the_database(site, monkeypatch):
    monkeypatch.setattr(site.services.database, "reading", gone)
    answer = site.get("/health", headers={})
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})


def test_ready_follows_the_database(site, monkeypatch):
    assert ask(site) == []
    with monkeypatch.context() as patch:
        patch.setattr(site.services.database, "reading", gone)
        assert ask(site) == ["database"]
        assert "203.0.113.9" not in site.get("/ready", headers={}).text
    assert ask(site) == []


def set_version(site, version):
    with site.services.database.writing() as connection:
        statement = text("UPDATE alembic_version SET version_num = :version")
        connection.execute(statement, {"version": version})


def test_ready_follows_the_schema_version(site):
    set_version(site, "0000")
    answer = site.get("/ready", headers={})
    (reason,) = answer.json["reasons"]
    assert reason == {
        "code": "schema",
        "detail": f"the database has schema version 0000, this program {migrate.head()}",
    }
    set_version(site, migrate.head())
    assert ask(site) == []


def test_a_stopping_server_is_not_ready(site):
    site.stop_storing()
    assert ask(site) == ["stopping"]
    assert site.get("/health", headers={}).status_code == 200


class Harness:
    """A group commit whose commits wait, and readiness that asks `version`."""

    def __init__(self, loop, version=lambda: "7", probe_seconds=60):
        self.loop = loop
        self.go = threading.Event()
        self.fail = None
        self.commit = GroupCommit(self.take, idle=lambda: None, group_reports=10, queue_reports=2)
        self.readiness = Readiness(
            commit_state=lambda: self.commit.state,
            write=lambda: None,
            schema_version=version,
            expected="7",
            probe_seconds=probe_seconds,
        )

    def take(self, uploads):
        assert self.go.wait(LONGEST_SECONDS)
        if self.fail:
            raise self.fail
        return [[Outcome.ACCEPTED] * len(one) for one in uploads]

    async def submit(self, *reports):
        return await self.commit.submit(reports)

    def codes(self):
        return [one.code for one in self.readiness.reasons()]

    def wait_for(self, *codes):
        wait_until(lambda: self.codes() == list(codes))


@pytest.fixture
def make_harness(loop):
    made = []

    def make(*arguments):
        made.append(Harness(loop, *arguments))
        return made[-1]

    yield make
    for one in made:
        one.go.set()
        loop.run(one.commit.stop())


def test_a_full_queue_is_not_ready_until_it_is_stored(make_harness, loop):
    harness = make_harness()
    assert harness.codes() == []
    submitted = asyncio.run_coroutine_threadsafe(harness.submit(REPORT, REPORT), loop.loop)
    harness.wait_for("queue")
    (reason,) = harness.readiness.reasons()
    assert reason.detail == "2 reports wait to be stored, of at most 2"
    harness.go.set()
    assert submitted.result(LONGEST_SECONDS) == [Outcome.ACCEPTED] * 2
    harness.wait_for()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_a_commit_whose_thread_ended_is_not_ready_until_the_next_report(make_harness, loop):
    harness = make_harness()
    harness.go.set()
    harness.fail = SystemExit()  # passes by what contains a commit's exceptions
    assert loop.run(harness.submit(REPORT)) is None
    harness.wait_for("writer")
    harness.fail = None
    assert loop.run(harness.submit(REPORT)) == [Outcome.ACCEPTED]
    assert harness.codes() == []


def test_a_database_that_hangs_does_not_hang_the_answer_and_is_asked_once(make_harness):
    asked = []
    begun, release = threading.Event(), threading.Event()

    def hang():
        asked.append(1)
        begun.set()
        assert release.wait(LONGEST_SECONDS)
        return "7"

    harness = make_harness(hang, 0.05)
    assert harness.codes() == ["database"]
    assert begun.wait(LONGEST_SECONDS)
    assert [harness.codes() for _ in range(3)] == [["database"]] * 3
    assert asked == [1]
    release.set()
    harness.wait_for()


class Writing:
    """Readiness at moments that the test says, of a commit whose state it says."""

    def __init__(self):
        self.now = 100.0
        self.state = CommitState(waiting=0, most=1)
        self.written = []
        self.fault = None
        self.readiness = Readiness(
            commit_state=lambda: self.state,
            write=self.write,
            schema_version=lambda: "7",
            expected="7",
            probe_seconds=60,
            monotonic=lambda: self.now,
        )

    def write(self):
        self.written.append(self.now)
        if self.fault is not None:
            raise self.fault

    def codes(self):
        return [one.code for one in self.readiness.reasons()]

    def commit_ends(self, *, failed):
        self.state = self.state._replace(failed=failed, ended_at=self.now)


def test_readiness_writes_at_most_once_a_second_and_not_after_a_commit():
    writing = Writing()
    assert not any(writing.codes() for _ in range(100))
    assert writing.written == [100.0]
    writing.now += 1
    assert not any(writing.codes() for _ in range(100))
    assert writing.written == [100.0, 101.0]
    writing.now += 1
    writing.commit_ends(failed=False)
    assert writing.codes() == []
    writing.now += 1
    assert writing.codes() == []
    assert writing.written == [100.0, 101.0, 103.0]


def test_commit_that_failed_is_known_at_once_and_forgotten_with_a_write():
    writing = Writing()
    assert writing.codes() == []
    writing.commit_ends(failed=True)
    assert writing.codes() == ["writing"]
    writing.now += 1
    assert writing.codes() == []


def test_a_failed_write_is_logged_once_and_not_again_with_a_later_commit(debug_log):
    """Guards: where a commit failed, the error of a write long before was logged."""
    writing = Writing()
    writing.fault = PermissionError("at first")
    assert writing.codes() == ["writing"]
    writing.now += 1
    assert writing.codes() == ["writing"]
    writing.now += 1
    writing.commit_ends(failed=False)
    assert writing.codes() == []
    writing.commit_ends(failed=True)
    assert writing.codes() == ["writing"]
    assert debug_log.text.count("nothing-can-be-stored") == 1
    assert debug_log.text.count("storing-works-again") == 1


def codes(server):
    """Why a server is not ready."""
    status, body = server.request("/ready")
    assert status in (200, 503)
    return [] if status == 200 else [reason["code"] for reason in json.loads(body)["reasons"]]


def becomes(expected, server):
    wait_until(lambda: codes(server) == expected, pause=0.1)


def reads(server, status=200):
    assert server.request("/health")[0] == 200
    assert server.request("/api/v1/surveys/work")[0] == 200
    server.counts()
    server.get(f"{VERSION}/estimates", status)


def test_a_file_that_may_not_grow_is_not_ready_until_it_may(serve):
    """The limit on the size of files stands in for a full disk: a write fails halfway.

    Guards: /ready asked the database to read alone, and a balancer kept sending.
    """
    server = serve()
    published = server.publish(make_draft())
    reports = [make_report(published) for _ in range(4)]
    for report in reports:
        assert server.send(published, report)[0] == 201
    reads(server)
    (worker,) = server.ingest()
    assert codes(server) == []
    worker.rlimit(psutil.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    becomes(["writing"], server)  # before any report is lost on it
    late = make_report(published)
    for _ in range(4):
        status, body = server.send(published, late)
        assert (status, json.loads(body)["code"]) == (503, "unavailable")
        assert codes(server) == ["writing"]
    assert server.send(published, reports[0])[0] in (200, 503)
    reads(server)
    worker.rlimit(psutil.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    becomes([], server)
    assert [server.send(published, report)[0] for report in (late, reports[0])] == [201, 200]
    assert b"stores nothing" not in server.request("/ready")[1]
    server.stop()
    assert server.log.count('"event": "nothing-can-be-stored"') == 1
    assert server.log.count('"event": "storing-works-again"') == 1
    assert "group-not-stored" in server.log


def test_a_read_only_file_is_not_ready_and_is_read(serve, tmp_path):
    server = serve()
    published = server.publish(make_draft())
    for _ in range(4):
        assert server.send(published)[0] == 201
    server.kill()
    server = serve(database_url=f"sqlite:///file:{tmp_path}/hushpoll.sqlite?mode=ro&uri=true")
    becomes(["writing"], server)
    assert server.send(published)[0] == 503
    assert codes(server) == ["writing"]
    # What waits is not sealed, and so not released.
    reads(server, status=409)


@pytest.mark.postgresql
def test_a_postgresql_that_is_read_only_is_not_ready_until_it_is_not(site, postgres):
    published = site.publish()
    site.fill(published, 4)

    def becomes(status, codes):
        wait_until(lambda: site.get("/ready", headers={}).status_code == status, pause=0.1)
        reasons = site.get("/ready", headers={}).json.get("reasons", [])
        assert [reason["code"] for reason in reasons] == codes

    def set_to(value):
        postgres.run(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        postgres.run("SELECT pg_reload_conf()")

    becomes(200, [])
    set_to("on")
    try:
        becomes(503, ["writing"])
        path = VERSION
        assert site.get(f"{path}/counts").status_code == 200
        assert site.get(f"{path}/estimates").status_code in (200, 409)
        # What an analyst changes is refused in the same words as a report.
        answer = site.post("/api/v1/tokens", json={"scopes": ["read"]})
        assert site.problem(answer) == (503, "unavailable", None)
        assert site.problem(site.send(published)) == (503, "unavailable", None)
    finally:
        set_to("DEFAULT")
    becomes(200, [])
    site.fill(published, 4)


def test_missing_worker_is_said_to_start_in_the_first_minute_of_a_server_that_starts_one():
    now = [100.0]
    own, none = (MissingWorker(own=own, monotonic=lambda: now[0]) for own in (True, False))
    assert [one.hint() for one in (own, none)] == [WORKER_STARTS, NO_WORKER]
    now[0] += WORKER_START_SECONDS
    assert own.hint() == NO_WORKER
