"""The page that compares groups and waves, and what stands under a cross-table."""

from __future__ import annotations

import csv
import json
import re
from html import unescape
from urllib.parse import urlencode

import pytest

from hushpoll_server.jobs.runner import Runner
from hushpoll_shared.qualifying.possible import CUT

pytestmark = pytest.mark.sqlite
WORK = "/surveys/work/versions/1"


@pytest.fixture
def filled(release_two_groups):
    return release_two_groups(("work", 1), ("work", 2), ("home", 1))


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
    assert "<bdi>Female</bdi> minus <bdi>Male</bdi>" in text
    # so few reports tell nothing: the sentence stands first, and no number is open or a headline
    before, _, folded = text.partition('<details class="soft" data-folded>')
    assert api["verdict"]["says"] == "too noisy to tell"
    assert api["verdict"]["sentence"] in before
    assert 'class="bands' not in before
    assert 'class="bands' in folded
    assert "contain zero" not in text
    assert "These estimates are too noisy to tell anything." in folded
    assert text.count("data-folded") == 2
    for line in api["differences"]:
        if line["group"] == "Female" and line["value"] is not None:
            points = round(100 * line["value"], 1)
            assert (
                f">{points:+.1f}</td>".replace("-", "\u2212") in text
                if points
                else ">0.0</td>" in text
            )
    assert 'aria-labelledby="shows"' in text
    # intervals are cut to what is possible, and the page says so once; the file has their ends
    assert text.count(CUT) == 1
    shown = re.findall(
        r"<td class=\"range\"[^>]*>([-+\d.]+)\D* to ([-+\d.]+)",
        unescape(text).replace("\u2212", "-"),
    )
    assert shown
    for low, high in (map(float, pair) for pair in shown):
        # An interval that is outside as a whole, which chance gives now and then, is not cut.
        assert (-100 <= low <= high <= 100) or low > 100 or high < -100
    rows = csv.DictReader(visitor.get(address(".csv", **query)).text.splitlines())
    assert any(float(row["lower"] or 0) < -1 for row in rows if row["statistic"] == "difference")
    file = visitor.get(address(".csv", **query))
    assert file.text.splitlines()[0].startswith('"verdict","statistic","group"')
    specification = json.loads(visitor.get(address(".json", **query)).text)
    assert specification["$schema"].endswith("v5.json")
    assert specification["title"]["text"] == ["Female and Male: too noisy to tell"]
    assert "too noisy to tell" in visitor.get(address(".svg", **query)).text
    table = visitor.get(f"{WORK}/cross-tables?a=gender&b=age").text
    assert "above zero" not in table
    assert "The largest" not in table


def test_waves_say_what_they_assume_and_what_a_person_has_spent(filled, visit):
    visitor = visit("ada", work="reader")
    text = visitor.get(address(of="gender", beside="wave work 2")).text
    assert "Version 1 minus Version 2" in text
    assert "A person who answered both has spent epsilon" in text
    other = visit("eve", work="reader", home="reader")
    assert "Title of home, version 1" in other.get(address(of="gender", beside="wave home 1")).text


@pytest.mark.parametrize(
    ("query", "status", "words"),
    [
        ({"of": "nothing"}, 422, "of is"),
        ({"of": "age", "beside": "wave home 1"}, 422, "beside is"),
        (
            {"of": "age", "beside": "groups of gender", "group": "Male", "reference": "Male"},
            422,
            "The two groups are the same one",
        ),
    ],
)
def test_wrong_choice_is_named(filled, visit, query, status, words):
    answer = visit("ada", work="reader").get(address(**query))
    assert answer.status_code == status
    assert words in answer.text


def test_fault_of_a_choice_stands_beside_its_field(filled, visit):
    chosen = {"of": "age", "beside": "groups of gender", "group": "Male", "reference": "Male"}
    text = visit("ada", work="reader").get(address(**chosen, confidence="0.9")).text
    (tag,) = re.findall(r"<select[^>]* aria-invalid=\"true\"[^>]*>", text)
    assert 'name="reference"' in tag
    assert 'aria-describedby="refused-fault"' in tag
    after = text.partition(tag)[2].partition("</select>")[2]
    assert after.startswith('<span class="fault" id="refused-fault" role="alert">')
    assert text.count("<option selected>Male</option>") == 2
    assert '<option value="0.9" selected>' in text
    assert 'value="groups of gender" selected' in text


@pytest.mark.parametrize(
    ("query", "words"),
    [
        # The form was on the ages of women and men, and another question is chosen in it.
        (
            {"of": "age", "beside": "groups of country"},
            "<bdi>2</bdi> minus <bdi>1<",
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
    assert test["verdict"]["says"] == "too noisy to tell"
    assert test["verdict"]["sentence"] in text
    assert "The reports do not show it" not in text
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


def test_table_of_three_questions_is_shown_by_the_categories_of_the_third(filled, visit):
    visitor = visit("ada", work="analyst")
    page = f"{WORK}/cross-tables?a=gender&b=age"
    fields = {"a": "gender", "b": "age", "c": "country", "confidence": "0.9"}
    assert visitor.send(f"{WORK}/tables", on=page, **fields).status_code == 303
    (job,) = filled.get("/api/v1/jobs").json["jobs"]
    address = f"{WORK}/tables/{job['id']}"
    assert "<bdi>gender</bdi>, <bdi>age</bdi>, <bdi>country</bdi> " in visitor.get(page).text
    assert visitor.get(address).status_code == 409
    Runner(filled.services).run_waiting()
    for listing in (page, f"{WORK}/jobs"):
        assert f'href="/dashboard{address}"' in visitor.get(listing).text
    found = filled.get(f"/api/v1/jobs/{job['id']}/result").json
    categories = list(dict.fromkeys(cell["categories"][2] for cell in found["cells"]))
    shown = [visitor.get(f"{address}?{urlencode({'third': one})}").text for one in categories]
    assert all("</h2>" in text for text in shown), shown[0][-500:]
    for cell in found["cells"]:
        text = shown[categories.index(cell["categories"][2])]
        share = f"{100 * cell['frequency'] + 0.0:.1f}".replace("-0.0", "0.0")
        assert f">{share}&nbsp;%<br>".replace("-", "\u2212") in text
        assert "its 90\u00a0% interval" in text
    assert "<svg" in shown[0]
    assert found["verdict"]["says"] == "too noisy to tell"
    for text in shown:
        assert text.index(">Too noisy to tell.</strong>") < text.index(
            '<details class="soft" data-folded>'
        )
        assert "Show the shares all the same, too noisy to tell" in text
        assert "above zero" not in text
        assert "The largest" not in text
    assert visitor.get(address).text.count(f"is <bdi>{categories[0]}</bdi></p>") == 1
    csv = visitor.get(f"{address}/table.csv").text
    assert len([line for line in csv.splitlines() if line]) >= len(found["cells"]) + 1
    assert visitor.get(f"{address}/table.svg?third={categories[1]}").status_code == 200
    # A reader reads it, in its own survey and version alone.
    assert visit("eve", work="reader").get(address).status_code == 200
    assert visit("bob", home="reader").get(address).status_code == 404
    assert visitor.get(address.replace("versions/1", "versions/2")).status_code == 404
    assert visitor.get(f"{address}?third=nowhere").status_code == 422
