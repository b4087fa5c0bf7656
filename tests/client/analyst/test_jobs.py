"""What the analyst's client makes of jobs, of a server that does as it is told."""

import json

import pytest

from client.whole_documents import job_document, value_of
from hushpoll_client.analyst import jobs
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import JobFailed, how_far
from hushpoll_client.config import ClientConfig
from hushpoll_protocols.errors import TransportError
from hushpoll_shared.cli.statistic_texts import shape_text
from hushpoll_shared.wire.documents.audits import AuditDocument

ID = "ab" * 16
AUDIT = value_of(AuditDocument)
SHAPE = {
    "kind": "report shape",
    "n": 400,
    "alpha": 0.01,
    "p_value": 0.25,
    "flagged": False,
    "attributes": [
        {"name": "age", "protocol": "OUE", "p_value": 0.25, "finding": "3 records have 9 bits set"},
        {"name": "area", "protocol": None, "p_value": None, "finding": "in clear"},
    ],
}


@pytest.fixture
def analyst(server, monkeypatch):
    monkeypatch.setattr(jobs, "PAUSE_SECONDS", 0.01)
    with AnalystClient(server.url, "t0ken", config=ClientConfig(attempts=1)) as client:
        yield client


def test_a_report_is_asked_for_waited_for_and_fetched(server, steps, analyst):
    result = AUDIT
    states = ["queued", "running", "done"]
    server.play(
        steps.respond(202, job_document(ID, states[0])),
        *(steps.respond(200, job_document(ID, state)) for state in states[1:]),
        steps.respond(200, result),
    )
    seen = []
    answer = analyst.fairness(
        "s", 2, folds=3, parameters={"n_estimators": 5}, on_look=lambda job: seen.append(job)
    )
    assert answer == result
    assert [job["state"] for job in seen] == states[:2]
    assert [(seen.method, seen.path) for seen in server.seen] == [
        ("POST", "/api/v1/surveys/s/versions/2/jobs/fairness"),
        ("GET", f"/api/v1/jobs/{ID}"),
        ("GET", f"/api/v1/jobs/{ID}"),
        ("GET", f"/api/v1/jobs/{ID}/result"),
    ]
    # what was not given is the server's to choose
    assert json.loads(server.seen[0].body) == {"folds": 3, "parameters": {"n_estimators": 5}}


def test_report_of_several_groups_is_fetched(server, steps, analyst):
    result = {name: member for name, member in AUDIT.items() if name != "metrics"}
    server.play(steps.respond(202, job_document(ID, "done")), steps.respond(200, result))
    assert analyst.fairness("s", 1, groups="race", reference="A") == result


def test_the_shape_is_tested_at_the_caller_s_level(server, steps, analyst):
    server.play(steps.respond(202, job_document(ID, "done")), steps.respond(200, SHAPE))
    assert analyst.report_shape("s", 1, alpha=0.05) == SHAPE
    assert server.seen[0].path == "/api/v1/surveys/s/versions/1/jobs/shape"
    assert json.loads(server.seen[0].body) == {"alpha": 0.05}


def test_failed_job_raises_its_reason(server, steps, analyst):
    error = {"code": "missing-extra", "detail": "a fairness job needs the extra 'train'"}
    server.play(
        steps.respond(202, job_document(ID, "queued")),
        steps.respond(200, job_document(ID, "failed", error=error)),
    )
    with pytest.raises(JobFailed, match=rf"job {ID} failed: a fairness .* \(missing-extra\)"):
        analyst.fairness("s", 1)


def test_absent_server_is_waited_for(server, steps, analyst):
    result = AUDIT
    server.play(
        steps.respond(202, job_document(ID, "running")),
        steps.drop,
        steps.problem("unavailable"),
        steps.respond(200, job_document(ID, "done")),
        steps.respond(200, result),
    )
    assert analyst.fairness("s", 1) == result
    server.play(steps.respond(202, job_document(ID, "running")), steps.problem("not-found"))
    with pytest.raises(TransportError, match="404"):
        analyst.fairness("s", 1)


def test_a_job_that_takes_too_long_goes_on(server, steps, analyst):
    server.play(steps.respond(202, job_document(ID, "queued")))
    with pytest.raises(JobFailed, match=f"is queued after 0 s; it goes on: .* job show {ID}"):
        analyst.report_shape("s", 1, timeout=0)


@pytest.mark.parametrize("result", [{}, {"metrics": 3}, {"metrics": {}}, [1]])
def test_a_result_of_another_form_is_a_terminal_error(server, steps, analyst, result):
    server.play(steps.respond(202, job_document(ID, "done")), steps.respond(200, result))
    with pytest.raises(TransportError, match="the server's answer has no") as caught:
        analyst.fairness("s", 1)
    assert not caught.value.retryable


def test_the_shape_in_words():
    text = shape_text(SHAPE)
    assert "like those of devices, p = 0.25 (flagged at 0.01)" in text
    assert "  age: p = 0.25; 3 records have 9 bits set" in text
    assert "  area: not tested; in clear" in text
    flagged = shape_text({**SHAPE, "p_value": 1e-9, "flagged": True})
    assert "FLAGGED, p = 1e-09" in flagged
    assert "nothing to test" in shape_text({**SHAPE, "p_value": None})
    rude = [{**SHAPE["attributes"][0], "finding": "\x1b[31m"}]
    assert "\x1b" not in shape_text({**SHAPE, "attributes": rude})


def test_a_job_is_cancelled_by_its_id(server, steps, analyst):
    server.play(steps.respond(200, job_document(ID, "cancelled")))
    assert analyst.cancel_job(ID)["state"] == "cancelled"
    assert [(seen.method, seen.path) for seen in server.seen] == [
        ("POST", f"/api/v1/jobs/{ID}/cancel")
    ]


def test_a_job_that_was_cancelled_is_waited_for_no_longer(server, steps, analyst):
    server.play(
        steps.respond(202, job_document(ID, "queued")),
        steps.respond(200, job_document(ID, "cancelled")),
    )
    with pytest.raises(JobFailed, match=f"job {ID} was cancelled; start it again"):
        analyst.fairness("s", 2)


def test_jobs_are_listed_by_what_is_asked(server, steps, analyst):
    listed = [job_document(ID, "queued")]
    server.play(steps.respond(200, {"jobs": listed}), steps.respond(200, {"jobs": {}}))
    assert analyst.jobs(survey="s", state="queued") == listed
    assert server.seen[0].path == "/api/v1/jobs?survey=s&state=queued"
    with pytest.raises(TransportError, match="has no jobs"):
        analyst.jobs()


def test_job_in_words_says_how_far_it_is():
    assert how_far({"state": "queued"}) == "queued"
    step = {"text": "fits the model", "done": 1200, "total": 3000, "unit": "rounds"}
    running = {"state": "running", "worker_alive": True, "progress": step}
    assert how_far(running) == "running: fits the model, 1,200 of 3,000 rounds"
    unknown = {**running, "progress": {"text": "writes the file", "done": 0, "unit": "files"}}
    assert how_far(unknown) == "running: writes the file"
    assert how_far({**running, "worker_alive": False}).startswith("running, its worker is silent:")
