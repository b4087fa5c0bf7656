"""Questions with very many answers: warned of before publishing, and cut on pages."""

from __future__ import annotations

import html
import re

import pytest

from hushpoll_analysis.query_results import RESULTS
from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.tables.top_rows import MOST_ROWS
from sample_survey import SURVEYS, encoded, make_draft

pytestmark = pytest.mark.sqlite
DRINKS = ("tea", "coffee", "milk", "water", "juice", "wine", "beer", "cider", "rum", "gin")
WIDE = {"name": "income", "role": "sensitive", "protocol": "OLH", "range": [0, 999]}


@pytest.fixture
def filled(site):
    published = site.publish(attributes=[WIDE], epsilon="1", protected=None, minimum_batch=1)
    for answer in range(20):
        site.send(published, encoded(published, {"income": str(answer)}))
    site.services.sealing.sweep(site.services.surveys.now())
    return site


def test_publishing_warns_of_a_question_with_more_answers_than_it_can_show(site):
    wide = {**WIDE, "range": [0, 10_000]}
    draft = make_draft(attributes=[wide], epsilon="1", protected=None, minimum_batch=100)
    (warning,) = [
        one
        for one in site.post(SURVEYS, json=draft).json["warnings"]
        if one["code"] == "too-many-categories"
    ]
    assert warning["attribute"] == "income"
    assert 'categories: ["0 to 999", ' in warning["message"]


def test_estimates_and_weighted_shares_show_the_largest_rows_and_files_all(filled, visit):
    ada = visit("ada", work="editor")
    page = ada.get("/surveys/work/versions/1/estimates").text
    lines = re.findall(r'<tr><th scope="row"><bdi>\d+</bdi>', page)
    assert len(lines) == MOST_ROWS
    assert f"The {1_000 - MOST_ROWS} others, with smaller estimates, together" in page
    file = ada.get("/surveys/work/versions/1/estimates/income.csv").text
    assert len(file.strip().split("\n")) > 1_000
    report = ada.get("/surveys/work/versions/1/report-file?rows=&columns=").text
    assert len(re.findall(r'<tr><th scope="row"><bdi>\d+</bdi>', report)) == MOST_ROWS
    assert f"The {1_000 - MOST_ROWS} others, with smaller estimates, together" in report


def test_draft_warns_for_the_respondents_that_are_expected(site, visit):
    ada = visit("ada", every="editor")
    draft = make_draft(attributes=[WIDE], epsilon="1")
    del draft["protected"]
    fields = {"from": "yaml", "yaml": write_yaml(draft)}
    answer = ada.send("/drafts/new", on="/drafts/new", **fields)
    path = answer.headers["Location"].removeprefix("/dashboard")
    page = ada.get(f"{path}?beside=now").text
    assert "With 10,000 reports and epsilon 1, income cannot tell" in page
    few = ada.get(f"{path}?n=500&beside=now").text
    assert "With 500 reports and epsilon 1, income cannot tell" in few
    assert "income cannot tell" not in ada.get(f"{path}?n=100000000&beside=now").text


def test_many_numbers_are_shown_in_bins_and_each_by_itself_on_request(site, visit):
    age = {"name": "age", "role": "plain", "range": [17, 90], "question": "How old are you?"}
    coin = {"name": "coin", "role": "sensitive", "protocol": "GRR", "categories": ["a", "b"]}
    published = site.publish(
        attributes=[age, coin], epsilon="1", protected=None, minimum_batch=1, release="immediate"
    )
    for answer in (21, 22, 23, 35, 36, 37, 38, 51) * 12:
        site.send(published, encoded(published, {"age": str(answer), "coin": "a"}))
    site.services.sealing.sweep(site.services.surveys.now())
    ada = visit("ada", work="analyst")
    path = "/surveys/work/versions/1/estimates?attribute=age"
    binned = ada.get(path).text
    assert "Of those who answered, in bins of neighbouring numbers." in binned
    for label in ("17 to 19", "30 to 39", "90"):
        assert f'<p class="label"><bdi>{label}</bdi></p>' in binned
    # the table has every number
    assert '<tr><th scope="row"><bdi>88</bdi>' in binned
    alone = ada.get(f"{path}&detail=all").text
    assert "in bins of neighbouring numbers" not in alone
    assert '<p class="label"><bdi>35</bdi></p>' in alone
    # so does the report, in its language, and a file that stands alone
    file = "/surveys/work/versions/1/report-file?attribute=age"
    report = ada.get(file).text
    first, _, rest = report.partition('<h2 id="promise"')
    for page in (first, rest):
        assert "<bdi>17 to 19</bdi>" in page
    assert "Of those who answered, in bins of neighbouring numbers." in rest
    assert "Each number by itself</summary>" in rest
    assert "<bdi>17 bis 19</bdi>" in ada.get(f"{file}&language=de").text
    picture = ada.get("/surveys/work/versions/1/estimates/age.svg").text
    assert "17 to 19" in picture
    assert "How old are you?" in picture


