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

from hushpoll_server.config.settings import Settings
from hushpoll_server.jobs.check import check_counts
from hushpoll_shared.spelling.clock import SystemClock
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.records_file import read_records
from waiting import wait_until

WORKER = [sys.executable, "-c", "from hushpoll_server.cli.worker import worker; worker()"]
VERSION = "/api/v1/surveys/work/versions/1"
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
            assert ready.select(60), "the worker printed nothing within a minute"
        assert process.stdout.readline() == b"taking jobs\n"
        return process

    yield start
    for process in processes:
        if process.poll() is None:
            process.kill()
        process.wait(60)
        process.stdout.close()


@pytest.fixture
def site(make_site):
    return make_site(clock=SystemClock(), JOB_PARAMETER_LIMITS="n_estimators=1000000")


def add(site, kind, body=None):
    answer = site.post(f"{VERSION}/jobs/{kind}", json=body or {})
    assert answer.status_code == 202, answer.json
    return answer.json["id"]


def look(site, job):
    return site.get(f"/api/v1/jobs/{job}").json


def filled(site, make_report, count=400):
    published = site.publish()
    incomes = ["poor", "rich"] * (count // 2)
    reports = [make_report(published, income=income) for income in incomes]
    site.send_batch("work", wire.pack_reports(published.digest, reports))
    return reports


def test_a_killed_workers_job_is_run_once_more_and_yields_one_result(
    site, worker, make_report, database_url
):
    reports = filled(site, make_report)
    job = add(site, "train", LONG)
    # Not longer, since the second waits for it to run out.
    first = worker("--job-lease-seconds", "3")
    wait_until(lambda: look(site, job)["state"] == "running")
    first.send_signal(signal.SIGKILL)
    first.wait(60)
    assert (look(site, job)["state"], look(site, job)["attempt"]) == ("running", 1)
    # The second finds the same job with less to do, so that the test ends.
    with site.services.database.writing() as connection:
        connection.exec_driver_sql(
            "UPDATE jobs SET kind = 'export', parameters = '{\"format\": \"records\"}'"
        )
    worker()
    wait_until(lambda: look(site, job)["state"] == "done")
    assert look(site, job)["attempt"] == 2
    _, records = read_records(site.get(f"/api/v1/jobs/{job}/result").data)
    assert sorted(map(bytes, records)) == sorted(one.record for one in reports)
    with site.services.database.reading() as connection:
        parts = "SELECT job_id, part FROM job_results"
        assert [tuple(row) for row in connection.exec_driver_sql(parts)] == [(job, 0)]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_sigterm_ends_a_worker_soon_and_leaves_its_job_to_others(site, worker, make_report):
    filled(site, make_report)
    long = add(site, "train", LONG)
    process = worker()
    wait_until(lambda: look(site, long)["state"] == "running")
    process.send_signal(signal.SIGTERM)
    assert process.wait(60) == 0
    assert (look(site, long)["state"], look(site, long)["attempt"]) == ("queued", 0)


def test_several_workers_share_the_jobs_and_run_each_once(site, worker, make_report, tmp_path):
    reports = filled(site, make_report)
    for _ in range(2):
        worker("--job-threads", "3")
    jobs = [add(site, "export") for _ in range(12)]
    wait_until(lambda: all(look(site, job)["state"] == "done" for job in jobs))
    assert {look(site, job)["attempt"] for job in jobs} == {1}
    for job in jobs:
        _, records = read_records(site.get(f"/api/v1/jobs/{job}/result").data)
        assert len(records) == len(reports)
    logs = "".join(path.read_text() for path in tmp_path.glob("worker-*.log"))
    assert logs.count('"event": "job-done"') == 12
    assert "Traceback" not in logs


def test_workers_seal_what_a_server_leaves_to_them_exactly_once(make_site, worker, make_report):
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


def test_the_outside_folder_waits_for_a_full_or_a_quiet_inbox(make_site):
    site = make_site(SEALING="worker", SEAL_AT=50)
    published = site.publish()
    now = [0.0]

    def sealed():
        site.services.sealing.turn(now[0])
        return site.counts(published)["sealed"]

    site.fill(published, 49)
    assert sealed() == 0
    now[0] = 59.9
    assert sealed() == 0
    site.fill(published, 1)
    assert sealed() == 0  # more may come
    assert sealed() == 50
    site.fill(published, 10)
    assert sealed() == 50
    now[0] = 100.0
    site.fill(published, 1)
    assert sealed() == 50
    now[0] = 159.0
    assert sealed() == 50
    now[0] = 160.0
    assert sealed() == 61
    for count, expected in ((90, 61), (90, 61), (320, 561)):  # while they keep coming
        for _ in range(count // 10):
            site.fill(published, 10)
        assert sealed() == expected


def test_counts_are_checked_against_the_segments_and_repaired(make_site, database_url):
    site = make_site()
    published = site.publish()
    site.fill(published, 30)
    site.get(f"{VERSION}/estimates")
    settings = Settings(database_url=database_url)
    assert list(check_counts(settings, repair=False)) == [
        ("work version 1: 30 reports, counts right", True)
    ]
    with site.services.database.writing() as connection:
        connection.exec_driver_sql("UPDATE aggregates SET reports = 29")
    expected = "work version 1: 30 reports, counts of 29 differ"
    assert list(check_counts(settings, repair=False)) == [(expected, False)]
    assert list(check_counts(settings, repair=True)) == [(expected + ", counted again", False)]
    ((_, same),) = check_counts(settings, repair=False)
    assert same


def test_nothing_of_a_worker_runs_before_it_is_told_to():
    code = "import threading, hushpoll_server.cli.worker; print(threading.active_count())"
    environment = {**os.environ, "PYTHONWARNINGS": "error"}
    found = subprocess.run(
        [sys.executable, "-c", code], check=True, capture_output=True, env=environment
    )
    assert found.stdout == b"1\n"


def processes_of(worker):
    return psutil.Process(worker.pid).children(recursive=True)


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_cancelled_job_and_one_whose_time_is_over_leave_the_worker_to_the_next(
    site, worker, make_report
):
    """Guards: nothing could end a training job, and the worker did nothing else meanwhile."""
    filled(site, make_report)
    process = worker("--job-seconds", "15")
    job = add(site, "train", LONG)
    wait_until(lambda: look(site, job)["state"] == "running" and processes_of(process))
    (computing,) = processes_of(process)
    answer = site.post(f"/api/v1/jobs/{job}/cancel")
    assert (answer.status_code, answer.json["state"]) == (200, "cancelled")
    wait_until(lambda: not computing.is_running())
    late = add(site, "train", LONG)
    wait_until(lambda: look(site, late)["state"] == "failed")
    assert look(site, late)["error"] == {
        "code": "job-timed-out",
        "detail": "it was ended after 15 s",
    }
    wait_until(lambda: processes_of(process) == [])
    export = add(site, "export")
    wait_until(lambda: look(site, export)["state"] == "done")
    assert look(site, job)["state"] == "cancelled"


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_no_computing_process_outlives_a_killed_worker(site, worker, make_report):
    filled(site, make_report)
    process = worker()
    job = add(site, "train", LONG)
    wait_until(lambda: look(site, job)["state"] == "running" and processes_of(process))
    (computing,) = processes_of(process)
    process.send_signal(signal.SIGKILL)
    process.wait(60)
    wait_until(lambda: not computing.is_running() or computing.status() == psutil.STATUS_ZOMBIE)
