"""Jobs of analysis find what their functions find on the same records; others are refused."""

from __future__ import annotations

import json

import numpy as np
import pytest

from hushpoll_analysis import Records, SurveyDesign, weighted_shares_of_several
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.survey import answers_of
from hushpoll_analysis.relations.joint_tables import joint_table
from hushpoll_analysis.report_shape import ALPHA, report_shape
from hushpoll_protocols.kernels import perturb
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_shared.statistic_tables import table_of
from hushpoll_shared.tables.table_files import csv_bytes
from hushpoll_shared.wire.reports import Report
from hushpoll_training import fairness_of_records
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe
from sample_survey import make_report

# They read records, and it makes no difference to them where the records were.
pytestmark = pytest.mark.sqlite


def test_fairness_job_finds_what_the_function_finds(site):
    published = site.publish()
    reports = [make_report(published, income=income) for income in ["poor", "rich"] * 60]
    site.send_batch(published, reports)
    body = {"seed": 3, "folds": 2, "parameters": {"n_estimators": 3}}
    found = site.run_job("fairness", body)
    blocks = site.services.segments.blocks(1, published.layout.record_size)
    (records,) = blocks
    expected = fairness_of_records(
        Records(published, records), Recipe.of({"n_estimators": 3}), FitOptions(3), folds=2
    )
    assert found == json.loads(json.dumps(expected.to_dict()))
    assert found["n"] == 120


def test_fairness_job_of_a_survey_without_groups_is_refused(site):
    site.fill(site.publish(protected=None), 20)
    answer = site.ask_for_job("fairness")
    assert site.problem(answer) == (422, "invalid-request", "protected")
    answer = site.ask_for_job("train", {"learner": "lightgbm-reweighed"})
    assert site.problem(answer) == (422, "invalid-request", "learner")


def records_of(published, n, seed, fakes=0):
    """Records of devices, and then of fakes that support their first category alone."""
    rng = np.random.default_rng(seed)
    columns = []
    for one in published.attributes:
        codes = rng.integers(0, one.k, n)
        if one.oracle is None:
            columns.append(codes[:, None].astype(np.uint8))
            continue
        part = perturb(one.oracle, codes, rng)
        if one.oracle.name == "OUE":
            part[n - fakes :] = 0
            part[n - fakes :, 0] = 1
        columns.append(part)
    return np.hstack(columns)


def send(site, published, records, seed):
    rng = np.random.default_rng(seed)
    reports = [Report(rng.bytes(16), row.tobytes()) for row in records]
    answer = site.send_batch(published, reports)
    assert answer.json["accepted"] == len(records), answer.json


@pytest.fixture
def published(site):
    return site.publish(protocol="OUE", epsilon="3")


@pytest.mark.parametrize("fakes", [0, 60])
def test_shape_job_finds_what_the_function_finds(site, published, fakes):
    records = records_of(published, 600, 5, fakes)
    send(site, published, records, 5)
    found = site.run_job("shape")
    assert found["survey"] == {"name": "work", "version": 1, "digest": published.digest}
    assert (found["kind"], found["pending"]) == ("report shape", 0)
    expected = report_shape(Records(published, records)).to_dict()
    assert {name: found[name] for name in expected} == expected
    assert found["flagged"] is bool(fakes)
    assert (found["n"], found["alpha"]) == (600, ALPHA)
    # counts and p-values; nothing as long as what a person sent
    assert not any(record.tobytes().hex() in json.dumps(found) for record in records)


def test_level_of_a_shape_job_is_the_caller_s(site, published):
    send(site, published, records_of(published, 300, 8), 8)
    cautious, eager = (site.run_job("shape", {"alpha": alpha}) for alpha in (1e-9, 0.5))
    assert cautious["p_value"] == eager["p_value"]
    assert not cautious["flagged"]
    assert eager["flagged"] is (eager["p_value"] <= 0.5)


@pytest.mark.parametrize("attributes", [["gender", "income"], ["gender", "country", "income"]])
def test_table_job_finds_what_the_function_finds(site, published, attributes):
    records = records_of(published, 300, 6)
    send(site, published, records, 6)
    found = site.run_job("table", {"attributes": attributes, "confidence": 0.9})
    expected = joint_table(Records(published, records), attributes, confidence=0.9).to_dict()
    cells = expected.pop("cells")
    # sums of floats in another order of the records
    assert [cell.pop("categories") for cell in cells] == [
        cell.pop("categories") for cell in found["cells"]
    ]
    for name in cells[0]:
        assert [cell[name] for cell in found["cells"]] == pytest.approx(
            [cell[name] for cell in cells], abs=1e-6
        )
    assert expected["likelihood"]["interval"].startswith("Maximum likelihood shares have no")
    expected.pop("likelihood")
    assert {name: found[name] for name in expected} == expected
    assert (found["n"], found["survey"]) == (300, "work")


