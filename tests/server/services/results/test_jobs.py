"""One analyst cannot keep the workers from the others: limits, turns, cancelling, time."""

from __future__ import annotations

import threading
from dataclasses import replace

from hushpoll_server.jobs import kinds
from hushpoll_server.jobs.runner import Runner

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

    def spy(parts, row, parameters, say):
        (job,) = [one for one in names if state(site, one) == "running"]
        begun.append(names[job])
        site.clock.advance(1)
        return work(parts, row, parameters, say)

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
    answer = cancel(site, "0" * 32, owner)
    assert site.problem(answer)[:2] == (404, "not-found")
    assert "a model, an audit or a regression until it is deleted" in answer.json["detail"]
    site.clock.advance(1)
    assert site.services.job_store.forget(before=site.services.surveys.now()) == 3


def test_a_running_export_is_cancelled_between_its_blocks(site, monkeypatch):
    site.fill(site.publish(), 5)
    owner = analyst(site)
    job = add(site, owner)
    asked = threading.Event()

    def endless(_parts, _row, _parameters, _say):
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

    def endless(_parts, _row, _parameters, _say):
        return kinds.Result("x", "text/plain", iter(lambda: b"block", b""))

    exports_by(monkeypatch, endless)
    site.run_jobs()
    found = site.job(job)
    assert found["error"] == {"code": "job-timed-out", "detail": "it was ended after 1 s"}
    assert site.problem(site.job_result(job))[:2] == (409, "job-timed-out")
