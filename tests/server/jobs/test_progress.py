"""Progress of jobs: written at a bounded rate, shown over HTTP, and where a running job stops."""

from __future__ import annotations

import os
import threading
from contextlib import closing
from dataclasses import replace

import pytest

from hushpoll_server.jobs import apart, kinds
from hushpoll_server.jobs.progress import Step, StepReader, StepWriter
from hushpoll_server.jobs.runner import Runner
from sample_survey import make_report
from waiting import wait_until

STEP = Step("writes the file", 3, 10, "records")


def claim(site, job, owner="worker"):
    now = site.services.surveys.now()
    assert site.services.job_store.claim(owner, now=now, lease=30, attempts=3, running=9) == job


def note(site, job, attempt=1, owner="worker"):
    return site.services.job_store.note(job, owner, attempt, STEP.to_text())


def test_progress_of_a_running_job_is_shown_and_begins_anew_with_another_worker(site):
    site.fill(site.publish(), 5)
    job = site.add_job("export")
    assert "progress" not in site.job(job)
    claim(site, job)
    assert note(site, job)
    shown = {"text": "writes the file", "done": 3, "total": 10, "unit": "records"}
    assert site.job(job)["progress"] == shown
    assert site.job(job)["worker_alive"]
    site.clock.advance(31)
    assert not site.job(job)["worker_alive"]
    claim(site, job, "second")
    assert "progress" not in site.job(job)
    assert not note(site, job)
    assert note(site, job, 2, "second")
    site.services.job_store.release("second")
    assert "progress" not in site.job(job)


def test_jobs_are_listed_by_kind_and_state(site):
    site.fill(site.publish(), 5)
    export, seal = site.add_job("export"), site.add_job("seal")
    site.post(f"/api/v1/jobs/{seal}/cancel")

    def listed(query):
        return [job["id"] for job in site.get(f"/api/v1/jobs?{query}").json["jobs"]]

    assert listed("kind=export") == listed("state=queued") == [export]
    assert listed("kind=seal&state=cancelled&survey=work") == [seal]
    assert listed("kind=seal&state=done") == []
    for query, field in (("kind=x", "kind"), ("state=x", "state")):
        answer = site.get(f"/api/v1/jobs?{query}")
        assert site.problem(answer) == (422, "invalid-request", field)


def test_export_says_how_many_records_are_written_and_stops_at_the_next_step(site, monkeypatch):
    site.fill(site.publish(), 5)
    job = site.add_job("export")
    steps = []
    work = kinds.KINDS["export"].work

    def cancelled_at_its_first_step(parts, row, parameters, say):
        def spy(step):
            steps.append(step)
            site.post(f"/api/v1/jobs/{job}/cancel")
            say(step)

        return work(parts, row, parameters, spy)

    kind = replace(kinds.KINDS["export"], work=cancelled_at_its_first_step)
    monkeypatch.setitem(kinds.KINDS, "export", kind)
    Runner(site.services).run_waiting()
    assert site.job(job)["state"] == "cancelled"
    assert steps == [Step("writes the file", 0, 5, "records")]
    assert site.scalars("SELECT count(*) FROM job_results") == [0]


@pytest.mark.sqlite
def test_training_shows_its_rounds_and_stops_when_it_is_cancelled(site):
    published = site.publish()
    incomes = ["poor", "rich"] * 150
    site.send_batch(published, [make_report(published, income=income) for income in incomes])
    parameters = {"n_estimators": 10_000, "num_leaves": 255, "min_child_samples": 1}
    job = site.add_job("train", {"parameters": parameters})
    worker = threading.Thread(target=site.run_jobs)
    worker.start()
    wait_until(lambda: site.job(job).get("progress", {}).get("unit") == "boosting rounds")
    found = site.job(job)
    assert found["progress"]["text"] == "fits the model"
    assert 0 < found["progress"]["done"] <= found["progress"]["total"] == 10_000
    site.post(f"/api/v1/jobs/{job}/cancel")
    worker.join()
    assert site.job(job)["state"] == "cancelled"


def test_steps_are_written_at_most_once_a_second(monkeypatch):
    now, written = [0.0], []
    monkeypatch.setattr(apart.time, "monotonic", lambda: now[0])
    watch = apart.JobWatch(lambda: True, lambda step: not written.append(step), seconds=60)
    for turn in range(40):
        now[0] = turn / 10
        watch.say(replace(STEP, done=turn))
    assert [step.done for step in written] == [0, 10, 20, 30]
    now[0] = 4.5
    watch.check()  # what was said last is not lost where nothing is said any more
    assert [step.done for step in written[4:]] == [39]


def test_pipe_of_steps_gives_the_newest_and_never_makes_its_writer_wait():
    with closing(StepReader()) as reader:
        write = StepWriter(reader.writing_end)
        assert reader.newest() is None
        for number in range(20_000):
            write(Step(f"part {number}", 0, None, "files"))
        newest = reader.newest()
        assert newest is not None
        assert newest.text.startswith("part ")
        write(STEP)
        os.close(reader.writing_end)
        assert reader.newest() == STEP
        assert reader.newest() is None
