"""Jobs over HTTP and in the table: asked for once, done once, whichever process dies meanwhile."""

from __future__ import annotations

import io
import json
import os
import subprocess
import sys
import zipfile
from dataclasses import replace

import pytest

from hushpoll_server.jobs import apart, kinds
from hushpoll_server.jobs.runner import MOST_ATTEMPTS, Runner
from hushpoll_shared.wire.records_file import RECORDS_MEDIA_TYPE, read_records
from sample_survey import VERSION, make_draft, make_report
from waiting import run_together


def exports_by(monkeypatch, work):
    """Let workers do this for an export."""
    kind = replace(kinds.KINDS["export"], work=work)
    monkeypatch.setitem(kinds.KINDS, "export", kind)


def finish(store, job, owner, attempt, parts):
    return store.finish(
        job, owner, attempt=attempt, now=9, media_type="text/plain", file_name="x", parts=parts
    )


def claim(store, owner, *, now, lease, attempts=3):
    return store.claim(owner, now=now, lease=lease, attempts=attempts, running=9)


def run(site, job_id):
    site.run_jobs()
    assert site.job(job_id)["state"] not in ("queued", "running")


def test_an_export_is_queued_run_and_fetched(site):
    published = site.publish()
    reports = site.fill(published, 20)
    job = site.add_job("export")
    queued = site.job(job)
    assert (queued["state"], queued["attempt"], queued["survey"]) == ("queued", 0, "work")
    assert queued["parameters"] == {"format": "records", "content": "records", "raw": False}
    assert site.problem(site.job_result(job)) == (409, "job-not-done", None)
    run(site, job)
    done = site.job(job)
    assert (done["state"], done["attempt"]) == ("done", 1)
    answer = site.job_result(job)
    assert answer.mimetype == RECORDS_MEDIA_TYPE
    assert int(answer.headers["Content-Length"]) == len(answer.data) == done["result"]["size"]
    again, records = read_records(answer.data)
    assert again == published
    assert sorted(map(bytes, records)) == sorted(report.record for report in reports)


def test_a_large_result_is_kept_in_pieces(site, monkeypatch):
    monkeypatch.setattr("hushpoll_server.jobs.runner.PART_BYTES", 100)
    published = site.publish()
    site.fill(published, 50)
    job = site.add_job("export")
    run(site, job)
    assert len(read_records(site.job_result(job).data)[1]) == 50


def test_a_seal_is_a_job(make_site):
    site = make_site(SEALING="worker")
    published = site.publish(minimum_batch=5)
    site.fill(published, 7)
    answer = site.get(f"{VERSION}/estimates")
    assert site.problem(answer)[:2] == (409, "not-enough-reports")
    job = site.add_job("seal")
    run(site, job)
    assert json.loads(site.job_result(job).data) == {"moved": 7, "inbox": 0, "sealed": 7}
    site.fill(published, 3)
    body = site.get(f"{VERSION}/estimates").json
    assert (body["n"], body["pending"]) == (7, 3)


@pytest.mark.sqlite
@pytest.mark.parametrize("encoding", ["indicator", "posterior"])
def test_training_is_a_job_whose_model_predicts(site, tmp_path, encoding):
    from hushpoll_training.runs.saved import load_model

    published = site.publish()
    incomes = ["poor", "rich"] * 30
    reports = [make_report(published, income=income) for income in incomes]
    site.send_batch(published, reports)
    body = {"seed": 3, "parameters": {"n_estimators": 4}, "encoding": encoding}
    job = site.add_job("train", body)
    run(site, job)
    assert site.job(job)["state"] == "done", site.job(job)
    with zipfile.ZipFile(io.BytesIO(site.job_result(job).data)) as archive:
        archive.extractall(tmp_path)
    model = load_model(tmp_path)
    assert (model.published, model.features.encoding.name) == (published, encoding)
    assert published.digest in (tmp_path / "card.json").read_text()
    assert (tmp_path / "card.html").is_file()


@pytest.mark.sqlite
@pytest.mark.parametrize("kind", ["train", "fairness"])
@pytest.mark.parametrize(
    ("body", "field", "said"),
    [
        ({"parameters": {"n_trees": 4}}, "parameters.n_trees", "use one of n_estimators"),
        ({"parameters": {"num_leaves": 1}}, "parameters.num_leaves", "is 1; it must be a whole"),
        ({"learner": "forest"}, "learner", "'forest'; it must be one of lightgbm"),
        ({"encoding": "ohe"}, "encoding", "'ohe'; it must be one of indicator, posterior"),
        ({"encoding": ""}, "encoding", "at least 1 character"),
    ],
)
def test_training_that_its_learner_refuses_is_refused_at_the_request(site, kind, body, field, said):
    site.fill(site.publish(), 60)
    answer = site.ask_for_job(kind, body)
    assert site.problem(answer) == (422, "invalid-request", field)
    assert said in answer.json["detail"]


