"""``hushpoll worker`` as a process: started, ended, killed in the middle of a job."""

from __future__ import annotations

import os
import selectors
import signal
import subprocess
import sys
import time

import psutil
import pytest

from hushpoll_shared.spelling.clock import SystemClock
from hushpoll_shared.wire.records_file import read_records
from sample_survey import VERSION
from waiting import LONGEST_SECONDS, wait_until

WORKER = [sys.executable, "-c", "from hushpoll_server.cli.worker import worker; worker()"]
# Fitted for many seconds, however fast the machine.
LONG = {"parameters": {"n_estimators": 200_000, "num_leaves": 31, "min_child_samples": 1}}
SHORT = {"parameters": {"n_estimators": 3}}


@pytest.fixture
def worker(database_url, tmp_path):
    """Start workers on the test's database; none outlives the test."""
    processes = []

    def start(*options):
        with (tmp_path / f"worker-{len(processes)}.log").open("wb") as errors:
            process = subprocess.Popen(
                [*WORKER, "--database-url", database_url, *options],
                stdout=subprocess.PIPE,
                stderr=errors,
            )
        processes.append(process)
        with selectors.DefaultSelector() as ready:
            ready.register(process.stdout, selectors.EVENT_READ)
            assert ready.select(LONGEST_SECONDS), "the worker printed nothing for five minutes"
        assert process.stdout.readline() == b"taking jobs\n"
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait(LONGEST_SECONDS)
        process.stdout.close()


@pytest.fixture
def site(make_site):
    return make_site(clock=SystemClock(), JOB_PARAMETER_LIMITS="n_estimators=1000000")


def filled(site, count=400):
    """Publish, and have reports with both incomes stored."""
    published = site.publish()
    halves = (site.fill(published, count // 2, income=one) for one in ("poor", "rich"))
    return [report for half in halves for report in half]


def test_a_killed_workers_job_is_run_once_more_and_yields_one_result(site, worker, database_url):
    reports = filled(site)
    job = site.add_job("train", LONG)
    # Not longer, since the second waits for it to run out.
    first = worker("--job-lease-seconds", "3")
    wait_until(lambda: site.job(job)["state"] == "running")
    first.send_signal(signal.SIGKILL)
    first.wait(LONGEST_SECONDS)
    assert (site.job(job)["state"], site.job(job)["attempt"]) == ("running", 1)
    # The second finds the same job with less to do, so that the test ends.
    site.execute("UPDATE jobs SET kind = 'export', parameters = '{\"format\": \"records\"}'")
    worker()
    wait_until(lambda: site.job(job)["state"] == "done")
    assert site.job(job)["attempt"] == 2
    _, records = read_records(site.job_result(job).data)
    assert sorted(map(bytes, records)) == sorted(one.record for one in reports)
    with site.services.database.reading() as connection:
        parts = "SELECT job_id, part FROM job_results"
        assert [tuple(row) for row in connection.exec_driver_sql(parts)] == [(job, 0)]


@pytest.mark.sqlite
def test_sigterm_ends_a_worker_soon_and_leaves_its_job_to_others(site, worker):
    filled(site)
    long = site.add_job("train", LONG)
    process = worker()
    wait_until(lambda: site.job(long)["state"] == "running")
    process.send_signal(signal.SIGTERM)
    assert process.wait(LONGEST_SECONDS) == 0
    assert (site.job(long)["state"], site.job(long)["attempt"]) == ("queued", 0)


def test_several_workers_share_the_jobs_and_run_each_once(site, worker, tmp_path):
    reports = filled(site)
    for _ in range(2):
        worker("--job-threads", "3")
    jobs = [site.add_job("export") for _ in range(12)]
    wait_until(lambda: all(site.job(job)["state"] == "done" for job in jobs))
    assert {site.job(job)["attempt"] for job in jobs} == {1}
    for job in jobs:
        _, records = read_records(site.job_result(job).data)
        assert len(records) == len(reports)
    logs = "".join(path.read_text() for path in tmp_path.glob("worker-*.log"))
    assert logs.count('"event": "job-done"') == 12
    assert "Traceback" not in logs


def test_workers_seal_what_a_server_leaves_to_them_exactly_once(make_site, worker):
    site = make_site(clock=SystemClock(), SEALING="worker", SEAL_AT=100)
    options = ("--sealing", "worker", "--seal-at", "100", "--seal-idle-seconds", "1")
    published = site.publish()
    for _ in range(2):
        worker(*options)
    everything = []
    for _ in range(10):
        everything += site.fill(published, 60)
        time.sleep(0.1)
    wait_until(lambda: site.counts(published)["sealed"] == 600)
    _, records = read_records(site.get(f"{VERSION}/records").data)
    assert sorted(map(bytes, records)) == sorted(one.record for one in everything)
    assert site.get(f"{VERSION}/estimates").json["n"] == 600
    (held, found) = site.services.segments.recount(1, published.layout.record_size)
    assert held == found


def test_importing_the_worker_starts_no_thread():
    code = "import threading, hushpoll_server.cli.worker; print(threading.active_count())"
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=environment
    )
    assert found.stdout == b"1\n"


def processes_of(worker):
    return psutil.Process(worker.pid).children(recursive=True)


@pytest.mark.sqlite
def test_a_cancelled_job_leaves_the_worker_to_the_next(site, worker):
    """Guards: nothing could end a training job, and the worker did nothing else meanwhile."""
    filled(site)
    process = worker()
    job = site.add_job("train", LONG)
    wait_until(lambda: site.job(job)["state"] == "running" and processes_of(process))
    (computing,) = processes_of(process)
    answer = site.post(f"/api/v1/jobs/{job}/cancel")
    assert (answer.status_code, answer.json["state"]) == (200, "cancelled")
    wait_until(lambda: not computing.is_running())
    export = site.add_job("export")
    wait_until(lambda: site.job(export)["state"] == "done")
    assert site.job(job)["state"] == "cancelled"


@pytest.mark.sqlite
def test_a_job_whose_time_is_over_leaves_the_worker_to_the_next(site, worker):
    """The next has too little time as well, on however fast a machine."""
    filled(site)
    process = worker("--job-seconds", "3")
    for job in [site.add_job("train", LONG) for _ in range(2)]:
        wait_until(lambda job=job: site.job(job)["state"] == "failed")
        assert site.job(job)["error"] == {
            "code": "job-timed-out",
            "detail": "it was ended after 3 s",
        }
    wait_until(lambda: processes_of(process) == [])


@pytest.mark.sqlite
def test_no_computing_process_outlives_a_killed_worker(site, worker):
    filled(site)
    process = worker()
    job = site.add_job("train", LONG)
    wait_until(lambda: site.job(job)["state"] == "running" and processes_of(process))
    (computing,) = processes_of(process)
    process.send_signal(signal.SIGKILL)
    process.wait(LONGEST_SECONDS)
    wait_until(lambda: not computing.is_running() or computing.status() == psutil.STATUS_ZOMBIE)
