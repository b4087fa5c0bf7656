"""The form and the page of any query, made of its declaration alone."""

from __future__ import annotations

import re
from html import unescape
from urllib.parse import urlencode

import pytest

from asked_queries import ASKED, SECOND
from hushpoll_analysis.query_results import RESULTS
from hushpoll_server.charts.figures import cells_of_line
from hushpoll_server.dashboard.queries import (
    MOST_OPTIONS,
    fields_of,
    in_questions,
    label_of,
)
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.qualifying.possible import CUT
from hushpoll_shared.queries.conditional_shares import ConditionalShares
from hushpoll_shared.querying.shown import cut_notes, shown_sections
from hushpoll_shared.tables.top_rows import MOST_ROWS

pytestmark = pytest.mark.sqlite
PAGES = "/surveys/work/versions/2/results"


@pytest.fixture
def filled(release_two_groups):
    return release_two_groups(("work", 1), ("work", 2), ("home", 1))


def address(name, form="", **more):
    return f"{PAGES}/{name}{form}?{urlencode(ASKED.get(name, {}) | more)}"


def fault_of(page):
    """The field that is marked as refused, and the sentence beside it."""
    field = re.search(r'<(?:input|select)[^>]*name="([^"]*)"[^>]*aria-invalid="true"', page)
    words = re.search(r'<span class="fault"[^>]*><bdi>(.*?)</bdi>', page)
    return field[1] if field else None, unescape(words[1]) if words else None


def test_every_query_has_a_page_a_form_and_files_of_what_the_api_says(filled, visit):
    visitor = visit("ada", work="analyst")
    listed = visitor.get(PAGES).text
    assert 'aria-current="page">All results</a>' in listed
    for kind in RESULTS:
        assert f"{PAGES}/{kind.name}" in listed
        page = visitor.get(address(kind.name))
        assert page.status_code == 200, page.text
        text = unescape(page.text)
        result = kind.result_of(
            filled.get(f"{SECOND}/{kind.name}", query_string=ASKED[kind.name]).json
        )
        sections = list(shown_sections(result))
        # A section that declares what is possible is drawn, where its rows can be told.
        if kind.name in ("estimates", "conditional-shares", "changes"):
            assert '<div class="bands" role="img"' in text, kind.name
        assert text.count(CUT) == len(cut_notes(sections, folded=True))
        for section in sections:
            for line in section.lines[: MOST_ROWS + 1]:
                first = len(section.names)
                cells = cells_of_line(line[first:], section.columns, section.possible)
                assert all(cell in text for cell in (*line[:first], *cells)), (kind.name, line)
        # A note that begins with names of attributes begins with their questions here.
        assert all(note.partition(": ")[2] in text for note in result.notes())
        for one in kind.parameters():
            assert f'name="{one.name}"' in text or one.category_of, (kind.name, one.name)
            label = f'<label for="{one.name}">{label_of(one)}</label>'
            # Several questions are ticked, each in a box of its own.
            several = f"<legend>{label_of(one)}</legend>"
            assert label in text or several in text or one.category_of
        for form in ("csv", "json"):
            file = visitor.get(address(kind.name, f"/file.{form}"))
            asked = ASKED[kind.name] | {"format": form}
            assert file.data == filled.get(f"{SECOND}/{kind.name}", query_string=asked).data
            assert f"work-2-{kind.file_name}.{form}" in file.headers["Content-Disposition"]
    looked = {one["act"] for one in filled.get("/api/v1/actions").json["actions"]}
    assert {f"looked-at-{kind.name}" for kind in RESULTS} <= looked


def test_a_result_is_put_into_a_report_unless_it_compares_two_versions(filled, visit):
    visitor = visit("ada", work="analyst")
    page = unescape(visitor.get(address("conditional-shares", confidence="0.9")).text)
    link = re.search(r'href="/dashboard([^"]*/report\?result=[^"]*)"', page)[1]
    report = visitor.get(link).text
    box = re.search(r'name="result" value="([^"]*)" checked', report)
    asked = {"result": unescape(box[1]), "attribute": "gender"}
    file = visitor.get(f"/surveys/work/versions/2/report-file?{urlencode(asked)}").text
    assert "Conditional shares</p>" in file
    assert "confidence 0.9" in file
    assert "into a report" not in visitor.get(address("changes")).text
    wrong = visitor.get("/surveys/work/versions/2/report?result=best-guess")
    assert wrong.status_code == 422
    assert "best-guess" in wrong.text