def test_table_job_without_likelihood_has_none(site, published):
    send(site, published, records_of(published, 60, 7), 7)
    body = {"attributes": ["gender", "income"], "likelihood": False}
    found = site.run_job("table", body)
    assert found["likelihood"] is None
    assert "likelihood" not in found["cells"][0]


WEIGHTED = {
    "margins": [{"attributes": ["income"], "shares": {"poor": 0.4, "rich": 0.6}}],
    "weights": {"attributes": ["income"], "rows": [["poor", 2], ["rich", 1]]},
}


def test_weight_job_finds_what_the_function_finds(site, published):
    records = records_of(published, 300, 6)
    send(site, published, records, 6)
    body = {"attributes": ["gender", "country"], "design": WEIGHTED, "confidence": 0.9}
    found = site.run_job("weight", body)
    design = SurveyDesign.from_dict(WEIGHTED)
    expected = weighted_shares_of_several(
        Records(published, records), ["gender", "country"], design, confidence=0.9
    ).to_dict()
    for one, other in zip(found.pop("attributes"), expected.pop("attributes"), strict=True):
        for row, wanted in zip(one.pop("shares"), other.pop("shares"), strict=True):
            assert (row["category"], row["bound"]) == (wanted["category"], wanted["bound"])
            assert [row["value"], row["lower"], row["unweighted"]["upper"]] == pytest.approx(
                [wanted["value"], wanted["lower"], wanted["unweighted"]["upper"]]
            )
        assert one["effective_n"] == pytest.approx(other["effective_n"])
        assert (one["attribute"], one["n"]) == (other["attribute"], 300)
    assert {name: found[name] for name in expected} == expected
    assert found["survey"] == "work"


def test_regress_job_finds_what_the_function_finds(site, published):
    records = records_of(published, 300, 6)
    send(site, published, records, 6)
    formula = "income ~ gender"
    found = site.run_job("regress", {"formula": formula, "at": {"gender": "Male"}})
    expected = fit(formula, answers_of(Records(published, records), formula))
    for one, wanted in zip(found["coefficients"], expected.coefficients, strict=True):
        assert one["name"] == wanted.name
        assert one["estimate"] == pytest.approx(wanted.estimate, rel=1e-6)
        assert one["standard_error"] == pytest.approx(wanted.standard_error, rel=1e-6)
    assert found["verdict"] == json.loads(json.dumps(expected.verdict))
    assert (found["survey"], found["n"]) == ("work", 300)
    assert found["predicted"][0]["what"]


def test_regress_job_has_the_estimator_that_is_asked_for(site):
    published = site.publish(epsilon="8")
    records = records_of(published, 300, 6)
    send(site, published, records, 6)
    formula = "income ~ gender"
    answers = answers_of(Records(published, records), formula)
    slopes = {}
    for estimator in ("reduced", "likelihood"):
        found = site.run_job("regress", {"formula": formula, "estimator": estimator})
        wanted = fit(formula, answers, estimator=estimator).coefficients
        assert found["estimator"] == estimator
        slopes[estimator] = [one["estimate"] for one in found["coefficients"]]
        assert slopes[estimator] == pytest.approx([one.estimate for one in wanted], rel=1e-6)
    assert slopes["reduced"] != pytest.approx(slopes["likelihood"], rel=1e-4)
    default = site.run_job("regress", {"formula": formula})
    assert default["estimator"] == "reduced"