@pytest.mark.sqlite
@pytest.mark.parametrize("kind", ["train", "fairness"])
def test_training_on_a_survey_without_a_target_is_refused_at_the_request(site, kind):
    attributes = make_draft()["attributes"]
    attributes[-1] = {"name": "income", "role": "plain", "categories": ["poor", "rich"]}
    site.fill(site.publish(attributes=attributes), 60)
    answer = site.ask_for_job(kind)
    assert site.problem(answer) == (422, "invalid-request", "target")
    assert "role target" in answer.json["detail"]


@pytest.mark.sqlite
@pytest.mark.parametrize("kind", ["train", "fairness"])
def test_server_without_the_extra_refuses_training_and_says_so(site, monkeypatch, kind):
    site.fill(site.publish(), 5)
    for name in [name for name in sys.modules if name.startswith("hushpoll_training")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "lightgbm", None)
    answer = site.ask_for_job(kind)
    assert site.problem(answer) == (501, "missing-extra", None)
    assert "'./server[train]'" in answer.json["detail"]


@pytest.mark.sqlite
def test_a_worker_without_the_extra_says_so(site, monkeypatch, tmp_path):
    published = site.publish()
    site.fill(published, 5)
    job = site.add_job("train")
    # What the job's process finds first, in place of the library.
    (tmp_path / "lightgbm.py").write_text("raise ImportError")
    monkeypatch.setenv("PYTHONPATH", f"{tmp_path}:{os.environ.get('PYTHONPATH', '')}")
    # A process of its own, as the one that sites share may have the library already.
    monkeypatch.setattr(apart, "subprocess", subprocess)
    run(site, job)
    assert site.job(job)["error"]["code"] == "missing-extra"
    assert site.problem(site.job_result(job))[:2] == (501, "missing-extra")


def test_internal_error_of_a_job_is_not_shown(site, monkeypatch, debug_log):
    published = site.publish()
    site.fill(published, 5)
    job = site.add_job("export")

    def fail(*_):
        # No word that a random number in hexadecimal could hold.
        raise ValueError("secret of the job")

    exports_by(monkeypatch, fail)
    run(site, job)
    assert site.job(job)["error"]["code"] == "internal"
    assert "secret of the job" not in debug_log.text + site.job_result(job).text


@pytest.mark.sqlite
@pytest.mark.parametrize(("kind", "status"), [("export", 409), ("train", 409), ("seal", 202)])
def test_below_the_minimum_batch_nothing_is_begun(site, kind, status):
    published = site.publish(minimum_batch=5)
    site.fill(published, 4)
    answer = site.ask_for_job(kind)
    assert answer.status_code == status
    if status == 409:
        assert site.problem(answer) == (409, "not-enough-reports", None)
    else:
        run(site, answer.json["id"])
        assert site.counts(published)["sealed"] == 0


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("export", {"format": "xml"}, "format"),
        ("export", {"content": "indicators"}, "content"),
        ("train", {"seed": -1}, "seed"),
        ("train", {"panel": "x"}, "panel"),
        ("train", {"encoding": "one"}, "encoding"),
    ],
)
def test_a_job_of_another_form_is_refused_by_field(site, kind, body, field):
    site.fill(site.publish(), 5)
    answer = site.ask_for_job(kind, body)
    assert site.problem(answer) == (422, "invalid-request", field)


@pytest.mark.sqlite
def test_unknown_job_is_not_found(site):
    assert site.problem(site.get(f"/api/v1/jobs/{'0' * 32}")) == (404, "not-found", "job_id")
    assert site.problem(site.get("/api/v1/jobs/x"))[:2] == (422, "invalid-request")


def test_of_many_workers_one_runs_a_job(site, monkeypatch):
    site.fill(site.publish(), 5)
    job = site.add_job("export")
    runs = []
    work = kinds.KINDS["export"].work
    exports_by(monkeypatch, lambda *call: (runs.append(1), work(*call))[1])
    workers = [Runner(site.services) for _ in range(8)]
    run_together(*(worker.run_waiting for worker in workers))
    assert runs == [1]
    assert site.job(job)["state"] == "done"