def test_nothing_is_asked_before_what_is_required_is_chosen(filled, visit):
    page = visit("ada", work="analyst").get(f"{PAGES}/conditional-shares").text
    assert "Choose: Of, Given." in page
    assert 'name="reference"' not in page  # a category of an attribute that is not chosen yet


REFUSED = (
    ("conditional-shares", {"confidence": "2"}, "Confidence is '2'; give at most 0.999999."),
    ("conditional-shares", {"confidence": "x"}, "is no number"),
    ("conditional-shares", {"reference": "nobody"}, "nobody"),
    ("conditional-shares", {"simultaneous": "perhaps"}, "give true or false"),
    ("dependencies", {"rate": "0"}, "is '0'; give more than 0."),
    ("estimates", {"estimator": "best"}, "give unbiased or projected or likelihood or shrunk"),
    ("changes", {"since_version": "7"}, "work has no such version; give another"),
    ("changes", {"since_version": "1.5"}, "is no whole number"),
    ("changes", {"since_survey": "home"}, "is no survey that you may see"),
    ("changes", {"mapping": "x" * 3000}, "give at most 2000 characters"),
    ("ordered-answers", {"quantiles": "2"}, "outside the open interval (0, 1)"),
)


def test_what_is_refused_stands_beside_its_field(filled, visit):
    visitor = visit("ada", work="analyst")
    for name, wrong, words in REFUSED:
        page = visitor.get(address(name, **wrong))
        assert page.status_code == 422
        (field,) = wrong
        marked, sentence = fault_of(page.text)
        assert marked == field
        assert words.casefold() in sentence.casefold()
        assert visitor.get(address(name, "/file.csv", **wrong)).status_code == 422


def test_a_part_of_the_reports_is_shown_to_those_who_may_export_them(filled, visit):
    """Guards: conditions on a few attributes in clear single out one person."""
    where = {"where": "income=rich"}
    reader, analyst = visit("ada", work="reader"), visit("bob", work="analyst")
    field, words = fault_of(reader.get(address("estimates", **where)).text)
    assert field == "where"
    assert "ask an administrator for the role analyst in work" in words
    assert reader.get(address("estimates", "/file.csv", **where)).status_code == 422
    page = analyst.get(address("estimates", **where)).text
    assert "Only of reports where income is rich." in page
    assert "Put this result into a report" not in page
    assert analyst.get(address("estimates", "/file.csv", **where)).status_code == 200


def test_a_survey_that_the_user_sees_can_be_compared_with(filled, visit):
    visitor = visit("ada", work="reader", home="reader")
    page = visitor.get(address("changes", since_survey="home"))
    assert page.status_code == 200
    assert "home version 1" in page.text
    assert '<option value="home" selected>home</option>' in page.text
    # who holds a role in every survey may name any, and gets a sentence for what is no name
    everywhere = visit("eve", every="reader").get(address("changes", since_survey="\0"))
    assert fault_of(everywhere.text)[0] == "since_survey"


def test_categories_are_those_of_the_chosen_attribute_and_typed_where_they_are_many():
    wide = {"name": "place", "role": "plain", "range": [0, MOST_OPTIONS]}
    health = {"name": "health", "role": "sensitive", "protocol": "GRR", "categories": ["a", "b"]}
    published = Manifest.from_dict(
        {"name": "x", "version": 1, "title": "X", "epsilon": "1", "attributes": [health, wide]}
    ).resolve()

    def reference(given):
        fields = fields_of(ConditionalShares, {"of": "health", "given": given}, published, ())
        return next(one for one in fields if one.name == "reference")

    assert reference("health").options == [("", "–"), ("a", "a"), ("b", "b")]
    assert reference("place").options is None


def test_no_release_no_role_and_no_such_query_are_told(site, visit):
    site.publish(version=2)
    visitor = visit("ada", work="analyst")
    page = visitor.get(address("estimates"))
    assert page.status_code == 200
    assert "There is no result yet" in page.text
    assert visitor.get(f"{PAGES}/best-guess").status_code == 404
    assert visitor.get(address("estimates", "/file.pdf")).status_code == 404
    stranger = visit("eve", home="reader")
    for path in (PAGES, address("estimates"), address("estimates", "/file.csv")):
        assert stranger.get(path).status_code == 404  # as if there were no such survey


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Attribute whose answers are summarised.", "Question whose answers are summarised."),
        ("an attribute of two; give other attributes", "a question of two; give other questions"),
    ],
)
def test_attributes_are_called_questions(text, said):
    assert in_questions(text) == said
