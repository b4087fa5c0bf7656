"""One analyst cannot keep the workers from the others: limits, turns, cancelling, time."""

from __future__ import annotations

import re
import threading
from dataclasses import replace

import pytest

from hushpoll_server.jobs import kinds
from hushpoll_server.jobs.runner import Runner
from hushpoll_training.learners.central.dpsgd import DPSGD

TREES = {"parameters": {"n_estimators": 3}}


def analyst(site):
    return site.analyst("read", "train")


def exports_by(monkeypatch, work):
    """Let workers do this for an export."""
    kind = replace(kinds.KINDS["export"], work=work)
    monkeypatch.setitem(kinds.KINDS, "export", kind)


def add(site, headers, kind="export", body=None):
    return site.add_job(kind, body, headers=headers)


def state(site, job):
    return site.job(job)["state"]


def cancel(site, job, headers):
    return site.post(f"/api/v1/jobs/{job}/cancel", headers=headers)


def claim(site):
    store, now = site.services.job_store, site.services.surveys.now()
    return store.claim("worker", now=now, lease=30, attempts=3, running=2)


def test_jobs_of_one_token_are_refused_past_the_limit_and_those_of_others_taken(make_site):
    """Guards: 2,003 training jobs of one token were taken, and all of them came before others."""
    site = make_site(JOBS_PER_TOKEN=20)
    site.fill(site.publish(), 5)
    greedy, other = analyst(site), analyst(site)
    jobs = [add(site, greedy, "train", TREES) for _ in range(20)]
    for _ in range(3):
        refused = site.ask_for_job("train", TREES, headers=greedy)
        assert site.problem(refused) == (429, "too-many-jobs", None)
        assert refused.headers["Retry-After"] == "60"
        assert sorted(refused.json["jobs"]) == sorted(jobs)
    add(site, other, "train", TREES)
    # One that has ended makes room for one.
    assert cancel(site, jobs[3], greedy).status_code == 200
    add(site, greedy, "export")
    assert site.ask_for_job("export", headers=greedy).status_code == 429


def test_tokens_take_turns_and_a_token_has_its_share_of_workers(site):
    site.fill(site.publish(), 5)
    greedy, other = analyst(site), analyst(site)
    many = [add(site, greedy) for _ in range(5)]
    site.clock.advance(1)
    one, two = add(site, other), add(site, other)
    first = claim(site)
    assert first in many
    second = claim(site)
    assert second in (one, two)
    oldest = min(set(many) - {first})  # all were asked for in the same second
    assert {claim(site), claim(site)} == {oldest, *({one, two} - {second})}
    assert claim(site) is None  # two of each run
    assert site.services.job_store.find(first).state == "running"


def test_the_next_job_is_that_of_the_token_that_waited_longest(site, monkeypatch):
    site.fill(site.publish(), 5)
    names = {}
    begun = []
    work = kinds.KINDS["export"].work
    runner = Runner(site.services)

    def spy(parts, row, parameters):
        (job,) = [one for one in names if state(site, one) == "running"]
        begun.append(names[job])
        site.clock.advance(1)
        return work(parts, row, parameters)

    exports_by(monkeypatch, spy)
    for name, number in (("a", 4), ("b", 2), ("c", 1)):
        headers = analyst(site)
        for _ in range(number):
            names[add(site, headers)] = name
            site.clock.advance(1)
    runner.run_waiting()
    assert begun == ["a", "b", "c", "a", "b", "a", "a"]
    assert {state(site, job) for job in names} == {"done"}


def test_a_waiting_job_is_cancelled_by_its_own_token_or_an_administrator(site):
    site.fill(site.publish(), 5)
    owner, other = analyst(site), analyst(site)
    job, second, kept = (add(site, owner) for _ in range(3))
    assert site.problem(cancel(site, job, other)) == (403, "forbidden", "Authorization")
    answer = cancel(site, job, owner)
    assert (answer.status_code, answer.json["state"]) == (200, "cancelled")
    assert "finished_at" in answer.json
    assert cancel(site, job, owner).json == answer.json
    assert cancel(site, second, site.admin).json["state"] == "cancelled"
    site.run_jobs()
    assert [state(site, one) for one in (job, second, kept)] == ["cancelled", "cancelled", "done"]
    assert site.problem(site.job_result(job)) == (409, "job-cancelled", None)
    assert cancel(site, kept, owner).json["state"] == "done"
    assert site.problem(cancel(site, "0" * 32, owner))[:2] == (404, "not-found")
    site.clock.advance(1)
    assert site.services.job_store.forget(before=site.services.surveys.now()) == 3


