"""The worker that ``hushpoll serve`` starts: jobs are done, and no other worker is doubled."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from contextlib import contextmanager

import pytest

from hushpoll_server.services.readiness import NO_WORKER
from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_server.store.workers import WorkerStore
from sample_survey import make_draft
from served import Process
from waiting import LONGEST_SECONDS, wait_until

WORKER = [sys.executable, "-c", "from hushpoll_server.cli.worker import worker; worker()"]
JOBS = "/api/v1/surveys/work/versions/1/jobs/export"
OPERATORS = "0" * 32


@pytest.fixture
def start(tmp_path, new_database_url):
    running = []

    def start(*options, **more):
        running.append(Process(tmp_path, *options, database_url=new_database_url, **more))
        return running[-1]

    yield start
    for process in running:
        process.kill()


@contextmanager
def workers(url):
    database = Database(url, pool_size=1)
    yield WorkerStore(database)
    database.close()


def filled(server):
    published = server.publish(make_draft(release="immediate", minimum_batch=1))
    server.send(published)
    return published


def job_of(server, job, state):
    """Wait until a job is in a state."""
    look = lambda: server.get(f"/api/v1/jobs/{job['id']}")  # noqa: E731
    return wait_until(lambda: (now := look())["state"] == state and now)


def test_server_does_jobs_by_itself_also_after_its_worker_was_killed(start):
    server = start(worker=True)
    filled(server)
    wait_until(lambda: server.get("/ready")["worker"] == "ok")
    job_of(server, server.post(JOBS, {}), "done")
    worker = server.worker()
    assert worker.nice() >= 10
    worker.kill()
    worker.wait(LONGEST_SECONDS)
    job_of(server, server.post(JOBS, {}), "done")
    assert server.worker().pid != worker.pid
    server.stop()


@pytest.mark.sqlite
def test_server_without_a_worker_says_so_with_each_job_until_one_comes(start, new_database_url):
    server = start()
    filled(server)
    ready = server.get("/ready")
    assert (ready["worker"], ready["hint"]) == ("none", NO_WORKER)
    job = server.post(JOBS, {})
    assert (job["state"], job["hint"]) == ("queued", NO_WORKER)
    process = subprocess.Popen(
        [*WORKER, "--database-url", new_database_url], stdout=subprocess.PIPE
    )
    try:
        assert "hint" not in job_of(server, job, "done")
        assert "hint" not in server.get("/ready")
    finally:
        process.terminate()
        process.communicate(timeout=LONGEST_SECONDS)
    assert process.returncode == 0
    assert server.get("/ready")["worker"] == "none"


@pytest.mark.sqlite
def test_server_leaves_jobs_to_an_operators_worker_as_long_as_that_is_alive(
    start, new_database_url
):
    with workers(new_database_url) as store:
        server = start(worker=True)
        now = int(time.time())
        store.hold(OPERATORS, of_server=False, now=now, until=now + 10**6)
        filled(server)
        mine = wait_until(server.worker)
        job = server.post(JOBS, {})
        # It takes no job now; and it does once the other worker is gone.
        wait_until(lambda: store.any_alive(now=now) and mine.cpu_times().user > 0)
        assert server.get(f"/api/v1/jobs/{job['id']}")["state"] == "queued"
        store.leave(OPERATORS)
        job_of(server, job, "done")


def test_of_several_servers_workers_the_one_that_started_first_takes_jobs(new_database_url):
    database = Database(new_database_url, pool_size=1)
    migrate.upgrade(database)
    store = WorkerStore(database)
    for worker_id, started in (("b", 5), ("a", 5), ("c", 4)):
        store.hold(worker_id, of_server=True, now=started, until=100)
    first = [name for name in "abc" if not store.any_before(name, now=50)]
    assert first == ["c"]
    store.leave("c")
    assert [name for name in "abc" if not store.any_before(name, now=50)] == ["a", "c"]
    store.hold("o", of_server=False, now=60, until=70)
    assert [name for name in "ab" if not store.any_before(name, now=65)] == []
    assert [name for name in "ab" if not store.any_before(name, now=71)] == ["a"]
    store.leave_all_of_servers()
    assert store.any_alive(now=70)
    assert not store.any_alive(now=71)
    database.close()


OVER_ITS_LIMIT = """
import json, numpy
from hushpoll_server.jobs import apart, memory
memory.bound(600)
try:
    numpy.ones(10**9)
except MemoryError as error:
    reason = apart.reason_of(error)
    print(json.dumps([reason.code, reason.detail]))
"""


def test_job_that_needs_more_memory_than_it_may_have_fails_with_that_reason():
    done = subprocess.run(
        [sys.executable, "-c", OVER_ITS_LIMIT], capture_output=True, text=True, check=True
    )
    assert json.loads(done.stdout) == [
        "job-out-of-memory", "it needed more memory than the 600 MB that a job may have here",
    ]  # fmt: skip
