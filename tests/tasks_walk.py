"""What users want of a survey, done in Chromium as they would do it, by what pages and docs say.

An app of Flask, which is the block of `docs/how-to/embed-the-client.md` as it stands, takes part;
simulated people answer, whose answers are kept. A user then reads a share, a comparison that the
answers can tell and one that they cannot, writes a privacy sheet of two pages by the command and
from the dashboard, and publishes two questions of three and only these. Respondents and their
noise are drawn from a seed.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import time
import zlib
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from ports import free_port
from questionnaire_walk import PASSWORD, TIMEOUT, covered, region, simulate
from waiting import LONGEST_SECONDS

ROOT = Path(__file__).resolve().parent.parent
APP = re.compile(r"^## In a Flask app\n.*?^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NAME = "work-and-health"
"""The name of the survey that the app of the docs takes part in."""

TITLE = "Smoking in Example Town"
SMOKES, GENDER, STREET = "Do you smoke?", "Your gender?", "In which street do you live?"
STREETS = [f"Street {number}" for number in range(1, 21)]
MANIFEST: dict[str, Any] = {
    "name": NAME,
    "version": 1,
    "title": TITLE,
    "operator": "Town of Example",
    "purpose": "We plan advice for smokers.",
    "epsilon": "5",
    "split": {"weights": {"smokes": 2, "gender": 2, "street": 1}},
    "protocol": "GRR",
    "release": "immediate",
    "attributes": [
        {
            "name": "gender",
            "role": "sensitive",
            "question": GENDER,
            "categories": ["Female", "Male"],
        },
        {"name": "smokes", "role": "sensitive", "question": SMOKES, "categories": ["No", "Yes"]},
        {"name": "street", "role": "sensitive", "question": STREET, "categories": STREETS},
    ],
}
POPULATION: Mapping[str, Any] = {
    "gender": {"weights": {"Female": 1, "Male": 1}},
    "smokes": {
        "given": "gender",
        "weights": {"Female": {"No": 8, "Yes": 2}, "Male": {"No": 5, "Yes": 5}},
    },
    "street": {"weights": dict.fromkeys(STREETS, 1)},
}


def walk(
    browser: Browser, url: str, folder: Path, environment: Mapping[str, str], respondents: int
) -> list[str]:
    """Do it all on a server at `url` whose user `ada` may do everything; return what was done."""
    import json

    (folder / "town.json").write_text(json.dumps(MANIFEST), encoding="utf-8")
    command(folder, environment, "survey", "publish", "town.json")
    lines = [embed(browser, url, folder, environment)]
    people = simulate(MANIFEST, folder, environment, respondents, POPULATION)
    # The dashboard needs no scripts.
    page = browser.new_page(java_script_enabled=False)
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{url}/dashboard/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name=TITLE).first.click()
    survey = f"{url}/dashboard/surveys/{NAME}/versions/1"
    lines += read(page, survey, people)
    lines.append(f"privacy sheet of the command: {sheet(folder, environment)} pages")
    lines.append(f"privacy sheet of the dashboard: {sheet_of(page, survey)} pages")
    lines.append(publish(browser, page, url, survey))
    return lines


def command(folder: Path, environment: Mapping[str, str], *arguments: str) -> None:
    """Run a command of hushpoll; refuse one that fails."""
    done = subprocess.run(
        ["hushpoll", *arguments], cwd=folder, env=environment, capture_output=True, text=True
    )
    if done.returncode:
        raise SystemExit(f"hushpoll {' '.join(arguments)} failed:\n{done.stdout}{done.stderr}")


def embed(browser: Browser, url: str, folder: Path, environment: Mapping[str, str]) -> str:
    """Run the app of the docs, and answer with it; once more, and it says that it has answered."""
    page = (ROOT / "docs/how-to/embed-the-client.md").read_text(encoding="utf-8")
    (app,) = APP.findall(page)
    place = folder / "app"
    place.mkdir()
    (place / "app.py").write_text(app.replace("https://polls.example.org", url), encoding="utf-8")
    port = free_port()
    with running(place, environment, port):
        window = browser.new_page()
        window.set_default_timeout(TIMEOUT)
        first, second = (take_part(window, port) for _ in range(2))
    wanted = ("Thank you. Your answers are randomised", "This computer has answered before.")
    for said, words in zip((first, second), wanted, strict=True):
        if not said.startswith(words):
            raise SystemExit(f"the app says {said!r}, and not {words!r}")
    return f"app of Flask: {first}"


@contextmanager
def running(place: Path, environment: Mapping[str, str], port: int) -> Iterator[None]:
    """Run the app until the end, once it listens."""
    import socket

    with (place / "log").open("wb") as log:
        app = subprocess.Popen(
            ["flask", "--app", "app", "run", "--port", str(port)],
            cwd=place,
            env=environment,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        until = time.monotonic() + LONGEST_SECONDS
        while time.monotonic() < until:
            with socket.socket() as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
            if app.poll() is not None:
                raise SystemExit(f"the app ended:\n{(place / 'log').read_text()}")
            time.sleep(0.1)
        yield
    finally:
        if app.poll() is None:
            os.killpg(app.pid, signal.SIGTERM)
        app.wait()


def take_part(page: Page, port: int) -> str:
    """Answer by the app's form; return what the app says."""
    page.goto(f"http://127.0.0.1:{port}/")
    if "Randomised on this device" not in page.locator("details").inner_text():
        page.locator("summary").click()
    page.get_by_label(SMOKES).select_option("Yes")
    page.get_by_label(GENDER).select_option("Female")
    page.get_by_label(STREET).select_option(STREETS[0])
    page.get_by_label("I agree").check()
    page.get_by_role("button", name="Send").click()
    return page.locator("body").inner_text()


