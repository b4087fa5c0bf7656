"""A questionnaire as people write them, from the dashboard to its results, in Chromium.

A user writes a survey in two languages with a select-all, a follow-up, a scale of 0 to 10, an
amount in euros and two sensitive questions together; answers it at phone size in the second
language; lets simulated people answer, whose answers are kept; and reads, on the dashboard, shares
with intervals that have to cover the truth. Respondents and their noise are drawn from a seed, at
which all intervals cover with room to spare for the noise of the three people who answer by hand.
"""

from __future__ import annotations

import csv
import json
import re
import subprocess
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, Page

from waiting import LONGEST_SECONDS

PASSWORD = "correct horse battery"
NAME = "everyday-life"
SEED = 4
TIMEOUT = 1000 * LONGEST_SECONDS
PEOPLE_BY_HAND = 3
PHONE = {"width": 360, "height": 740}
WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"
SURVEY = {
    "s-language": "en",
    "s-operator": "Town of Example",
    "s-purpose": "We plan the town's services.",
    "s-epsilon": "8",
    "s-release": "immediate",
    "s-together": "trust: violence, gender",
}
QUESTIONS: list[dict[str, str]] = [
    {
        "name": "drugs",
        "question": "Which of these have you taken?",
        "categories": "Cannabis\nCocaine\nOther",
        "select": "shares",
        "at_most": "2",
    },
    {"name": "smokes", "question": "Do you smoke?", "categories": "No\nYes"},
    {
        "name": "amount",
        "question": "How many cigarettes a day?",
        "categories": "Few\nMany",
        "router": "smokes",
        "after": "Yes",
    },
    {
        "name": "happy",
        "question": "How happy are you with the town?",
        "categories": "",
        "low": "0",
        "high": "10",
        "scale": "nps",
    },
    {
        "name": "income",
        "question": "What do you earn a month?",
        "categories": "",
        "low": "0",
        "high": "5000",
        "amount": "mean",
        "unit": "euros",
        "protocol": "GRR",
    },
    {
        "name": "violence",
        "question": "Have you been hit at home?",
        "categories": "No\nYes",
    },
    {"name": "gender", "question": "Your gender?", "categories": "Female\nMale"},
]
LISTS = {"select", "amount", "scale", "protocol", "role", "split", "release"}
"""Fields that choose out of a list."""

GERMAN = {
    "Everyday life": "Alltag",
    "We plan the town's services.": "Wir planen die Dienste der Stadt.",
    "Which of these have you taken?": "Was davon haben Sie genommen?",
    "Do you smoke?": "Rauchen Sie?",
    "How many cigarettes a day?": "Wie viele Zigaretten am Tag?",
    "How happy are you with the town?": "Wie zufrieden sind Sie mit der Stadt?",
    "What do you earn a month?": "Was verdienen Sie im Monat?",
    "euros": "Euro",
    "Have you been hit at home?": "Wurden Sie zu Hause geschlagen?",
    "Your gender?": "Ihr Geschlecht?",
    "Cannabis": "Cannabis",
    "Cocaine": "Kokain",
    "Other": "Anderes",
    "No": "Nein",
    "Yes": "Ja",
    "Few": "Wenige",
    "Many": "Viele",
    "Female": "Weiblich",
    "Male": "Männlich",
    "Town of Example": "Stadt Beispiel",
}
POPULATION: Mapping[str, Any] = {
    "drugs": {"selected": {"Cannabis": 0.4, "Cocaine": 0.15, "Other": 0.2}},
    "smokes": {"weights": {"No": 6, "Yes": 4}},
    "amount": {"weights": {"Few": 7, "Many": 3}},
    "happy": {"weights": {"0..4": 1, "5..7": 3, "8..10": 6}},
    "income": {"weights": {"0..999": 2, "1000..2499": 5, "2500..5000": 3}},
    "gender": {
        "given": "violence",
        "weights": {"No": {"Female": 45, "Male": 55}, "Yes": {"Female": 75, "Male": 25}},
    },
    "violence": {"weights": {"No": 8, "Yes": 2}},
}


