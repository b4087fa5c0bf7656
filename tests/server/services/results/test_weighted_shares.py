"""Weighted shares over HTTP, from the counts that are kept or from the records."""

import json

import pytest

from hushpoll_analysis import Records, SurveyDesign, weighted_shares
from sample_survey import VERSION, make_report

pytestmark = pytest.mark.sqlite

ASKED = f"{VERSION}/weighted-shares"
INCOME = {"attributes": ["income"], "shares": {"poor": 0.7, "rich": 0.3}}
GENDER = {"attributes": ["gender"], "shares": {"Female": 0.5, "Male": 0.5}}


@pytest.fixture
def published(site):
    published = site.publish()
    reports = [
        make_report(published, gender=gender, income=income)
        for gender, income, times in [
            ("Female", "poor", 60),
            ("Female", "rich", 30),
            ("Male", "poor", 30),
            ("Male", "rich", 80),
        ]
        for _ in range(times)
    ]
    site.send_batch(published, reports)
    return published


@pytest.mark.parametrize(
    ("attribute", "design"),
    [
        ("gender", {"population": 500}),
        ("gender", {"margins": [INCOME]}),
        ("gender", {"strata": {"attributes": ["income"], "sizes": {"poor": 300, "rich": 200}}}),
        ("gender", {"weights": {"attributes": ["income"], "weights": {"poor": 3, "rich": 1}}}),
        (
            "gender",
            {"weights": {"attributes": ["income"], "rows": [["poor", 3], ["rich", 1]]}},
        ),
        ("age", {"margins": [INCOME, GENDER], "bounds": [0.01, 100]}),
    ],
)
def test_weighted_shares_are_those_of_the_function(site, published, attribute, design):
    site.seal()
    (rows,) = site.services.segments.blocks(1, published.layout.record_size)
    expected = weighted_shares(
        Records(published, rows), attribute, SurveyDesign.from_dict(design), confidence=0.9
    ).to_dict()
    body = {"attribute": attribute, "design": design, "confidence": 0.9}
    answer = site.post(ASKED, json=body)
    assert answer.status_code == 200, answer.json
    assert {name: answer.json[name] for name in expected} == json.loads(json.dumps(expected))
    assert (answer.json["survey"], answer.json["digest"]) == ("work", published.digest)
    assert "at 90 %" in answer.json["intervals"]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"attribute": "gender"}, "design"),
        ({"attribute": "x", "design": {}}, "attribute"),
        ({"attribute": "gender", "design": {"margin": []}}, "design.margin"),
        ({"attribute": "gender", "design": {"margins": [GENDER]}}, "attribute"),
        ({"attribute": "age", "design": {"bounds": [1]}}, "bounds"),
        *(
            (
                {
                    "attribute": "age",
                    "design": {"weights": {"attributes": ["income"], "rows": rows}},
                },
                "weights",
            )
            for rows in (
                [["poor", 1]],
                [["poor", 1], ["poor", 2], ["rich", 1]],
                [["poor", "rich", 1]],
                [[1, 2]],
                [[]],
            )
        ),
        (
            {
                "attribute": "age",
                "design": {"weights": {"attributes": ["gender"], "rows": [["Male", 1]]}},
            },
            "weights",
        ),
        ({"attribute": "age", "design": {"population": 199}}, "population"),
        ({"attribute": "age", "design": {"population": -1}}, "population"),
        *(
            (
                {
                    "attribute": "gender",
                    "design": {
                        "weights": {
                            "attributes": ["income"],
                            "weights": {"poor": weight, "rich": weight},
                        }
                    },
                },
                "weights",
            )
            for weight in (1e-300, 9e-7, 2e12)
        ),
        (
            {
                "attribute": "age",
                "design": {"margins": [{"attributes": ["income"], "shares": {"poor": 1}}]},
            },
            "margins[0]",
        ),
    ],
)
def test_a_design_that_cannot_be_is_refused_by_field(site, published, body, field):
    site.seal()
    assert site.problem(site.post(ASKED, json=body)) == (422, "invalid-request", field)


# each of the 200 records has 2 + 2 categories of the design, 8 of the outcome, and 2 * 2 cells
@pytest.mark.parametrize(("limit", "most"), [("LARGEST_SAMPLE", 99), ("MOST_SCORES", 200 * 16 - 1)])
def test_too_many_records_for_a_design_of_two_attributes_are_left_to_the_command(
    site, published, monkeypatch, limit, most
):
    limits = "hushpoll_server.services.results.weighting"
    monkeypatch.setattr(f"{limits}.{limit}", most)
    body = {"attribute": "age", "design": {"margins": [INCOME, GENDER]}}
    answer = site.post(ASKED, json=body)
    assert answer.status_code == 422
    assert "hushpoll records weight" in answer.json["detail"]
    body["design"]["margins"].pop()
    assert site.post(ASKED, json=body).status_code == 200


def test_the_table_of_weighted_shares_is_csv(site, published):
    site.seal()
    body = {"attribute": "gender", "design": {"population": 500}}
    answer = site.post(f"{ASKED}?format=csv", json=body)
    assert answer.mimetype == "text/csv"
    heading, *rows = answer.text.splitlines()
    assert "unweighted_lower" in heading
    assert "total_upper" in heading
    assert len(rows) == 2
    verdict = site.post(ASKED, json=body).json["verdict"]
    assert heading.startswith('"verdict","category"')
    assert all(row.startswith(f'"{verdict["says"]}"') for row in rows)


def test_below_the_minimum_batch_no_weighted_share_is_answered(site):
    site.fill(site.publish(minimum_batch=5), 4)
    answer = site.post(ASKED, json={"attribute": "gender", "design": {}})
    assert answer.json["code"] == "not-enough-reports"