def test_field_finds_questions_by_their_words_where_there_are_many(site, visit):
    asked = [
        {"name": f"q{place}", "role": "sensitive", "protocol": "GRR", "categories": ["a", "b"],
         "question": f"Do you like {thing}?"}
        for place, thing in enumerate(DRINKS)
    ]  # fmt: skip
    more = [{**asked[0], "name": f"m{place}", "question": f"More {place}"} for place in range(5)]
    published = site.publish(
        attributes=[*asked, *more], epsilon="5", protected=None, minimum_batch=1,
        release="immediate",
    )  # fmt: skip
    for _ in range(4):
        answers = {one.name: "a" for one in published.attributes}
        site.send(published, encoded(published, answers))
    site.services.sealing.sweep(site.services.surveys.now())
    ada = visit("ada", work="editor")
    path = "/surveys/work/versions/1/estimates"
    everything = ada.get(path).text
    assert re.search(r'<input id="find"[^>]* type="search"[^>]* list="find-questions"', everything)
    assert '<option value="Do you like tea?"></option>' in everything
    assert everything.count('<section class="result"') == 15
    several = ada.get(f"{path}?find=like+do").text
    assert several.count('<section class="result"') == 10
    one = ada.get(f"{path}?find=Do+you+like+tea%3F").text
    assert one.count('<section class="result"') == 1
    assert "Do you like tea?" in one
    by_name = ada.get(f"{path}?find=q3").text
    assert by_name.count('<section class="result"') == 1
    none = ada.get(f"{path}?find=zebra").text
    assert "No question has the words" in none


def test_every_page_finds_questions_by_their_words_where_there_are_many(site, visit):
    asked = [
        {"name": f"q{place}", "role": "sensitive", "protocol": "GRR", "categories": ["a", "b"],
         "question": f"Do you like {thing}?"}
        for place, thing in enumerate((*DRINKS, "cocoa", "soup", "mead", "rye"))
    ]  # fmt: skip
    bought = {"name": "bought", "role": "target", "categories": ["no", "yes"], "positive": "yes"}
    site.publish(attributes=[*asked, bought], epsilon="5", protected=None)
    ada = visit("ada", work="editor")
    start = "/surveys/work/versions/1"
    pages = {
        "estimates?": ("among",),
        "cross-tables?": ("a", "b"),
        "comparison?": ("of", "beside"),
        "weighted?": ("of", "by", "second"),
        "results/independence?": ("a", "b"),
        "fairness?": ("groups",),
    }
    for address, fields in pages.items():
        page = ada.get(f"{start}/{address}").text
        for field in fields:
            assert f'<input type="search" id="{field}" name="{field}"' in page, (address, field)
        for words in ("Do you like milk?", "milk"):
            given = "&".join(f"{field}={words}" for field in fields[:1])
            answer = ada.get(f"{start}/{address}x=1&{given}")
            assert answer.status_code == 302, (address, words)
            assert answer.headers["Location"].endswith(f"?x=1&{fields[0]}=q2")
    there = ada.get(f"{start}/comparison?of=q1&beside=Do+you+like+milk%3F").headers["Location"]
    assert there.endswith("comparison?of=q1&beside=groups+of+q2")
    chosen = ada.get(f"{start}/cross-tables?a=q2&b=q3").text
    assert 'list="a-questions" value="Do you like milk?"' in chosen
    form = ada.get(f"{start}/regressions").text
    for field in ("outcome", "interaction", "interacts-with"):
        assert f'<input type="search" id="{field}"' in form
    asked = {"outcome": "Do you like milk?", "predictors": "q1"}
    answer = ada.send(f"{start}/regressions", on=f"{start}/regressions", **asked)
    # its words are taken for the question: only reports are missing
    assert answer.status_code == 409, answer.text
    # words of several questions, or of none, are refused
    assert ada.get(f"{start}/cross-tables?a=like&b=q3").status_code == 422
    assert ada.get(f"{start}/cross-tables?a=zebra&b=q3").status_code == 422


