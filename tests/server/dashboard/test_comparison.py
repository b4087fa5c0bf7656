"""The page that compares groups and waves, and what stands under a cross-table."""

from __future__ import annotations

import json
from urllib.parse import urlencode

import pytest

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"


@pytest.fixture
def filled(site):
    for name, version in (("work", 1), ("work", 2), ("home", 1)):
        published = site.publish(name=name, version=version, title=f"Title of {name}")
        site.fill(published, 150)
        site.fill(published, 150, gender="Female", age="50s")
    site.services.sealing.sweep(site.services.surveys.now())
    for row in site.services.surveys.all():
        site.services.sealing.before_question(row)
    return site


def address(form="", **query):
    return f"{WORK}/comparison{form}?{urlencode(query)}"


def test_nothing_is_compared_before_something_is_chosen(filled, visit):
    visitor = visit("ada", work="reader")
    text = visitor.get(address(of="age")).text
    assert "Choose what to compare" in text
    assert '<option value="groups of gender">' in text
    assert '<option value="wave work 2">' in text
    assert "wave home 1" not in text  # a survey that the user may not see


def test_groups_are_those_of_the_api_with_their_difference(filled, visit):
    visitor = visit("ada", work="reader")
    query = {"of": "age", "beside": "groups of gender", "group": "Female", "reference": "Male"}
    text = visitor.get(address(**query)).text
    api = filled.get(
        "/api/v1/surveys/work/versions/1/conditional-shares?of=age&given=gender&reference=Male"
    ).json
    assert "gender Female minus gender Male" in text
    for line in api["differences"]:
        if line["group"] == "Female" and line["value"] is not None:
            assert f"{round(100 * line['value'], 1) + 0.0:.1f}&nbsp;%" in text
    assert 'aria-labelledby="shows"' in text
    file = visitor.get(address(".csv", **query))
    assert file.text.splitlines()[0].startswith('"statistic","group"')
    specification = json.loads(visitor.get(address(".json", **query)).text)
    assert specification["$schema"].endswith("v5.json")


def test_waves_say_what_they_assume_and_what_a_person_has_spent(filled, visit):
    visitor = visit("ada", work="reader")
    text = visitor.get(address(of="gender", beside="wave work 2")).text
    assert "work version 1 minus work version 2" in text
    assert "A person who answered both has spent epsilon" in text
    other = visit("eve", work="reader", home="reader")
    assert "home version 1" in other.get(address(of="gender", beside="wave home 1")).text


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"of": "nothing"}, 422, "of is"),
        ({"of": "age", "beside": "wave home 1"}, 422, "beside is"),
        (
            {"of": "age", "beside": "groups of gender", "group": "Male", "reference": "Male"},
            200,
            "The two groups are the same one",
        ),
    ],
)
def test_wrong_choice_is_named(filled, visit, query, status, words):
    answer = visit("ada", work="reader").get(address(**query))
    assert answer.status_code == status
    assert words in answer.text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        # The form was on the ages of women and men, and another question is chosen in it.
        (
            {"of": "age", "beside": "groups of country"},
            "country 2</bdi> minus <bdi>country 1<",
        ),
        ({"of": "gender", "beside": "groups of gender"}, "Choose what to compare"),
    ],
)
def test_form_with_the_choices_for_another_question_leads_on(filled, visit, query, words):
    visitor = visit("ada", work="reader")
    answer = visitor.get(address(**query, group="Female", reference="Male", confidence="0.9"))
    assert answer.status_code == 200
    assert words in answer.text


def test_survey_without_a_release_says_when_there_is_one(site, visit):
    site.publish(release="daily")
    visitor = visit("ada", work="reader")
    text = visitor.get(address(of="age", beside="groups of gender")).text
    assert "Nothing is compared" in text
    assert "the next release is due" in text


def test_cross_table_says_whether_the_two_go_together(filled, visit):
    visitor = visit("ada", work="reader")
    text = visitor.get(f"{WORK}/cross-tables?a=gender&b=age").text
    test = filled.get("/api/v1/surveys/work/versions/1/independence?a=gender&b=age").json
    assert f"p = {test['p_value']:.2g}" in text
    assert ("The reports do not show it" in text) == (test["conclusion"] != "dependent")
    assert "A third question" not in text


def test_analyst_asks_for_a_table_of_three_questions(filled, visit):
    visitor = visit("ada", work="analyst")
    page = f"{WORK}/cross-tables?a=gender&b=age"
    fields = {"a": "gender", "b": "age", "c": "country", "confidence": "0.9"}
    assert "A third question" in visitor.get(page).text
    answer = visitor.send(f"{WORK}/tables", on=page, **fields)
    assert answer.status_code == 303
    (job,) = filled.get("/api/v1/jobs").json["jobs"]
    assert job["kind"] == "table"
    assert job["parameters"]["attributes"] == ["gender", "age", "country"]
    listed = visitor.get(f"{WORK}/jobs").text
    assert "<bdi>gender, age, country</bdi>" in listed
    assert "likelihood <bdi>yes</bdi>" in listed
    refused = visitor.send(f"{WORK}/tables", on=page, **{**fields, "c": "gender"})
    assert refused.status_code == 422