def walk(
    browser: Browser, url: str, folder: Path, environment: Mapping[str, str], respondents: int
) -> list[str]:
    """Walk it all on a server at `url` whose user `ada` may do everything; return what was read."""
    # The dashboard needs no scripts. With them each field that is written asks for a new outlook.
    page = browser.new_page(java_script_enabled=False)
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{url}/dashboard/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Write the first survey").click()
    manifest = write(page)
    publish(page)
    for _ in range(PEOPLE_BY_HAND):
        answer_on_a_phone(browser, f"{url}/s/{NAME}?lang=de")
    people = simulate(manifest, folder, environment, respondents)
    return read(page, f"{url}/dashboard/surveys/{NAME}/versions/1", people)


def open_parts(page: Page, part: str) -> None:
    """Open parts of the form that are folded, and what is folded in them."""
    closed = page.locator(f"{part}:not([open]) > summary, {part} details:not([open]) > summary")
    while closed.locator("visible=true").count():
        closed.locator("visible=true").first.click()


def write(page: Page) -> dict[str, Any]:
    """Write the survey into the form of a draft, with its translation; return its manifest."""
    page.get_by_label("Title").fill("Everyday life")
    page.get_by_label("Name in addresses").fill(NAME)
    page.get_by_role("button", name="Begin the draft").click()
    for place, question in enumerate(QUESTIONS):
        if place:
            page.get_by_role("button", name="Add a question").click()
        open_parts(page, f"#q{place}")
        fill(page, {f"q{place}-{name}": text for name, text in question.items()})
    open_parts(page, "#draft-form details")
    fill(page, SURVEY)
    page.locator("#new-language").fill("de")
    page.get_by_role("button", name="Add it").click()
    page.locator("#t0").wait_for()
    for label in page.locator("#t0 fieldset.words label").all():
        original = label.locator("bdi").first.inner_text()
        lines = [GERMAN.get(line, line) for line in original.split("\n")]
        label.locator("input, textarea").fill("\n".join(lines))
    page.get_by_role("button", name="Save the draft").first.click()
    page.get_by_text("All is saved.").wait_for()
    page.get_by_text(re.compile(r"All \d+ texts are translated\.")).wait_for()
    page.get_by_text(re.compile("^It can be published")).wait_for()
    page.get_by_role("link", name="YAML").click()
    from hushpoll_shared.reading.yaml_reader import parse_yaml

    return parse_yaml(page.get_by_label("The manifest as YAML").input_value())


def fill(page: Page, texts: Mapping[str, str]) -> None:
    for name, text in texts.items():
        field = page.locator(f"#{name}")
        if name.partition("-")[2] in LISTS:
            field.select_option(text)
        else:
            field.fill(text)


def publish(page: Page) -> None:
    page.get_by_role("link", name="Publish", exact=True).click()
    page.get_by_label("I have read the warnings").check()
    page.get_by_role("button", name="Publish version 1").click()
    page.get_by_text("There are no answers yet. Share the link below").wait_for()


def answer_on_a_phone(browser: Browser, address: str) -> None:
    """Answer in German; nothing is wider than the screen."""
    page = browser.new_page(viewport=PHONE, locale="de-DE")
    page.set_default_timeout(TIMEOUT)
    page.goto(address)
    page.locator("#survey-form:not([hidden])").wait_for()
    form = page.locator("#survey-form")
    follow_up = form.locator("[data-attribute=amount]")
    if follow_up.is_visible():
        raise SystemExit("the follow-up is asked before its question is answered")
    for label in ("Cannabis", "Anderes"):
        form.get_by_label(label, exact=True).check()
    form.locator("[data-attribute=smokes]").get_by_label("Ja", exact=True).check()
    follow_up.get_by_label("Viele", exact=True).check()
    form.locator("[data-attribute=happy]").get_by_role("radio").nth(7).check()
    form.locator("[data-attribute=income]").get_by_role("spinbutton").fill("1850")
    form.locator("[data-attribute=violence]").get_by_label("Nein", exact=True).check()
    form.locator("[data-attribute=gender]").get_by_label("Weiblich", exact=True).check()
    if not form.locator("[data-attribute=income]").get_by_text("Euro", exact=True).is_visible():
        raise SystemExit("the unit of the amount is not in the language of the page")
    if page.evaluate(WIDER) > 0:
        raise SystemExit("the page is wider than a phone")
    page.locator("#go-on").click()
    page.locator("#send").click()
    page.locator("#receipt:not([hidden])").wait_for()
    page.close()


