"""A manifest of very many categories keeps neither respondents nor their reports waiting."""

from __future__ import annotations

import json
import threading
import time

import pytest

from hushpoll_server.http.resources import surveys
from hushpoll_server.pages import survey as page
from hushpoll_server.pages.rendered import RenderedPages
from hushpoll_server.services.surveys.surveys import SurveyService


def large(make_draft, categories, **changes):
    one = {
        "name": "place",
        "role": "sensitive",
        "categories": [f"place {number}" for number in range(categories)],
    }
    return make_draft(attributes=[one], protected=None, protocol="OLH", **changes)


def test_a_page_is_rendered_once_and_not_sent_again(site, make_draft, monkeypatch):
    """Guards: a page of 65,000 categories was rendered for each visit, 185 ms each."""
    rendered = []
    render = page.render_template
    monkeypatch.setattr(
        page, "render_template", lambda *given, **more: rendered.append(1) or render(*given, **more)
    )
    monkeypatch.setattr(page, "PAGES", RenderedPages())
    assert site.post("/api/v1/surveys", json=large(make_draft, 300)).status_code == 201
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
    site.post("/api/v1/surveys/work/versions/1/close", json={"grace_seconds": 0})
    assert site.get("/s/work", headers={}).status_code == 410


def test_pages_are_kept_in_bounded_memory():
    pages = RenderedPages(most_bytes=25)
    made = []

    def get(key):
        return pages.get(key, lambda: made.append(key) or key * 10).body.decode()

    assert get("a") == "a" * 10
    get("b")
    get("a")
    get("c")  # b was not asked for the longest
    assert made == ["a", "b", "c"]
    get("a")
    get("b")
    assert made == ["a", "b", "c", "b"]
    pages.get("large", lambda: "x" * 26)
    assert pages.get("large", lambda: "y").body == b"y"


def test_requests_that_come_together_render_a_page_once():
    pages = RenderedPages()
    made = []

    def render():
        made.append(1)
        time.sleep(0.2)
        return "page"

    threads = [threading.Thread(target=pages.get, args=("one", render)) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert made == [1]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_of_many_publications_one_is_worked_on_and_the_others_come_again(
    site, make_draft, monkeypatch
):
    """Guards: 32 publications of 65,000 categories held an honest report for 5.8 s."""
    at_work, go = threading.Event(), threading.Event()
    publish = SurveyService.publish

    def slow(self, draft, **more):
        at_work.set()
        assert go.wait(60)
        return publish(self, draft, **more)

    monkeypatch.setattr(SurveyService, "publish", slow)
    answers = []
    first = threading.Thread(
        target=lambda: answers.append(site.post("/api/v1/surveys", json=make_draft()))
    )
    first.start()
    assert at_work.wait(60)
    parsed = []
    monkeypatch.setattr(surveys, "parse_body", lambda body: parsed.append(body))
    for _ in range(3):
        refused = site.post("/api/v1/surveys", json=large(make_draft, 1000, version=2))
        assert site.problem(refused) == (503, "unavailable", None)
        assert refused.headers["Retry-After"] == "1"
    assert parsed == []  # not even read as JSON
    go.set()
    first.join(60)
    assert [one.status_code for one in answers] == [201]
    monkeypatch.undo()
    assert site.post("/api/v1/surveys", json=make_draft(version=2)).status_code == 201


def test_a_manifest_above_the_limit_is_refused(make_site, make_draft):
    site = make_site(MAX_MANIFEST_BYTES=4096)
    draft = large(make_draft, 400)
    assert len(json.dumps(draft)) > 4096
    assert site.problem(site.post("/api/v1/surveys", json=draft)) == (
        413, "payload-too-large", "body",
    )  # fmt: skip
    assert site.post("/api/v1/surveys", json=make_draft()).status_code == 201