def test_a_running_export_is_cancelled_between_its_blocks(site, monkeypatch):
    site.fill(site.publish(), 5)
    owner = analyst(site)
    job = add(site, owner)
    asked = threading.Event()

    def endless(_parts, _row, _parameters):
        def blocks():
            while True:
                yield b"block"
                if not asked.is_set():
                    asked.set()
                    assert cancel(site, job, owner).status_code == 200

        return kinds.Result("x", "text/plain", blocks())

    exports_by(monkeypatch, endless)
    site.run_jobs()
    assert state(site, job) == "cancelled"
    assert site.scalars("SELECT count(*) FROM job_results") == [0]


def test_a_job_ends_with_its_time(make_site, monkeypatch):
    site = make_site(JOB_SECONDS=1)
    site.fill(site.publish(), 5)
    job = add(site, analyst(site))

    def endless(_parts, _row, _parameters):
        return kinds.Result("x", "text/plain", iter(lambda: b"block", b""))

    exports_by(monkeypatch, endless)
    site.run_jobs()
    found = site.job(job)
    assert found["error"] == {"code": "job-timed-out", "detail": "it was ended after 1 s"}
    assert site.problem(site.job_result(job))[:2] == (409, "job-timed-out")


@pytest.mark.parametrize("kind", ["train", "fairness"])
@pytest.mark.parametrize(
    ("name", "value"), [("n_estimators", 10_001), ("num_leaves", 4097), ("max_bin", 1025)]
)
def test_a_model_above_the_servers_bounds_is_refused(site, kind, name, value):
    site.fill(site.publish(), 5)
    answer = site.ask_for_job(kind, {"parameters": {name: value}})
    assert site.problem(answer) == (422, "invalid-request", f"parameters.{name}")
    assert f"above {value - 1}" in answer.json["detail"]
    assert site.ask_for_job(kind, {"parameters": {name: value - 1}}).status_code == 202


@pytest.mark.parametrize(
    ("limits", "wanted"),
    [("n_estimatros=500", "one of .*n_estimators"), ("n_estimators=0", "a larger limit")],
)
def test_limit_that_nothing_keeps_is_refused_with_the_settings_name(make_site, limits, wanted):
    site = make_site(JOB_PARAMETER_LIMITS=limits)
    site.fill(site.publish(), 5)
    answer = site.ask_for_job("train", {})
    assert answer.status_code == 422
    assert re.search(f"job_parameter_limits .*{limits}.*{wanted}", answer.json["detail"])


def test_limit_with_leading_zeros_is_a_number(make_site):
    """Guards: every request of training was answered 500."""
    site = make_site(JOB_PARAMETER_LIMITS="n_estimators=0500,learning_rate=0.5")
    site.fill(site.publish(), 5)
    refused = site.ask_for_job("train", {"parameters": {"n_estimators": 501}})
    assert "above 500" in refused.json["detail"]
    assert site.ask_for_job("train", {"parameters": {"n_estimators": 500}}).status_code == 202


def test_private_learner_s_numbers_are_limited_and_its_accountant_is_chosen(site, monkeypatch):
    monkeypatch.setattr(DPSGD, "distributions", ())  # a request imports none of its packages
    site.fill(site.publish(), 5)
    for parameters, field in (
        ({"epochs": 501}, "epochs"),
        ({"accountant": "best"}, "accountant"),
        ({"accountant": 3}, "accountant"),
        ({"epochs": "many"}, "epochs"),
    ):
        answer = site.ask_for_job("train", {"learner": "dpsgd", "parameters": parameters})
        assert site.problem(answer) == (422, "invalid-request", f"parameters.{field}")
    body = {"learner": "dpsgd", "parameters": {"epochs": 500, "accountant": "rdp"}}
    taken = site.ask_for_job("train", body)
    assert (taken.status_code, taken.json["parameters"]["parameters"]) == (202, body["parameters"])


def test_private_learner_without_its_extra_is_refused_at_the_request(site, monkeypatch):
    """Guards: the job was taken, waited for its turn and then failed."""
    monkeypatch.setattr(DPSGD, "distributions", ("no-such-distribution",))
    site.fill(site.publish(), 5)
    answer = site.ask_for_job("train", {"learner": "dpsgd"})
    assert site.problem(answer) == (501, "missing-extra", None)
    assert "hushpoll-server[dpsgd]" in answer.json["detail"]
