"""How much a job may compute: the largest parameters, by the learner or by the operator."""

from __future__ import annotations

import re

import pytest

from hushpoll_lab.learners.dpsgd import DPSGD

pytestmark = pytest.mark.sqlite


def analyst(site):
    return site.analyst("read", "train")


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
    assert "'./server/lab[dpsgd]'" in answer.json["detail"]


@pytest.mark.parametrize("kind", ["train", "fairness"])
def test_learner_that_reads_rows_in_clear_is_no_learner_of_a_job(site, kind):
    site.fill(site.publish(), 5)
    answer = site.ask_for_job(kind, {"learner": "lightgbm-parity"})
    assert site.problem(answer) == (422, "invalid-request", "learner")
    assert "hushpoll train --panel" in answer.json["detail"]
