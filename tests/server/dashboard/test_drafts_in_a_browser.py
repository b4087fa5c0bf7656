"""Writing a survey in Chromium: from an empty server to a published survey, as one types, without.

A click returns before the next page has come, so all that follows one is awaited by `expect`.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import requests
from playwright.sync_api import Page, expect

from dashboard_browser import COLOURS, WIDER, sign_in, violations, windows
from dashboard_server import HOSTILE, MARKUP, PASSWORD, WORK, DashboardServer
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.drafts.yaml_writer import write_yaml
from waiting import LONGEST_SECONDS, run_together

BUSY = '<html><body><div data-live="problems"><p data-busy>Busy.</p></div></body></html>'
# Counts the moments at which the preview or the plan is not there.
NOTE_LOSSES = """() => {
  window.losses = 0;
  new MutationObserver(() => {
    const shown = ["[data-live=page] iframe", "[data-live=plan] table"];
    if (shown.some((one) => !document.querySelector(one))) window.losses += 1;
  }).observe(document.body, { childList: true, subtree: true });
}"""
TOKEN = re.compile(r'name="form_token" value="([^"]*)"')
ODD: dict[str, Any] = {
    "name": "odd",
    "version": 1,
    "title": MARKUP,
    "epsilon": "2",
    "protocol": "OUE",
    "later\x1b[31m": MARKUP,
    "attributes": [
        {"name": "odd", "role": "sensitive", "question": MARKUP, "categories": HOSTILE},
        {"name": MARKUP, "role": "=1+1", "categories": ["شاهد", "\u202eback"]},
    ],
}


@pytest.fixture(scope="module")
def server(tmp_path_factory) -> Iterator[DashboardServer]:
    folder = tmp_path_factory.mktemp("drafts")
    with Server(folder, options=("--no-worker",)) as running:
        server = DashboardServer(running, folder)
        server.add_user("root", every="admin")
        server.add_user("ada", **{"work-and-health": "editor"})
        yield server
        server.close()


@pytest.fixture
def open_page(server, browser):
    with windows(server, browser) as open_page:
        yield open_page


def paste(page: Page, document: dict[str, Any]) -> None:
    page.get_by_label("Paste its YAML").fill(write_yaml({"version": 1, **document}))
    page.get_by_role("button", name="Read it into a draft").click()
    expect(page.get_by_role("heading", name="Launch plan")).to_be_visible()


def unfold(page: Page, words: str) -> None:
    """Open a part of the form, each of which is folded."""
    page.locator("#draft-form details:not([open]) > summary", has_text=words).first.click()


def test_first_survey_is_written_and_published_by_keyboard_and_without_scripts(server, open_page):
    page = sign_in(open_page(java_script_enabled=False), "ada")
    page.get_by_role("link", name="Write the first survey").press("Enter")
    page.get_by_label("Title").press("Enter")  # nothing is typed: the browser says so
    page.get_by_label("Title").type("Work")
    page.keyboard.press("Tab")
    page.keyboard.type("work-and-health")
    page.keyboard.press("Enter")
    expect(page.get_by_text("It can be published")).to_be_visible()
    page.get_by_role("button", name="Add a question").press("Enter")
    expect(page).to_have_url(page.url.partition("?")[0] + "?n=1000&width=0.1&at=q1#q1")
    page.locator("#q1-question").fill("Do you smoke?")
    page.locator("#q1-name").fill("smoker")
    page.get_by_role("button", name="Move up question 2").press("Enter")
    expect(page.locator("#q0-name")).to_have_value("smoker")
    page.locator("#n").fill("20000")
    unfold(page, "Privacy")
    page.locator("#s-epsilon").fill("x")
    page.get_by_role("button", name="Update what stands beside").first.press("Enter")
    expect(page.get_by_text("1 problem before it can be published")).to_be_visible()
    page.get_by_role("link", name="epsilon").press("Enter")
    expect(page.locator("#s-epsilon-fault")).to_contain_text("epsilon is 'x'")
    page.locator("#s-epsilon").fill("2")
    page.locator("#s-epsilon").press("Enter")  # saves, as the first button does
    expect(page.get_by_text("All is saved.")).to_be_visible()
    page.get_by_role("link", name="Show it now").press("Enter")
    expect(page.get_by_text("Yes: with 20,000 respondents and epsilon 2")).to_be_visible()
    shown = page.frame_locator("iframe")
    expect(shown.get_by_role("group", name="Do you smoke?")).to_be_visible()
    expect(shown.locator(".badge")).to_have_text(["Randomised", "Randomised"])
    page.get_by_role("link", name="Publish", exact=True).press("Enter")
    page.get_by_role("button", name="Publish version 1").press("Enter")
    expect(page.get_by_text("There are no answers yet. Share the link below")).to_be_visible()
    expect(page.get_by_role("img", name="QR code of the hosted page’s address")).to_be_visible()
    page.get_by_role("button", name="Begin a new version").press("Enter")
    expect(page.locator("#s-version")).to_have_value("2")


def test_what_stands_beside_follows_the_typing(open_page):
    page = sign_in(open_page("/drafts/new"))
    paste(page, WORK)
    shown = page.frame_locator("iframe")
    expect(shown.get_by_role("heading", level=1)).to_have_text(WORK["title"])
    unfold(page, "The survey")
    page.get_by_label("Title").fill("Another title")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Another title")
    expect(page.get_by_text("Not saved yet.")).to_be_visible()
    asked = []
    page.on("dialog", lambda dialog: (asked.append(dialog.type), dialog.dismiss()))
    page.get_by_role("link", name="YAML").click()
    expect(page.get_by_label("Title")).to_have_value("Another title")
    assert asked == ["beforeunload"]
    page.get_by_label("Respondents you expect").fill("123456")
    expect(page.get_by_text("Yes: with 123,456 respondents")).to_be_visible()
    unfold(page, "Question 1")
    page.locator("#q0-categories").fill("one alone")
    page.locator("#q0-missing").fill("", force=True)
    expect(page.locator("#q0-categories-fault")).to_contain_text("a domain of size 1")
    expect(page.locator("#q0-categories")).to_have_attribute("aria-invalid", "true")
    page.locator("#q0-categories").fill("one\ntwo")
    expect(page.locator("#q0-categories-fault")).to_have_count(0)
    expect(shown.get_by_label("two")).to_be_visible()
    expect(page.locator("#q0-categories")).not_to_have_attribute("aria-invalid", "true")


def test_a_page_keeps_its_preview_while_the_server_is_busy_and_then_gets_the_next(open_page):
    page = sign_in(open_page("/drafts/new"))
    paste(page, WORK)
    shown = page.frame_locator("iframe")
    answers = []

    def busy_at_first(route):
        answers.append(route.request.method)
        if len(answers) == 1:
            route.fulfill(status=503, body="")
        elif len(answers) == 2:
            route.fulfill(content_type="text/html", body=BUSY)
        else:
            route.continue_()

    page.evaluate(NOTE_LOSSES)
    page.route(re.compile(r"/drafts/\w+$"), busy_at_first)
    unfold(page, "The survey")
    page.get_by_label("Title").fill("Another title")
    expect(shown.get_by_role("heading", level=1)).to_have_text("Another title")
    assert answers[:3] == ["POST"] * 3
    assert page.evaluate("window.losses") == 0


def test_a_page_that_came_without_its_preview_gets_it_by_itself(open_page):
    page = sign_in(open_page("/drafts/new"))
    paste(page, WORK)

    def without_preview(route):
        text = route.fetch().text()
        text = re.sub(r"<iframe.*?</iframe>", "", text, flags=re.DOTALL)
        text = text.replace('data-live="problems">', 'data-live="problems"><p data-busy>Busy.</p>')
        route.fulfill(content_type="text/html", body=text)

    page.route(re.compile(r"/drafts/\w+\?"), without_preview, times=1)
    page.goto(page.url.partition("?")[0] + "?n=1000")
    expect(page.frame_locator("iframe").get_by_role("heading", level=1)).to_have_text(WORK["title"])
    expect(page.get_by_text("Busy.")).to_have_count(0)


@pytest.fixture
def sessions():
    """Four connections."""
    with ExitStack() as stack:
        yield [stack.enter_context(requests.Session()) for _ in range(4)]


def test_no_save_is_refused_while_previews_and_plans_are_made(server, sessions):
    manifest = {"version": 1, **WORK, "attributes": WORK["attributes"][:2]}
    draft_id = server.begin_draft(manifest)
    path = f"{server.url}/dashboard/drafts/{draft_id}"
    tokens = []
    for session in sessions:
        page = session.get(f"{server.url}/dashboard/sign-in", timeout=LONGEST_SECONDS)
        form = {"form_token": TOKEN.search(page.text)[1], "name": "root", "password": PASSWORD}
        session.post(page.url, data=form, timeout=LONGEST_SECONDS)
        page = session.get(path, timeout=LONGEST_SECONDS)
        tokens.append(TOKEN.search(page.text)[1])
    saves, looks, done = [], [], threading.Event()

    def send(place, **fields):
        return sessions[place].post(
            path,
            data={"form_token": tokens[place], **fields},
            timeout=LONGEST_SECONDS,
            allow_redirects=False,
        )

    def save():
        try:
            for revision in range(1, 9):
                yaml = write_yaml({**manifest, "title": f"Saved {revision}"})
                answer = send(0, **{"from": "yaml", "yaml": yaml, "revision": str(revision)})
                saves.append(answer.status_code)
        finally:
            done.set()

    def look(place):
        while not done.is_set():
            looks.append(send(place, do="look", n="5000", revision="1").status_code)

    run_together(save, *(lambda place=place: look(place) for place in (1, 2, 3)))
    assert saves == [303] * 8
    assert set(looks) == {200}
    kept = sessions[0].get(f"{path}?as=yaml", timeout=LONGEST_SECONDS).text
    assert "title: Saved 8" in kept


def test_hostile_texts_are_shown_as_they_are(open_page):
    page = sign_in(open_page("/drafts/new"))
    paste(page, ODD)
    expect(page.get_by_role("heading", level=1)).to_have_text(MARKUP)
    expect(page.locator("main b, main script")).to_have_count(0)
    expect(page.locator("#q0-categories")).to_have_value("\n".join(HOSTILE))
    expect(page.locator("#q1-name")).to_have_value(MARKUP)
    expect(page.locator("#problems")).to_contain_text("directional overrides are not allowed")
    page.get_by_role("button", name="Remove question 2").click()
    expect(page.locator("#q1")).to_have_count(0)
    page.get_by_role("link", name="YAML").click()
    expect(page.get_by_label("The manifest as YAML")).to_contain_text("later\\e[31m")
    page.get_by_label("The manifest as YAML").fill(
        write_yaml(
            {key: text for key, text in ODD.items() if not key.startswith("later")}
            | {"attributes": ODD["attributes"][:1]}
        )
    )
    page.get_by_role("button", name="Save the draft").click()
    shown = page.frame_locator("iframe")
    expect(shown.get_by_role("heading", level=1)).to_have_text(MARKUP)
    expect(shown.locator("main b, main script")).to_have_count(0)
    expect(shown.get_by_label(HOSTILE[4])).to_be_visible()


def test_second_editor_is_told_and_loses_nothing(open_page):
    page = sign_in(open_page("/drafts/new"))
    paste(page, WORK)
    other = sign_in(open_page(page.url.partition("/dashboard")[2]), "ada")
    for window in (page, other):
        unfold(window, "The survey")
    page.get_by_label("Description").fill("By root.")
    page.get_by_role("button", name="Save the draft").first.click()
    expect(page.get_by_text("All is saved.")).to_be_visible()
    other.get_by_label("Description").fill("By Ada.")
    other.get_by_role("button", name="Save the draft").first.click()
    expect(other.get_by_role("alert")).to_contain_text("root has changed this draft")
    expect(other.get_by_label("Description")).to_have_value("By Ada.")
    other.get_by_role("button", name="Save the draft").first.click()
    expect(other.get_by_text("All is saved.")).to_be_visible()


def test_a_translation_is_written_by_keyboard_and_counted_as_one_types(open_page):
    page = sign_in(open_page("/drafts/new"))
    paste(page, {**WORK, "attributes": WORK["attributes"][1:2], "language": "en"})
    page.get_by_text("Translations", exact=True).press("Enter")
    page.get_by_label("Add a language").fill("de")
    page.get_by_role("button", name="Add it").press("Enter")
    count = page.locator("#t0 [role=status]")
    expect(count).to_contain_text("3 of 3 texts are not translated")
    page.get_by_label("Title Work and health 2026").fill("Arbeit und Gesundheit")
    page.keyboard.press("Tab")
    page.keyboard.type("Wie man arbeitet.")
    expect(count).to_contain_text("1 of 3 texts is not translated")
    expect(page.locator("#t0-q0-question-fault")).to_contain_text("translate 'Do you smoke?'")
    page.get_by_label("Question Do you smoke?").fill("Rauchen Sie?")
    expect(count).to_contain_text("All 3 texts are translated.")
    page.get_by_label("Its language").select_option("de")
    title = page.frame_locator("iframe").get_by_role("heading", level=1)
    expect(title).to_have_text("Arbeit und Gesundheit")
    page.get_by_role("button", name="Save the draft").first.press("Enter")
    expect(page.get_by_text("All is saved.")).to_be_visible()
    expect(page.locator("#t0-q0-question")).to_have_value("Rauchen Sie?")


def test_pages_of_drafts_are_accessible_and_fit_narrow_and_wide_windows(open_page):
    page = sign_in(open_page("/drafts/new", viewport={"width": 360, "height": 800}))
    paste(page, ODD)
    odd = page.url.partition("?")[0]
    page.goto(page.url.partition("/dashboard")[0] + "/dashboard/drafts/new")
    words = {"title": "Arbeit", "attributes": {"smoker": {"categories": ["Nein", "Ja"]}}}
    paste(page, {**WORK, "language": "en", "translations": {"de": words, "fr": {}}})
    translated = page.url.partition("?")[0]
    page.goto(page.url.partition("/dashboard")[0] + "/dashboard/drafts/new")
    paste(page, WORK)
    good = page.url.partition("?")[0]
    origin = page.url.partition("/drafts")[0]
    found = {}
    addresses = (odd, f"{odd}/publish", translated, good, f"{good}?as=yaml", f"{good}/publish")
    for address in (*addresses, f"{origin}/", f"{origin}/drafts/new"):
        page.goto(address)
        page.evaluate("document.querySelectorAll('details').forEach((one) => { one.open = true })")
        found[address] = violations(page)
        page.emulate_media(color_scheme="dark")
        found[f"{address} dark"] = violations(page, COLOURS)
        page.emulate_media(color_scheme="light")
        for width in (1440, 360):
            page.set_viewport_size({"width": width, "height": 800})
            assert page.evaluate(WIDER) <= 0, (address, width)
    assert {address: rules for address, rules in found.items() if rules} == {}