def test_at_most_two_controls_stand_before_the_first_figure_of_every_page(filled, visit):
    ada = visit("ada", work="editor")
    start = "/surveys/work/versions/1"
    for name in ("estimates", "cross-tables", "comparison", "weighted", "results/ordered-answers"):
        page = ada.get(f"{start}/{name}").text
        before = page.partition('<details class="more">')[0]
        assert before != page, name
        assert len(re.findall(r"<select|<input type=.(?:search|text)", before)) <= 2, name


def test_no_page_lists_many_questions_or_shows_more_than_two_controls_at_first(site, visit):
    """Pages are those of the routes, so that a new one is looked at, too."""
    asked = [
        {"name": f"q{place}", "role": "sensitive", "protocol": "GRR", "categories": ["1", "2"],
         "question": f"Do you like {thing}?"}
        for place, thing in enumerate((*DRINKS, "cocoa", "soup", "mead", "rye"))
    ]  # fmt: skip
    bought = {"name": "bought", "role": "target", "categories": ["no", "yes"], "positive": "yes"}
    published = site.publish(
        attributes=[*asked, bought], epsilon="5", protected=None, minimum_batch=1,
        release="immediate",
    )  # fmt: skip
    names = {one.name for one in published.attributes}
    for _ in range(4):
        answers = {one.name: one.categories[0] for one in published.attributes}
        site.send(published, encoded(published, answers))
    site.services.sealing.sweep(site.services.surveys.now())
    ada = visit("ada", work="editor")
    start = "/dashboard/surveys/<name>/versions/<int:version>"
    ends = {
        rule.rule.removeprefix(start)
        for rule in site.app.url_map.iter_rules()
        if rule.rule.startswith(start) and rule.arguments == {"name", "version"}
        and "GET" in rule.methods and not rule.rule.endswith(("report-file", ".svg"))
    }  # fmt: skip
    ends |= {f"/results/{kind.name}" for kind in RESULTS}
    assert len(ends) > 20
    looked_at = 0
    for end in sorted(ends):
        page = ada.get(f"/surveys/work/versions/1{end}")
        if page.mimetype != "text/html":
            continue
        looked_at += 1
        assert page.status_code < 500, end
        for select in re.findall(r"<select.*?</select>", page.text, re.DOTALL):
            listed = set(re.findall(r'<option value="([^"]*)"', select)) & names
            assert len(listed) <= 12, (end, select[:80])
        for form in re.findall(r'<form class="filters".*?</form>', page.text, re.DOTALL):
            first = form.partition('<details class="more">')[0]
            assert len(re.findall(r"<select|<input type=.(?:search|text)", first)) <= 2, end
        before = page.text.partition("<figure")[0]
        if before != page.text:
            forms = re.sub(r'<details class="more">.*?</details>', "", before, flags=re.DOTALL)
            assert len(re.findall(r"<select|<input type=.(?:search|text)", forms)) <= 2, end
    assert looked_at > 15


def test_question_is_shown_over_all_versions_that_ask_it_with_the_same_answers(site, visit):
    likes = {"name": "likes", "role": "plain", "categories": ["yes", "no"]}
    coin = {"name": "coin", "role": "sensitive", "protocol": "GRR", "categories": ["a", "b"]}
    for version, yes in ((1, 60), (2, 30), (3, 90)):
        first = likes if version != 3 else {**likes, "categories": ["yes", "no", "both"]}
        published = site.publish(
            version=version, attributes=[first, coin], epsilon="1", protected=None,
            minimum_batch=1, release="immediate",
        )  # fmt: skip
        for answer in range(100):
            said = "yes" if answer < yes else "no"
            site.send(published, encoded(published, {"likes": said, "coin": "a"}))
        site.services.sealing.sweep(site.services.surveys.now())
    ada = visit("ada", work="analyst")
    page = ada.get("/surveys/work/versions/2/estimates?attribute=likes").text
    waves = page.partition('aria-labelledby="waves"')[2]
    told = html.unescape(re.sub("<[^>]*>", "", waves)).replace("\xa0", " ")
    assert "yes: down 30 points since version 1 (16 to 42)" in told
    rows = r"<bdi>(Version \d), n = 100</bdi></p><p class=\"value\"><strong>(\d+)"
    assert re.findall(rows, waves) == [("Version 1", "60"), ("Version 2", "30")]
    # one that asks with other answers stands alone
    alone = ada.get("/surveys/work/versions/3/estimates?attribute=likes").text
    assert "waves" not in alone
    assert "waves" not in ada.get("/surveys/work/versions/2/estimates").text
