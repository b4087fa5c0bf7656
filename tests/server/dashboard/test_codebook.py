"""The codebook: over HTTP, as a command's file, on the dashboard."""

from __future__ import annotations

import html
import re

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_server.survey_reports.sheets.codebook import codebook, codebook_file
from hushpoll_shared.drafts.manifest import Manifest
from sample_survey import VERSION, encoded

pytestmark = pytest.mark.sqlite
PATH = f"{VERSION}/codebook"
ATTRIBUTES = [
    {"name": "smokes", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"],
     "question": "Do you <b>smoke</b>?", "help": "Cigarettes | cigars.", "missing": "no answer"},
    {"name": "daily", "role": "sensitive", "protocol": "OUE", "range": [1, 3],
     "ask_if": {"smokes": ["yes"]}},
    {"name": "age", "role": "sensitive", "protocol": "SS", "range": [1, 4]},
    {"name": "mood", "role": "sensitive", "protocol": "SS", "categories": ["good", "bad"]},
    {"name": "town", "role": "plain", "categories": ["a", "b"]},
]  # fmt: skip
GERMAN = {
    "title": "Rauchen",
    "attributes": {
        "smokes": {"question": "Rauchen Sie?", "help": "Zigaretten.",
                   "categories": ["nein", "ja"], "missing": "keine Angabe"},
        "mood": {"categories": ["gut", "schlecht"]},
    },
}  # fmt: skip
SURVEY = {
    "title": "Smoking",
    "epsilon": "8",
    "attributes": ATTRIBUTES,
    "protected": None,
    "language": "en",
    "translations": {"de": GERMAN},
    "together": [{"name": "habits", "attributes": ["age", "mood"]}],
}
ANSWERS = {"smokes": "yes", "daily": "2", "age": "3", "mood": "bad", "town": "b"}


@pytest.fixture
def published(site):
    return site.publish(**SURVEY)


@pytest.fixture
def records(site, published):
    reports = [encoded(published, ANSWERS) for _ in range(200)]
    site.send_batch(published, reports)
    site.seal()
    rows = np.frombuffer(b"".join(one.record for one in reports), np.uint8)
    return Records(published, rows.reshape(200, -1))


def test_codebook_has_every_question_in_every_language_with_its_law_and_shares(site, records):
    book = site.get(PATH).json
    assert (book["survey"], book["reports"]) == ("work", 200)
    assert book["titles"] == {"en": "Smoking", "de": "Rauchen"}
    assert [one["name"] for one in book["questions"]] == [one["name"] for one in ATTRIBUTES]
    smokes, daily, age, mood, town = book["questions"]
    assert smokes["texts"]["de"] == {
        "asked": None, "question": "Rauchen Sie?", "help": "Zigaretten.", "section": None,
        "unit": None,
    }  # fmt: skip
    assert [one["words"]["de"] for one in smokes["answers"]] == ["nein", "ja", "keine Angabe"]
    assert [one["kind"] for one in smokes["answers"]] == ["answer", "answer", "skipped"]
    assert daily["answers"][-1]["kind"] == "not asked"
    assert daily["asked_if"] == {"smokes": ["yes"]}
    assert (age["block"], mood["block"], town["protocol"]) == ("habits", "habits", None)
    assert mood["law"]["domain"] == 8
    estimated = {one["name"]: one for one in site.get(f"{VERSION}/estimates").json["attributes"]}
    for question in book["questions"]:
        rows = estimated[question["name"]]["categories"]
        for answer, row in zip(question["answers"], rows, strict=True):
            share = answer["share"]
            assert share["estimate"] == row["frequency"]
            assert (share["lower"], share["upper"]) == (row["lower"], row["upper"])


def test_what_it_says_of_debiasing_gives_the_raw_shares(site, records):
    """The formula in words, computed from the records."""
    for question in site.get(PATH).json["questions"]:
        name, words = question["name"], question["how_to_debias"]
        if question["protocol"] is None:
            assert "in clear" in words
            continue
        q, p, again = map(
            float, re.search(r"\(s - ([\d.e-]+)\) / \(([\d.e-]+) - ([\d.e-]+)\)", words).groups()
        )
        assert q == again
        if question["block"] is None:
            s = records.indicators(name).mean(axis=0)
        else:
            block = records.indicators_of(records.published.layout.field(question["block"]))
            sums = block.mean(axis=0).reshape(4, 2)
            s = sums.sum(axis=1 if name == "age" else 0)
        assert (s - q) / (p - q) == pytest.approx(records.debiased(name).mean(axis=0), abs=1e-6)


