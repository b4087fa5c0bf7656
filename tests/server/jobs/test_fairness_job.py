"""Fairness over HTTP: a worker finds what the function finds on the same records."""

import json

import pytest

from hushpoll_analysis import Records
from hushpoll_server.jobs.runner import Runner
from hushpoll_shared.wire import reports as wire
from hushpoll_training import fairness_of_records
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe

VERSION = "/api/v1/surveys/work/versions/1"


def test_the_job_finds_what_the_function_finds(site, make_report):
    published = site.publish()
    reports = [make_report(published, income=income) for income in ["poor", "rich"] * 60]
    site.send_batch("work", wire.pack_reports(published.digest, reports))
    body = {"seed": 3, "folds": 2, "parameters": {"n_estimators": 3}}
    answer = site.post(f"{VERSION}/jobs/fairness", json=body)
    assert answer.status_code == 202, answer.json
    Runner(site.services).run_waiting()
    found = json.loads(site.get(f"/api/v1/jobs/{answer.json['id']}/result").data)
    blocks = site.services.segments.blocks(1, published.layout.record_size)
    (records,) = blocks
    expected = fairness_of_records(
        Records(published, records), Recipe.of({"n_estimators": 3}), FitOptions(3), folds=2
    )
    assert found == json.loads(json.dumps(expected.to_dict()))
    assert found["n"] == 120


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"folds": 1}, "folds"),
        ({"folds": 21}, "folds"),
        ({"confidence": 1}, "confidence"),
        ({"groups": "x"}, "groups"),
        ({"groups": "age"}, "reference"),
        ({"groups": "age", "reference": "x"}, "reference"),
        ({"reference": "Male"}, "reference"),
        ({"protected_input": "x"}, "protected_input"),
    ],
)
def test_what_cannot_be_done_is_refused_at_once(site, body, field):
    site.fill(site.publish(), 20)
    answer = site.post(f"{VERSION}/jobs/fairness", json=body)
    assert site.problem(answer) == (422, "invalid-request", field)


def test_a_survey_without_groups_is_refused(site):
    site.fill(site.publish(protected=None), 20)
    answer = site.post(f"{VERSION}/jobs/fairness", json={})
    assert site.problem(answer) == (422, "invalid-request", "protected")
