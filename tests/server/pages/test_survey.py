"""The page on which a survey is answered, and what a browser keeps of it."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import re
import threading
import time

import pytest

from hushpoll_server.api.resources import surveys
from hushpoll_server.pages import rendering as page
from hushpoll_server.pages.rendering import MOST_RADIO_BUTTONS, RenderedPages, questions
from hushpoll_server.public_pages import survey
from hushpoll_server.services.surveys.surveys import SurveyService
from hushpoll_server.words import words_for
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.clock import FixedClock
from sample_survey import make_draft
from waiting import LONGEST_SECONDS, run_together


def asked(**attribute):
    one = {"name": "age", "role": "sensitive", **attribute}
    return questions(Manifest.from_dict(make_draft(attributes=[one], protected=None)).resolve())[0]


def test_few_choices_are_radio_buttons_and_more_are_a_list():
    few = [f"c{i}" for i in range(MOST_RADIO_BUTTONS)]
    assert asked(categories=few).kind == "radio"
    question = asked(categories=[*few, "one more"])
    assert question.kind == "select"
    assert question.choices == tuple(enumerate([*few, "one more"]))


def test_a_run_of_numbers_is_typed():
    question = asked(range=[18, 90], missing="not told")
    assert (question.kind, question.least, question.most) == ("number", "18", "90")
    assert question.choices == ((73, "not told"),)


@pytest.mark.parametrize(
    "categories",
    [
        [str(i) for i in range(0, 40, 2)],  # steps of two
        [f"{i:02}" for i in range(20)],  # 00 is not what a number field gives back
        [str(i) for i in range(20, 0, -1)],
    ],
)
def test_other_numbers_are_chosen(categories):
    assert asked(categories=categories).kind == "select"


def test_a_question_without_text_has_its_name():
    assert asked(categories=["a", "b"]).text == "age"
    assert asked(categories=["a", "b"], question="How old?").text == "How old?"


@pytest.mark.sqlite
def test_the_page_asks_every_question_under_a_policy_of_its_own(site):
    published = site.publish()
    answer = site.get("/s/work", headers={})
    assert answer.status_code == 200
    assert answer.mimetype == "text/html"
    text = answer.text
    assert re.findall(r'data-attribute="(\w+)"', text) == [one.name for one in published.attributes]
    assert published.digest in text
    policy = answer.headers["Content-Security-Policy"]
    assert policy.startswith("default-src 'none'; script-src 'self';")
    assert "unsafe" not in policy
    assert not re.search(r"<script>|\son\w+=|style=", text)
    (style,) = re.findall(r"<style>(.*?)</style>", text, re.DOTALL)
    hashed = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    assert f"style-src 'self' 'sha256-{hashed}';" in policy


@pytest.mark.sqlite
def test_the_page_and_a_preview_have_the_label_of_consequences_once(site):
    published = site.publish(language="de")
    label = words_for(["de"]).said_label(published, hosted=True)
    with site.app.test_request_context():
        preview = page.rendered(published, published.wording(), preview=True)
    for text in (site.get("/s/work", headers={}).text, preview):
        (table,) = re.findall(r'<table class="label">(.*?)</table>', text, re.DOTALL)
        cells = re.findall(r"<t[hd]\b[^>]*>(.*?)</t[hd]>", table)
        rows = [cell for row in label.rows for cell in (row.party, row.clear, row.randomised)]
        assert cells[:3] == list(label.heads)
        assert set(cells) == {*label.heads, *rows, *(row.why for row in label.rows)}
        for note in label.notes:
            assert f"<p>{note}</p>" in text


@pytest.mark.sqlite
def test_the_page_is_compressed_for_browsers_that_take_it(site):
    site.publish()
    plain = site.get("/s/work", headers={"Accept-Encoding": "identity"})
    assert "Content-Encoding" not in plain.headers
    packed = site.get("/s/work", headers={"Accept-Encoding": "gzip"})
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(packed.data) == plain.data
    assert packed.headers["Vary"] == plain.headers["Vary"] == "Accept-Encoding"


def test_the_newest_open_version_is_asked_and_any_by_its_number(site):
    first = site.publish()
    second = site.publish(version=2, title="Once more")
    assert second.digest in site.get("/s/work", headers={}).text
    assert first.digest in site.get("/s/work/versions/1", headers={}).text


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("path", "status"),
    [("/s/none", 404), ("/s/work/versions/9", 404), ("/s/..%2f..", 404), ("/s/WORK", 404)],
)
def test_page_of_an_unknown_survey_is_not_found(site, path, status):
    site.publish()
    answer = site.get(path, headers={})
    assert answer.status_code == status


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("changes", "status", "heading"),
    [
        ({"opens": "2026-03-01T12:00:01Z"}, 403, "This survey has not begun"),
        ({"closes": "2026-03-01T12:00:00Z"}, 410, "This survey is closed"),
    ],
)
def test_a_survey_that_takes_no_answers_says_so(make_site, changes, status, heading):
    clock = FixedClock("2026-02-28T12:00:00Z")
    site = make_site(clock=clock)
    site.publish(**changes)
    clock.advance(86_400)
    answer = site.get("/s/work", headers={})
    assert answer.status_code == status
    assert heading in answer.text
    assert "data-attribute" not in answer.text


def large(categories, **changes):
    one = {
        "name": "place",
        "role": "sensitive",
        "categories": [f"place {number}" for number in range(categories)],
    }
    return make_draft(attributes=[one], protected=None, protocol="OLH", **changes)


@pytest.mark.sqlite
def test_a_page_is_rendered_once_and_not_sent_again(site, monkeypatch):
    """Guards: a page of 65,000 categories was rendered for each visit, 185 ms each."""
    rendered = []
    render = page.render_template
    monkeypatch.setattr(
        page, "render_template", lambda *given, **more: rendered.append(1) or render(*given, **more)
    )
    monkeypatch.setattr(survey, "PAGES", RenderedPages())
    assert site.post("/api/v1/surveys", json=large(300)).status_code == 201
    first = site.get("/s/work", headers={})
    assert first.text.count("<option") >= 300
    again = [site.get("/s/work", headers={}) for _ in range(3)]
    assert {one.data for one in again} == {first.data}
    assert site.get("/s/work/versions/1", headers={}).data == first.data
    assert rendered == [1]
    unchanged = site.get("/s/work", headers={"If-None-Match": first.headers["ETag"]})
    assert (unchanged.status_code, unchanged.data) == (304, b"")
    for name in ("ETag", "Content-Security-Policy", "Cache-Control", "Referrer-Policy"):
        assert unchanged.headers[name] == first.headers[name]
    # Another prefix is another page: its links differ.
    pages = site.app.test_client()
    moved = pages.get("/s/work", environ_overrides={"SCRIPT_NAME": "/polls"})
    assert moved.headers["ETag"] != first.headers["ETag"]
    assert b"/polls/page/" in moved.data
    # What is closed meanwhile is not shown from memory.
    site.close()
    assert site.get("/s/work", headers={}).status_code == 410


def test_pages_are_kept_in_bounded_memory():
    size = RenderedPages().get("a", lambda: "a" * 10).size
    pages = RenderedPages(most_bytes=2 * size + size // 2)
    made = []

    def get(key):
        return pages.get(key, lambda: made.append(key) or key * 10).body.decode()

    assert get("a") == "a" * 10
    get("b")
    get("a")
    assert made == ["a", "b"]
    get("c")  # for which there is no room beside both
    get("c")
    assert made == ["a", "b", "c"]
    get("b")
    assert made == ["a", "b", "c"]  # the oldest made room, not all
    pages.get("large", lambda: "x" * 3 * size)
    get("c")
    assert made == ["a", "b", "c"]  # a page that cannot be kept drives out none
    assert pages.get("large", lambda: "y").body == b"y"


def test_requests_that_come_together_render_a_page_once():
    pages = RenderedPages()
    made = []

    def render():
        made.append(1)
        time.sleep(0.2)
        return "page"

    run_together(*[lambda: pages.get("one", render)] * 8)
    assert made == [1]


@pytest.mark.sqlite
def test_of_many_publications_one_is_worked_on_and_the_others_come_again(site, monkeypatch):
    """Guards: 32 publications of 65,000 categories held an honest report for 5.8 s."""
    at_work, go = threading.Event(), threading.Event()
    publish = SurveyService.publish

    def slow(self, draft, **more):
        at_work.set()
        assert go.wait(LONGEST_SECONDS)
        return publish(self, draft, **more)

    monkeypatch.setattr(SurveyService, "publish", slow)
    answers = []
    first = threading.Thread(
        target=lambda: answers.append(site.post("/api/v1/surveys", json=make_draft()))
    )
    first.start()
    assert at_work.wait(LONGEST_SECONDS)
    parsed = []
    monkeypatch.setattr(surveys, "parse_body", lambda body: parsed.append(body))
    for _ in range(3):
        refused = site.post("/api/v1/surveys", json=large(1000, version=2))
        assert site.problem(refused) == (503, "unavailable", None)
        assert refused.headers["Retry-After"] == "1"
    assert parsed == []  # not even read as JSON
    go.set()
    first.join(LONGEST_SECONDS)
    assert [one.status_code for one in answers] == [201]
    monkeypatch.undo()
    assert site.post("/api/v1/surveys", json=make_draft(version=2)).status_code == 201


@pytest.mark.sqlite
def test_a_manifest_above_the_limit_is_refused(make_site):
    site = make_site(MAX_MANIFEST_BYTES=4096)
    draft = large(400)
    assert len(json.dumps(draft)) > 4096
    assert site.problem(site.post("/api/v1/surveys", json=draft)) == (
        413, "payload-too-large", "body",
    )  # fmt: skip
    assert site.post("/api/v1/surveys", json=make_draft()).status_code == 201


WORDED = {
    "language": "en",
    "translations": {
        "de": {
            "title": "Arbeit",
            "sections": {"You": "Sie"},
            "attributes": {
                "age": {"question": "Wie alt?"},
                "fit": {"categories": ["ja", "nein"]},
                "score": {"missing": "keine"},
            },
        }
    },
    "attributes": [
        {"name": "age", "role": "sensitive", "section": "You", "question": "Old?", "range": [1, 9]},
        {"name": "fit", "role": "sensitive", "section": "You", "categories": ["yes", "no"]},
        {"name": "score", "role": "plain", "scale": "nps", "range": [0, 10], "missing": "none"},
    ],
    "protected": None,
}


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("address", "browser", "title"),
    [
        ("/s/work", None, "Work"),
        ("/s/work", "de-CH, en;q=0.5", "Arbeit"),
        ("/s/work", "fr", "Work"),
        ("/s/work", "fr-CA, *;q=0.1", "Work"),
        ("/s/work", "en;q=0.2, DE;q=0.3", "Arbeit"),
        ("/s/work?lang=de", "en", "Arbeit"),
        ("/s/work?lang=en", "de", "Work"),
        ("/s/work?lang=<b>", "de", "Arbeit"),
        ("/s/work/versions/1?lang=de", None, "Arbeit"),
    ],
)
def test_the_page_has_the_language_of_the_address_or_of_the_browser(site, address, browser, title):
    site.publish(**WORDED, title="Work")
    headers = {} if browser is None else {"Accept-Language": browser}
    answer = site.get(address, headers=headers)
    assert f">{title}</h1>" in answer.text
    assert "Accept-Language" in ", ".join(answer.headers.getlist("Vary"))
    assert "<b>" not in answer.text


IN_MANY = {
    "language": "pt-BR",
    "title": "Pesquisa",
    "attributes": [{"name": "fit", "role": "sensitive", "categories": ["+", "-"]}],
    "protected": None,
    "translations": {
        "en": {"title": "Survey"},
        "zh-Hant": {"title": "調查"},
        "nb": {"title": "Undersøkelse"},
        "sr-Latn": {"title": "Anketa"},
        "ar": {"title": "استبيان"},
    },
}


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("browser", "title"),
    [
        ("pt-PT,pt;q=0.9,en;q=0.8", "Pesquisa"),
        ("zh-TW", "調查"),
        ("no,en;q=0.5", "Undersøkelse"),
        ("sr", "Anketa"),
        ("fr, *;q=0.1", "Pesquisa"),
        ("fr", "Pesquisa"),
        ("pt;q=0", "استبيان"),  # the first that is allowed
        ("pt-BR;q=0, en;q=0, nb", "Undersøkelse"),
        ("en;q=0, *", "Pesquisa"),
        ("*;q=0", "Pesquisa"),
        ("*;q=0, sr", "Anketa"),
        ("en-GB, en;q=0", "Pesquisa"),
    ],
)
def test_a_reader_gets_the_nearest_language_and_never_one_of_quality_0(site, browser, title):
    site.publish(**IN_MANY)
    answer = site.get("/s/work", headers={"Accept-Language": browser})
    assert f">{title}</h1>" in answer.text


@pytest.mark.sqlite
def test_a_survey_written_from_right_to_left_says_so_on_its_page_and_its_preview(site):
    site.publish(**IN_MANY)
    page = site.get("/s/work?lang=ar-EG", headers={}).text
    assert '<html lang="en" dir="rtl">' in page
    assert '<h1 lang="ar" dir="rtl">' in page
    assert re.search(r'<legend data-question lang="ar" dir="rtl">', page)
    for others in ("?lang=nb", "?lang=en"):
        text = site.get("/s/work" + others).text
        assert 'dir="rtl"' not in re.sub(r"<(nav|style).*?</\1>", "", text, flags=re.DOTALL)


def test_a_scale_keeps_the_missing_category_apart():
    published = Manifest.from_dict(make_draft(**WORDED)).resolve()
    age, fit, score = questions(published)
    assert [question.section for question in (age, fit, score)] == ["You", None, None]
    assert (score.kind, score.scale, len(score.steps)) == ("radio", True, 11)
    assert score.beside == ((11, "none"),)
    assert not fit.scale
    assert score.short
    assert not asked(categories=["bad", "so so", "good"], scale="ordinal").short


def test_a_long_scale_is_a_list():
    long = [f"step {i}" for i in range(12)]
    question = asked(categories=long, scale="ordinal")
    assert (question.kind, question.scale) == ("select", False)


def test_numbers_that_are_translated_are_chosen_and_not_typed():
    attribute = {"name": "age", "role": "sensitive", "range": [1, 12]}
    words = {"title": "Arbeit", "attributes": {"age": {"categories": [f"n{i}" for i in range(12)]}}}
    draft = make_draft(
        attributes=[attribute], protected=None, language="en", translations={"de": words}
    )
    published = Manifest.from_dict(draft).resolve()
    assert questions(published)[0].kind == "number"
    assert questions(published, published.wording("de"))[0].kind == "select"