def simulate(
    manifest: dict[str, Any],
    folder: Path,
    environment: Mapping[str, str],
    respondents: int,
    population: Mapping[str, Any] = POPULATION,
) -> list[dict[str, str]]:
    """Let simulated people answer; return their answers."""
    (folder / "survey.json").write_text(json.dumps(manifest | {"population": population}))
    done = subprocess.run(
        [
            *("hushpoll", "simulate", "--manifest", "survey.json", "--bulk"),
            *("--respondents", str(respondents), "--seed", str(SEED)),
            *("--write-answers", "people.csv"),
        ],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"hushpoll simulate failed:\n{done.stdout}{done.stderr}")
    with (folder / "people.csv").open(newline="", encoding="utf-8") as file:
        return list(csv.DictReader(file))


def read(page: Page, survey: str, people: list[dict[str, str]]) -> list[str]:
    """Read shares, those of who was asked, the mean and the cross-table; compare with the truth."""
    page.goto(f"{survey}/estimates")
    n, lines = len(people), []

    def share(rows: Iterable[bool]) -> float:
        told = list(rows)
        return 100 * sum(told) / len(told)

    table = region(page, "Table of Which of these have you taken?")
    for place, option in enumerate(("Cannabis", "Cocaine", "Other")):
        truth = share(one[f"drugs_{place + 1}"] == "selected" for one in people)
        lines.append(covered(table, option, truth))
    smokers = [one for one in people if one["smokes"] == "Yes"]
    asked = region(page, "Shares of those who were asked “How many cigarettes a day?”")
    for much in ("Few", "Many"):
        lines.append(covered(asked, much, share(one["amount"] == much for one in smokers)))
    mean = sum(int(one["income"]) for one in people) / n
    lines.append(
        covered(region(page, "Mean and quantiles of “What do you earn a month?”"), "mean", mean)
    )
    page.goto(f"{survey}/cross-tables?a=violence&b=gender")
    grid = region(page, "Table of shares")
    rows = {one.locator("th").first.inner_text(): one for one in grid.locator("tbody tr").all()}
    for hit in ("No", "Yes"):
        for column, gender in enumerate(("Female", "Male")):
            cell = rows[hit].locator("td").nth(column).inner_text()
            truth = share((one["violence"], one["gender"]) == (hit, gender) for one in people)
            lines.append(held(f"violence {hit}, gender {gender}", cell, truth))
    return lines


def region(page: Page, label: str):
    """Return a part of a page by its label, folded or not."""
    return page.locator(f'[role=region][aria-label="{label}"]')


def covered(region, category: str, truth: float) -> str:
    for row in region.locator("tbody tr").all():
        if row.locator("th").inner_text().strip().lower().startswith(category.lower()):
            return held(category, row.inner_text(), truth)
    raise SystemExit(f"there is no {category} in {region.inner_text()}")


def held(what: str, text: str, truth: float) -> str:
    """Refuse an interval, in a text such as `-1.2 % to 3 %`, that does not cover the truth."""
    ends = re.search(r"([-−]?[\d.,]+)(?:\s*%)? to ([-−]?[\d.,]+)", text)
    if ends is None:
        raise SystemExit(f"there is no interval of {what} in {text!r}")
    low, high = (float(end.replace("−", "-").replace(",", "")) for end in ends.groups())
    line = f"{what}: {low:g} to {high:g}, of the simulated people {truth:.1f}"
    if not low <= truth <= high:
        raise SystemExit(f"an interval does not cover: {line}")
    return line