@pytest.mark.parametrize(
    ("kind", "body", "field"),
    [
        ("weight", {"attributes": []}, "attributes"),
        ("weight", {"attributes": ["gender", "gender"]}, "attributes"),
        ("weight", {"attributes": ["gender", "income"], "design": WEIGHTED}, "attribute"),
        ("weight", {"attributes": ["gender"], "design": {"weight": {}}}, "design.weight"),
        ("weight", {"attributes": ["gender"], "confidence": 1}, "confidence"),
        ("regress", {}, "formula"),
        ("regress", {"formula": "income gender"}, "formula"),
        ("regress", {"formula": "income ~ shoes"}, "formula"),
        ("regress", {"formula": "income ~ gender", "family": "probit"}, "family"),
        ("regress", {"formula": "income ~ gender", "confidence": 1}, "confidence"),
        ("regress", {"formula": "income ~ gender", "estimator": "best"}, "estimator"),
        ("regress", {"formula": "income ~ gender", "at": {"age": "1"}}, "at"),
        ("regress", {"formula": "income ~ gender", "at": {"gender": "Mule"}}, "at"),
        ("regress", {"formula": ""}, "formula"),
        ("regress", {"formula": "income ~ "}, "formula"),
        ("regress", {"formula": "income ~ income"}, "formula"),
        ("regress", {"formula": "income ~ gender.__class__"}, "formula"),
        ("regress", {"formula": "income ~ I(__import__('os').getpid())"}, "formula"),
        ("regress", {"formula": "income ~ {gender}"}, "formula"),
        ("regress", {"formula": "income ~ C(gender, ref='Mule')"}, "formula"),
        ("regress", {"formula": "income ~ (1|gender)"}, "formula"),
        ("table", {"attributes": ["gender"]}, "attributes"),
        ("table", {"attributes": ["gender", "gender"]}, "attributes"),
        ("table", {"attributes": ["gender", "x"]}, "attributes"),
        ("table", {"attributes": ["gender", "age"], "confidence": 1}, "confidence"),
        ("fairness", {"folds": 1}, "folds"),
        ("fairness", {"folds": 21}, "folds"),
        ("fairness", {"confidence": 1}, "confidence"),
        ("fairness", {"together": "simultaneous"}, "together"),
        ("fairness", {"groups": "x"}, "groups"),
        ("fairness", {"groups": "age"}, "reference"),
        ("fairness", {"groups": "age", "reference": "x"}, "reference"),
        ("fairness", {"reference": "Male"}, "reference"),
        ("fairness", {"protected_input": "x"}, "protected_input"),
        ("shape", {"alpha": 0}, "alpha"),
        ("shape", {"alpha": 0.6}, "alpha"),
        ("shape", {"level": 0.1}, "level"),
    ],
)
def test_invalid_job_is_refused_at_once(site, kind, body, field):
    site.fill(site.publish(), 20)
    answer = site.ask_for_job(kind, body)
    assert site.problem(answer) == (422, "invalid-request", field)


def test_shape_job_tells_nothing_of_fewer_than_a_minimum_batch(site):
    published = site.publish(minimum_batch=50)
    send(site, published, records_of(published, 49, 1), 1)
    answer = site.ask_for_job("shape")
    assert site.problem(answer)[:2] == (409, "not-enough-reports")


def test_survey_with_one_report_has_no_reports(site):
    site.fill(site.publish(minimum_batch=50), 1)
    assert "has 1 report, fewer than" in site.ask_for_job("shape").json["detail"]


def test_honest_surveys_are_flagged_no_more_often_than_promised(site):
    """60 surveys at a level of 1 %: more than 4 alarms would happen in 1 of 2,600 such tests."""
    alarms = 0
    for number in range(60):
        published = site.publish(name=f"survey-{number}", protocol="OUE", epsilon="3")
        records = records_of(published, 120, number)
        rng = np.random.default_rng(number)
        reports = [Report(rng.bytes(16), row.tobytes()) for row in records]
        site.send_batch(published, reports)
        parts = site.services
        row = parts.surveys.version(published.name, 1)
        done = KINDS["shape"].done(parts, row, {}, lambda _: None)
        alarms += json.loads(next(done.blocks))["flagged"]
    assert alarms <= 4


def test_results_of_jobs_are_given_as_tables(site):
    published = site.publish()
    reports = [make_report(published, income=income) for income in ["poor", "rich"] * 60]
    site.send_batch(published, reports)
    asked = {
        "table": ("joint-table", {"attributes": ["gender", "income"], "likelihood": False}),
        "weight": ("weighted-shares", {"attributes": ["gender", "age"], "design": WEIGHTED}),
        "dependencies": ("dependencies", {"rate": 0.1}),
        "shape": ("shape", {}),
        "regress": ("regression", {"formula": "income ~ gender"}),
        "fairness": ("fairness", {"folds": 2, "parameters": {"n_estimators": 3}}),
    }
    for kind, (statistic, body) in asked.items():
        job = site.add_job(kind, body)
        site.run_jobs()
        table = table_of(statistic, site.job_result(job).json)
        answer = site.get(f"/api/v1/jobs/{job}/result?format=csv")
        assert (answer.mimetype, answer.data) == ("text/csv", csv_bytes(table))
        assert f'filename="work-1-{kind}.csv"' in answer.headers["Content-Disposition"]
        assert site.get(f"/api/v1/jobs/{job}/result?format=xlsx").data.startswith(b"PK")
        assert site.get(f"/api/v1/jobs/{job}/result?format=json").json == site.job_result(job).json
    job = site.add_job("export", {})
    site.run_jobs()
    refused = site.get(f"/api/v1/jobs/{job}/result?format=csv")
    assert site.problem(refused) == (422, "invalid-request", "format")