def test_a_dead_workers_job_is_taken_over_and_its_late_result_dropped(site):
    site.fill(site.publish(), 5)
    store, lease = site.services.job_store, 30
    job = site.add_job("export")
    now = site.services.surveys.now()
    assert claim(store, "first", now=now, lease=lease) == job
    assert claim(store, "second", now=now + lease, lease=lease) is None
    site.clock.advance(lease + 1)
    run(site, job)
    assert (site.job(job)["state"], site.job(job)["attempt"]) == ("done", 2)
    result = site.job_result(job).data
    assert not finish(store, job, "first", 1, [b"late"])
    assert not store.renew(job, "first", until=now + 99)
    assert site.job_result(job).data == result


def test_reports_are_taken_between_the_parts_of_a_result(site):
    """Guards: a large result was one transaction, and SQLite's one writer stored nothing else."""
    published = site.publish()
    site.fill(published, 5)
    store = site.services.job_store
    job = site.add_job("export")
    assert claim(store, "one", now=0, lease=9, attempts=3) == job

    def parts():
        for part in (b"first ", b"second"):
            yield part
            assert site.send(published).status_code == 201
            assert site.problem(site.job_result(job))[:2] == (409, "job-not-done")

    assert finish(store, job, "one", 1, parts())
    assert site.job_result(job).data == b"first second"
    assert store.find(job).size == 12
    assert site.counts(published)["accepted"] == 7


def test_nothing_of_an_attempt_that_ended_midway_is_in_the_next_ones_result(site):
    site.fill(site.publish(), 5)
    store = site.services.job_store
    job = site.add_job("export")
    assert claim(store, "one", now=0, lease=9, attempts=3) == job

    def taken_over():
        yield b"first "
        yield b"second"
        # The same worker, which has forgotten that it is at work on it.
        assert claim(store, "one", now=10, lease=9, attempts=3) == job
        yield b"third"

    assert not finish(store, job, "one", 1, taken_over())
    assert finish(store, job, "one", 2, [b"whole"])
    assert site.job_result(job).data == b"whole"


@pytest.mark.parametrize("end", ["fail", "give-up", "forget"])
def test_nothing_is_kept_of_a_result_that_is_never_finished(site, end):
    site.fill(site.publish(), 5)
    services = site.services
    store = services.job_store
    job = site.add_job("export")
    assert claim(store, "one", now=0, lease=9, attempts=1) == job

    def parts():
        yield b"first"
        yield b"second"
        if end == "fail":
            assert store.fail(job, "one", now=5, code="internal", detail="")
        elif end == "give-up":
            assert claim(store, "two", now=10, lease=9, attempts=1) is None
        else:
            assert store.forget_version(store.find(job).version_id, "export") == 1
        yield b"third"

    assert not finish(store, job, "one", 1, parts())
    assert site.scalars("SELECT count(*) FROM job_results") == [0]


def test_a_lease_that_is_renewed_is_not_taken(site):
    site.fill(site.publish(), 5)
    store = site.services.job_store
    job = site.add_job("export")
    assert claim(store, "first", now=100, lease=10, attempts=3) == job
    assert store.renew(job, "first", until=200)
    assert claim(store, "second", now=150, lease=10) is None


def test_a_job_that_kills_its_workers_is_given_up(site):
    site.fill(site.publish(), 5)
    store = site.services.job_store
    job = site.add_job("export")
    now = 0
    for _ in range(MOST_ATTEMPTS):
        assert claim(store, "worker", now=now, lease=10, attempts=MOST_ATTEMPTS) == job
        now += 11
    assert claim(store, "worker", now=now, lease=10, attempts=MOST_ATTEMPTS) is None
    assert site.job(job)["error"]["code"] == "worker-lost"
    assert site.problem(site.job_result(job))[:2] == (409, "job-not-done")


def test_a_stopping_worker_leaves_its_job_to_others_at_once(site):
    site.fill(site.publish(), 5)
    job = site.add_job("export")
    runner = Runner(site.services)
    assert claim(site.services.job_store, runner.owner, now=0, lease=9) == job
    runner.release()
    assert (site.job(job)["state"], site.job(job)["attempt"]) == ("queued", 0)


def test_old_results_are_forgotten(site):
    site.fill(site.publish(), 5)
    old = site.add_job("export")
    run(site, old)
    site.clock.advance(100)
    new = site.add_job("export")
    run(site, new)
    assert site.services.job_store.forget(before=site.services.surveys.now()) == 1
    assert site.problem(site.get(f"/api/v1/jobs/{old}"))[:2] == (404, "not-found")
    assert site.job_result(new).status_code == 200
