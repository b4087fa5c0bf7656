"""Ordered answers, and shares among those who answered, over HTTP from the counts that are kept."""

import json

import pytest

from hushpoll_analysis import (
    Records,
    answered_shares,
    ordered_change,
    ordered_summary,
    simultaneous_means,
)
from sample_survey import VERSION, make_report

pytestmark = pytest.mark.sqlite

DECADES = "10:20,20:30,30:40,40:50,50:60,60:70,70:80"


@pytest.fixture
def published(site):
    published = site.publish()
    reports = [
        make_report(published, age=age, gender=gender)
        for age, gender, times in [("20s", "Male", 50), ("50s", "Female", 50), (None, "Male", 20)]
        for _ in range(times)
    ]
    site.send_batch(published, reports)
    return published


def records_of(site, published):
    site.seal()
    (rows,) = site.services.segments.blocks(1, published.layout.record_size)
    return Records(published, rows)


def same(answer, expected):
    assert answer.status_code == 200, answer.json
    assert {name: answer.json[name] for name in expected} == json.loads(json.dumps(expected))


@pytest.mark.parametrize("given", [None, "gender"])
def test_summary_is_that_of_the_function(site, published, given):
    query = {"attribute": "age", "scores": DECADES, "quantiles": "0.5", "threshold": "40"}
    query |= {"interpolation": "linear", "confidence": "0.9"} | ({"given": given} if given else {})
    answer = site.get(f"{VERSION}/ordered-answers", query_string=query)
    scores = [(float(low), low + 10.0) for low in range(10, 80, 10)]
    expected = ordered_summary(
        records_of(site, published),
        "age",
        scores=scores,
        quantiles=[0.5],
        threshold=40.0,
        given=given,
        interpolation="linear",
        confidence=0.9,
    )
    same(answer, expected.to_dict())
    assert f"of these {expected.intervals} at 90 %" in answer.json["intervals"]
    assert (answer.json["survey"], answer.json["digest"]) == ("work", published.digest)


def test_labels_that_are_numbers_need_no_scores(site, published):
    body = site.get(f"{VERSION}/ordered-answers", query_string={"attribute": "country"}).json
    assert [one["low"] for one in body["scale"]] == [1, 2, 3, 4, 5]
    assert [quantile["q"] for quantile in body["groups"][0]["quantiles"]] == [0.25, 0.5, 0.75]


def test_differences_between_groups_are_those_of_the_function(site, published):
    query = {"attribute": "country", "given": "gender", "reference": "Male", "simultaneous": "true"}
    answer = site.get(f"{VERSION}/ordered-answers", query_string=query)
    expected = ordered_summary(
        records_of(site, published), "country", given="gender", reference="Male", simultaneous=True
    )
    same(answer, expected.to_dict())
    assert len(answer.json["differences"]) == len(expected.groups) - 1


@pytest.mark.parametrize("given", [None, "gender"])
def test_means_together_are_those_of_the_function(site, published, given):
    query = {"attributes": "country,age", "scores": f"age={DECADES}", "confidence": "0.9"}
    query |= {"given": given} if given else {}
    answer = site.get(f"{VERSION}/simultaneous-means", query_string=query)
    scores = {"age": [(float(low), low + 10.0) for low in range(10, 80, 10)]}
    expected = simultaneous_means(
        records_of(site, published),
        attributes=["country", "age"],
        given=given,
        scores=scores,
        confidence=0.9,
    )
    same(answer, expected.to_dict())


def test_ordered_change_is_that_of_the_function(site, published):
    first = records_of(site, published)
    later = site.publish(version=2)
    site.send_batch(later, [make_report(later, age="50s") for _ in range(60)])
    query = {"attribute": "age", "since_version": 1, "scores": DECADES, "threshold": 40}
    answer = site.get(f"{VERSION[:-1]}2/ordered-changes", query_string=query)
    site.seal()
    (rows,) = site.services.segments.blocks(2, later.layout.record_size)
    scores = [(float(low), low + 10.0) for low in range(10, 80, 10)]
    expected = ordered_change(first, Records(later, rows), "age", scores=scores, threshold=40)
    same(answer, expected.to_dict())
    table = site.get(f"{VERSION[:-1]}2/ordered-changes", query_string=query | {"format": "csv"})
    assert table.text.splitlines()[0].startswith('"verdict","statistic","before"')


def test_answered_shares_are_those_of_the_function(site, published):
    answer = site.get(f"{VERSION}/answered-shares", query_string={"confidence": 0.8})
    same(answer, answered_shares(records_of(site, published), confidence=0.8).to_dict())
    assert [attribute["name"] for attribute in answer.json["attributes"]] == ["age"]
    assert "of these 8 at 80 %" in answer.json["intervals"]


@pytest.mark.parametrize(
    ("what", "query", "field"),
    [
        ("ordered-answers", {}, "attribute"),
        ("ordered-answers", {"attribute": "x"}, "attribute"),
        ("ordered-answers", {"attribute": "age"}, "scores"),
        ("ordered-answers", {"attribute": "age", "scores": "1,2"}, "scores"),
        ("ordered-answers", {"attribute": "age", "scores": "1,x"}, "scores"),
        ("ordered-answers", {"attribute": "country", "threshold": 6}, "threshold"),
        ("ordered-answers", {"attribute": "country", "threshold": "nan"}, "threshold"),
        ("ordered-answers", {"attribute": "country", "quantiles": "0.5,1"}, "quantiles"),
        ("ordered-answers", {"attribute": "country", "quantiles": "x"}, "quantiles"),
        ("ordered-answers", {"attribute": "country", "interpolation": "cubic"}, "interpolation"),
        ("ordered-answers", {"attribute": "country", "interpolation": "linear"}, "interpolation"),
        ("ordered-answers", {"attribute": "country", "given": "country"}, "given"),
        ("ordered-answers", {"attribute": "country", "reference": "x"}, "reference"),
        ("simultaneous-means", {"attributes": "country,"}, "attributes"),
        ("simultaneous-means", {"scores": "1,2"}, "scores"),
        ("simultaneous-means", {"scores": "age=1,2;age=1,2"}, "scores"),
        ("ordered-changes", {"attribute": "country", "since_version": 1}, "since_version"),
        ("answered-shares", {"attribute": "country"}, "attribute"),
        ("answered-shares", {"confidence": 0}, "confidence"),
    ],
)
def test_bad_question_is_refused_by_field(site, published, what, query, field):
    answer = site.get(f"{VERSION}/{what}", query_string=query)
    assert site.problem(answer) == (422, "invalid-request", field)


@pytest.mark.parametrize("what", ["ordered-answers?attribute=country", "answered-shares"])
def test_below_the_minimum_batch_nothing_is_answered(site, what):
    site.fill(site.publish(minimum_batch=5), 4)
    assert site.get(f"{VERSION}/{what}").json["code"] == "not-enough-reports"
