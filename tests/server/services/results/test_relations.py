"""Conditional shares and tests of independence over HTTP, from the counts that are kept."""

import json

import pytest

from hushpoll_analysis import (
    Records,
    change,
    conditional_shares,
    dependencies,
    simultaneous_estimates,
)
from hushpoll_server.jobs.kinds import KINDS
from hushpoll_server.services.results import analysis
from sample_survey import VERSION, bearer, make_report

pytestmark = pytest.mark.sqlite


@pytest.fixture
def published(site):
    published = site.publish()
    reports = [
        make_report(published, gender=gender, income=income)
        for gender, income, times in [("Female", "poor", 40), ("Male", "rich", 60)]
        for _ in range(times)
    ]
    site.send_batch(published, reports)
    return published


def records_of(site, published):
    site.seal()
    (rows,) = site.services.segments.blocks(1, published.layout.record_size)
    return Records(published, rows)


def test_conditional_shares_are_those_of_the_function(site, published):
    query = {"of": "income", "given": "gender", "reference": "Male", "confidence": 0.9}
    answer = site.get(f"{VERSION}/conditional-shares", query_string=query)
    assert answer.status_code == 200, answer.json
    body = answer.json
    expected = conditional_shares(
        records_of(site, published), "income", "gender", reference="Male", confidence=0.9
    ).to_dict()
    assert {name: body[name] for name in expected} == json.loads(json.dumps(expected))
    assert (body["survey"], body["digest"], body["release"]) == (
        "work", published.digest, "immediate",
    )  # fmt: skip
    assert "of these 6 at 90 %" in body["intervals"]


def test_intervals_that_hold_together_say_so(site, published):
    query = {"of": "income", "given": "gender", "simultaneous": "true"}
    body = site.get(f"{VERSION}/conditional-shares", query_string=query).json
    assert body["intervals"].startswith("All of these intervals hold together")
    assert (body["simultaneous"], body["differences"]) == (True, None)


def test_dependencies_job_takes_the_domain_that_the_route_takes(site, published):
    at_once = site.get(f"{VERSION}/dependencies", query_string={"where": "income=poor"}).json
    assert at_once["n"] == 40
    found = site.run_job("dependencies", {"where": {"income": ["poor"]}})
    assert found == {**at_once, "kind": "dependencies"} or found == at_once
    refused = site.post(f"{VERSION}/jobs/dependencies", json={"where": {"gender": ["Male"]}})
    assert site.problem(refused) == (422, "invalid-request", "where")


def test_dependencies_job_finds_what_the_route_does_and_tells_how_far_it_is(site, published):
    at_once = site.get(f"{VERSION}/dependencies", query_string={"rate": 0.2}).json
    found = site.run_job("dependencies", {"rate": 0.2})
    assert found == {**at_once, "kind": "dependencies"} or found == at_once
    assert {pair["reference"] for pair in found["pairs"]} == {"chi-square", "drawn tables"}
    row = site.services.surveys.version("work", 1)
    steps = []
    KINDS["dependencies"].done(site.services, row, {"rate": 0.2}, steps.append)
    assert (steps[-1].done, steps[-1].total) == (len(found["pairs"]),) * 2


def test_many_pairs_of_rare_answers_are_left_to_the_job(site, published, monkeypatch):
    monkeypatch.setattr(analysis, "MOST_RARE_PAIRS", 0)
    answer = site.get(f"{VERSION}/dependencies")
    assert site.problem(answer) == (422, "invalid-request", "survey")
    assert "hushpoll relate all --job" in answer.json["detail"]
    assert site.run_job("dependencies")["pairs"]


def test_dependencies_job_of_a_bad_rate_is_refused_at_once(site, published):
    answer = site.ask_for_job("dependencies", {"rate": 0.6})
    assert site.problem(answer) == (422, "invalid-request", "rate")


@pytest.mark.parametrize(
    ("what", "query", "field"),
    [
        ("conditional-shares", {"of": "income", "given": "income"}, "given"),
        ("conditional-shares", {"of": "income"}, "given"),
        ("conditional-shares", {"of": "income", "given": "age", "reference": "x"}, "reference"),
        ("conditional-shares", {"of": "income", "given": "age", "confidence": 1}, "confidence"),
        ("independence", {"a": "income", "b": "x"}, "b"),
        ("independence", {"a": "income", "b": "age", "alpha": 0}, "alpha"),
    ],
)
def test_bad_question_is_refused_by_field(site, published, what, query, field):
    answer = site.get(f"{VERSION}/{what}", query_string=query)
    assert site.problem(answer) == (422, "invalid-request", field)


@pytest.mark.parametrize(
    "what", ["conditional-shares?of=gender&given=age", "independence?a=gender&b=age"]
)
def test_below_the_minimum_batch_nothing_is_answered(site, what):
    site.fill(site.publish(minimum_batch=5), 4)
    assert site.get(f"{VERSION}/{what}").json["code"] == "not-enough-reports"