def read(page: Page, survey: str, people: list[dict[str, str]]) -> list[str]:
    """Read the share of smokers, and compare men with women and a street with another."""
    page.goto(f"{survey}/estimates")
    smokers = 100 * sum(one["smokes"] == "Yes" for one in people) / len(people)
    lines = [covered(region(page, f"Table of {SMOKES}"), "Yes", smokers)]
    for what, beside, told in (
        ("comparison that is told", GENDER, True),
        ("comparison that is not told", STREET, False),
    ):
        page.goto(f"{survey}/comparison")
        show = page.get_by_role("button", name="Show", exact=True)
        page.locator("#of").select_option(label=SMOKES)
        show.click()
        page.locator("#beside").select_option(label=beside)
        show.click()
        heading = page.locator("#heading").inner_text()
        noisy = page.get_by_text("Too noisy to tell.", exact=True).count() > 0
        if noisy is told:
            raise SystemExit(f"{what}: {heading}")
        # What cannot be told is not open to be read as a finding.
        table = page.get_by_role("region", name="Shares and differences")
        if table.is_visible() is not told:
            raise SystemExit(f"{what}: its table is {'hidden' if told else 'shown'}")
        lines.append(f"{what}: {heading}")
    return lines


def sheet(folder: Path, environment: Mapping[str, str]) -> int:
    """Write the privacy sheet by the command that the docs name; return how many pages it has."""
    words = (ROOT / "docs/start/data-protection-officer.md").read_text(encoding="utf-8")
    if "hushpoll privacy-sheet survey.yaml --out privacy.pdf" not in words:
        raise SystemExit("the start page for data-protection officers does not name the command")
    command(
        *(folder, environment, "privacy-sheet", NAME, "--out", "privacy.pdf"),
        *("--kept-days", "90"),
    )
    return two_pages((folder / "privacy.pdf").read_bytes())


def sheet_of(page: Page, survey: str) -> int:
    """Follow the dashboard's links to the privacy sheet; return how many pages the PDF has."""
    page.goto(survey)
    links = page.locator(".downloads", has_text="Privacy sheet")
    addresses = {
        # They may stand in what is folded.
        name: links.locator("a", has_text=name).get_attribute("href")
        for name in ("HTML", "PDF")
    }
    root = survey.partition("/dashboard")[0]
    text = page.request.get(f"{root}{addresses['HTML']}").text()
    for wanted in (TITLE, SMOKES, "Town of Example"):
        if wanted not in text:
            raise SystemExit(f"the privacy sheet does not say {wanted}")
    return two_pages(page.request.get(f"{root}{addresses['PDF']}").body())


def two_pages(pdf: bytes) -> int:
    """Return how many pages a PDF has; refuse another number than two."""
    content = pdf
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", pdf, re.DOTALL):
        try:
            content += zlib.decompress(stream)
        except zlib.error:  # a stream of another kind, such as a font
            continue
    pages = len(re.findall(rb"/Type\s*/Page\b(?!s)", content))
    if not pdf.startswith(b"%PDF-") or pages != 2:
        raise SystemExit(f"the privacy sheet has {pages} pages")
    return pages


def publish(browser: Browser, page: Page, url: str, survey: str) -> str:
    """Publish two questions of three, and read as anybody what is public."""
    page.goto(f"{survey}/report")
    for question in (SMOKES, GENDER):
        page.get_by_role("checkbox", name=question).first.check()
    page.get_by_role("button", name="Choose these for publishing").click()
    form = page.locator(
        "form[action$='/public-results']", has=page.get_by_role("button", name="Publish")
    )
    for box in ("Publish them although the survey still runs", "Everybody may read these results"):
        form.get_by_label(box).check()
    form.get_by_role("button", name="Publish the results").click()
    address = page.locator(".panel.link a").get_attribute("href")
    public = browser.new_context().new_page()
    public.set_default_timeout(TIMEOUT)
    public.goto(f"{url}{address}" if str(address).startswith("/") else str(address))
    text = public.locator("body").inner_text()
    for wanted in (SMOKES, GENDER):
        if wanted not in text:
            raise SystemExit(f"{wanted} was to be published")
    # The page says of every question what respondents were promised, and has no result of this one.
    headings = public.get_by_role("heading").all_inner_texts()
    if any(STREET in heading for heading in headings) or STREETS[0] in text:
        raise SystemExit(f"{STREET} was not to be published")
    return f"published: {SMOKES} and {GENDER}, and nothing of {STREET}"