def test_markdown_and_html_have_the_same_and_no_mark_up_of_the_survey(site, records):
    as_text = site.get(PATH, query_string={"format": "md"})
    assert as_text.mimetype == "text/markdown"
    text = as_text.data.decode()
    assert text.startswith("# Codebook: Smoking\n")
    assert "- en: Do you &lt;b>smoke&lt;/b>? — Cigarettes \\| cigars." in text
    rows = [line for line in text.splitlines() if line.startswith("| 1 | yes | ja |")]
    assert len(rows) == 1
    page = site.get(PATH, query_string={"format": "html"})
    assert page.headers["Content-Disposition"].endswith('work-1-codebook.html"')
    body = page.data.decode()
    assert "<b>smoke" not in body
    assert html.escape("Do you <b>smoke</b>?") in body
    assert '<td><bdi lang="de">nein</bdi></td>' in body
    assert "<script" not in body
    assert site.problem(site.get(PATH, query_string={"format": "pdf"}))[0] == 422


def test_before_a_release_there_are_no_shares(site):
    site.publish(minimum_batch=10)
    book = site.get(PATH).json
    assert book["reports"] is None
    assert all(one["share"] is None for each in book["questions"] for one in each["answers"])
    assert b"no shares" in site.get(PATH, query_string={"format": "md"}).data


def test_every_sample_manifest_has_a_codebook():
    """Draws, select-alls and numbers, whose laws have no single p and q."""
    draft = {
        "name": "all",
        "version": 1,
        "title": "All",
        "epsilon": "6",
        "protocol": "SS",
        "attributes": [
            {"name": "drugs", "role": "sensitive", "categories": ["a", "b", "c"], "select": {}},
            {"name": "km", "role": "sensitive", "number": {"low": 0, "high": 90, "unit": "km"}},
            {"name": "x", "role": "sensitive", "categories": ["a", "b"]},
            {"name": "y", "role": "sensitive", "range": [1, 3], "ask_if": {"x": ["a"]}},
        ],
        "together": [{"name": "xy", "attributes": ["x", "y"]}],
    }
    published = Manifest.from_dict(draft).resolve()
    book = codebook(published, None)
    by_name = {one["name"]: one for one in book["questions"]}
    assert by_name["x"]["law"]["p"] is None
    assert "no formula of one line" in by_name["x"]["how_to_debias"]
    assert "mean is that of answers" in by_name["km"]["how_to_debias"]
    assert by_name["km"]["texts"]["und"]["unit"] == "km"
    assert {one["select"] for name, one in by_name.items() if name.startswith("drugs")} == {"drugs"}
    for form in ("json", "md", "html"):
        assert codebook_file(book, form)


def test_dashboard_has_it_with_small_groups_merged_and_links_to_it(site, published, visit):
    people = [encoded(published, ANSWERS) for _ in range(40)]
    people += [encoded(published, ANSWERS | {"town": "a"})]
    site.send_batch(published, people)
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    reader, analyst = visit("eve", work="reader"), visit("ada", work="analyst")
    page = reader.get("/surveys/work/versions/1/results").text
    assert "/surveys/work/versions/1/codebook.html" in page
    assert reader.get("/surveys/work/versions/1/codebook.html").status_code == 200
    assert reader.get("/surveys/work/versions/1/codebook.doc").status_code == 404
    (hidden,) = [one for one in reader.get("/surveys/work/versions/1/codebook.json").json[
        "questions"] if one["name"] == "town"]  # fmt: skip
    assert all(one["share"] is None for one in hidden["answers"])
    (shown,) = [one for one in analyst.get("/surveys/work/versions/1/codebook.json").json[
        "questions"] if one["name"] == "town"]  # fmt: skip
    assert all(one["share"] is not None for one in shown["answers"])


def test_options_and_items_have_what_is_asked_of_all_of_them_in_every_language():
    draft = {
        "name": "c", "version": 1, "title": "C", "language": "en", "epsilon": "4",
        "protocol": "GRR",
        "attributes": [
            {"name": "care", "role": "sensitive", "question": "How is", "categories": ["-", "+"],
             "items": [{"name": "nurse", "question": "nurse"}, {"name": "ward", "question": "w"}]},
            {"name": "drugs", "role": "sensitive", "question": "Which?", "select": {},
             "categories": ["a", "b", "c"]},
        ],
        "translations": {"de": {"title": "C", "attributes": {
            "care": {"question": "Wie ist"}, "nurse": {"question": "Pflege"},
            "ward": {"question": "Station"}, "drugs": {"question": "Welche?"}}}},
    }  # fmt: skip
    book = codebook(Manifest.from_dict(draft).resolve(), None)
    asked = [
        (one["texts"]["en"]["asked"], one["texts"]["de"]["asked"]) for one in book["questions"]
    ]
    assert asked == [("How is", "Wie ist")] * 2 + [("Which?", "Welche?")] * 3
    assert "- de: Wie ist – Pflege" in codebook_file(book, "md").decode()
    assert "Welche?" in codebook_file(book, "html").decode()