def test_change_is_that_of_the_function(site, published):
    before = records_of(site, published)
    later = site.publish(version=2, epsilon="2")
    site.fill(later, 30, gender="Female")
    query = {"attribute": "age", "since_version": 1, "confidence": 0.8}
    mapping = json.dumps({f"{low}s": "young" if low < 40 else "old" for low in range(10, 80, 10)})
    query |= {"mapping": mapping, "since_mapping": mapping}
    answer = site.get("/api/v1/surveys/work/versions/2/changes", query_string=query)
    assert answer.status_code == 200, answer.json
    site.seal()
    (rows,) = site.services.segments.blocks(2, later.layout.record_size)
    labels = json.loads(mapping)
    expected = change(
        before, Records(later, rows), "age", mapping=labels, before_mapping=labels, confidence=0.8
    ).to_dict()
    assert {name: answer.json[name] for name in expected} == expected
    assert [row["label"] for row in answer.json["changes"]] == ["young", "old", "none of yours"]
    assert answer.json["epsilon_of_both"]["surveys"] == "6"
    assert "of these 9 at 80 %" in answer.json["intervals"]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"since_version": 1}, "since_version"),
        ({"since_version": 0}, "since_version"),
        ({"since_version": 2, "mapping": "{"}, "mapping"),
        ({"since_version": 2, "since_mapping": "[1]"}, "since_mapping"),
        ({"since_version": 2, "mapping": '{"Male": "m"}'}, "mapping"),
        ({"since_version": 2, "since_attribute": "x"}, "since_attribute"),
        ({"since_version": 2, "attribute": "x"}, "attribute"),
        ({"since_version": 2, "since_mapping": '{"Nobody": "m"}'}, "since_mapping"),
    ],
)
def test_bad_comparison_is_refused_by_field(site, published, query, field):
    site.publish(version=2)
    answer = site.get(f"{VERSION}/changes", query_string={"attribute": "gender", **query})
    assert site.problem(answer) == (422, "invalid-request", field)
    if field.endswith("attribute"):
        of = {"attribute": "country", **query}
        answer = site.get(f"{VERSION}/ordered-changes", query_string=of)
        assert site.problem(answer) == (422, "invalid-request", field)


def test_token_for_one_survey_compares_with_no_other(site, published):
    site.publish(name="other")
    token = site.services.access.issue(["read"], surveys=["work"]).token
    query = {"attribute": "gender", "since_version": 1, "since_survey": "other"}
    answer = site.get(f"{VERSION}/changes", query_string=query, headers=bearer(token))
    assert (answer.status_code, answer.json["code"]) == (403, "forbidden")


@pytest.mark.parametrize("method", ["max-t", "bonferroni", "anytime"])
def test_estimates_that_hold_together_are_those_of_the_function(site, published, method):
    query = {"method": method, "attribute": "age", "confidence": 0.9}
    body = site.get(f"{VERSION}/simultaneous-estimates", query_string=query).json
    expected = simultaneous_estimates(
        records_of(site, published), only=["age"], method=method, confidence=0.9
    ).to_dict()
    assert {name: body[name] for name in expected} == expected


def test_dependencies_are_those_of_the_function(site, published):
    body = site.get(f"{VERSION}/dependencies", query_string={"rate": 0.1}).json
    expected = dependencies(records_of(site, published), rate=0.1).to_dict()
    assert {name: body[name] for name in expected} == expected
    assert (body["pairs"][0]["a"], body["pairs"][0]["b"]) == ("gender", "income")


@pytest.mark.parametrize(
    ("what", "query", "field"),
    [
        ("simultaneous-estimates", {"method": "x"}, "method"),
        ("simultaneous-estimates", {"attribute": "x"}, "attribute"),
        ("dependencies", {"rate": 0}, "rate"),
    ],
)
def test_bad_question_about_many_answers_is_refused_by_field(site, published, what, query, field):
    answer = site.get(f"{VERSION}/{what}", query_string=query)
    assert site.problem(answer) == (422, "invalid-request", field)


def test_accept_names_the_form_where_no_format_does(site, published):
    path, key = f"{VERSION}/estimates", dict(site.admin)
    for accept, form in (
        ("text/csv", "text/csv"),
        ("text/html, text/csv;q=0.9", "text/csv"),
        ("text/html, */*", "application/json"),
        ("image/png", "application/json"),
        ("application/json, text/csv", "application/json"),
    ):
        assert site.get(path, headers={**key, "Accept": accept}).mimetype == form, accept
    named = site.get(f"{path}?format=json", headers={**key, "Accept": "text/csv"})
    assert named.mimetype == "application/json"
    assert site.problem(site.get(f"{path}?format=xml")) == (422, "invalid-request", "format")


def test_sheet_of_too_many_rows_is_refused(site, published, monkeypatch):
    monkeypatch.setattr("hushpoll_server.http.tables.MOST_ROWS_OF_XLSX", 3)
    answer = site.get(f"{VERSION}/estimates?format=xlsx")
    assert site.problem(answer) == (422, "invalid-request", "format")
    assert "ask for csv" in answer.json["detail"]
    assert site.get(f"{VERSION}/estimates?format=csv").status_code == 200
