"""Chromium on the dashboard: windows that note what went wrong, signing in, axe-core."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Page, expect, sync_playwright

from dashboard_server import PASSWORD, DashboardServer
from waiting import LONGEST_SECONDS

AXE = Path(__file__).parents[1] / "client/hushpoll_client_js/node_modules/axe-core/axe.min.js"
# The rules of WCAG 2.2 A and AA, and the library's best practices, which are its default. Of what
# passes nothing is gathered, and no selector is made for a node.
RUN_AXE = """async (rules) => (
  await axe.run({ ...rules, resultTypes: ["violations"], selectors: false })).violations.map(
  (one) => `${one.id}: ${one.nodes.map((node) => node.html).join(" ").slice(0, 400)}`)"""
COLOURS = {"runOnly": ["color-contrast"]}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
expect.set_options(timeout=LONGEST_SECONDS * 1000)


@contextmanager
def chromium() -> Iterator[Browser]:
    """A running browser: the build of Chromium that has no windows, which works half as much."""
    builds = map(shutil.which, ("chromium-headless-shell", "chromium"))
    program = os.environ.get("CHROMIUM") or next(filter(None, builds), None)
    if program is None:
        raise SystemExit(
            "Chromium is missing; apt-get install chromium-headless-shell, or set CHROMIUM to its "
            "path"
        )
    with sync_playwright() as playwright:
        running = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        yield running
        running.close()


@contextmanager
def windows(server: DashboardServer, browser: Browser) -> Iterator[Callable[..., Page]]:
    """What opens a page in a window of its own; at the end, nothing was wrong in any of them."""
    contexts, wrong = [], []
    own = urlsplit(server.url).netloc

    def note(request) -> None:
        if urlsplit(request.url).netloc not in (own, ""):
            wrong.append(f"asked {request.url}")

    def said(message) -> None:
        # Chromium itself says so of each page whose status is 401, 404 or the like.
        if not message.text.startswith("Failed to load resource: the server responded"):
            wrong.append(f"said {message.text}")

    def open_page(path: str = "/", **options) -> Page:
        context = browser.new_context(**options)
        context.set_default_timeout(LONGEST_SECONDS * 1000)
        contexts.append(context)
        page = context.new_page()
        page.on("request", note)
        page.on("console", said)
        page.on("pageerror", lambda error: wrong.append(f"raised {error}"))
        page.goto(f"{server.url}/dashboard{path}")
        return page

    yield open_page
    for context in contexts:
        context.close()
    assert wrong == []


def sign_in(page: Page, name: str = "root") -> Page:
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("button", name="Sign out").wait_for()
    page.wait_for_load_state()
    return page


def violations(page: Page, rules: dict[str, list[str]] | None = None) -> list[str]:
    """The rules that a page breaks now; one that is looked at again has axe-core already."""
    assert AXE.is_file(), f"{AXE} is missing; scripts/test-js installs it"
    if page.evaluate("typeof axe") == "undefined":
        page.evaluate(AXE.read_text(encoding="utf-8"))
    return page.evaluate(RUN_AXE, rules)
