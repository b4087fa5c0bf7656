"""A form of another tool, from its file to the files of an analyst, in Chromium.

A user brings an XLSForm in two languages to the dashboard, reads what has become of each question,
publishes the draft and answers it in the second language; more people answer as well. Records
and codebook then leave as the commands give them, and the files of SPSS and Stata are read back
with the form's labels.
"""

from __future__ import annotations

import csv
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pyreadstat
from playwright.sync_api import Browser, Page

from hushpoll_client import randomize
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_shared.wire.reports import Report, new_report_id, pack_reports
from questionnaire_walk import PASSWORD, open_parts, publish
from workbooks import workbook

NAME = "smoking"
TIMEOUT = 60000
ENGLISH, GERMAN = "label::English (en)", "label::Deutsch (de)"
FORM = {
    "survey": [
        ("type", "name", ENGLISH, GERMAN, "hint::English (en)", "hint::Deutsch (de)", "required",
         "relevant", "constraint"),
        ("select_one yn", "smokes", "Do you smoke?", "Rauchen Sie?", "Cigarettes.", "Zigaretten.",
         "yes", "", ""),
        ("integer", "daily", "How many a day?", "Wie viele am Tag?", "", "", "yes",
         "${smokes} = 'y'", ". >= 1 and . <= 15"),
        ("select_one town", "town", "Where?", "Wo?", "", "", "yes", "", ""),
        ("text", "why", "Why did you begin?", "Warum?", "", "", "", "", ""),
    ],
    "choices": [
        ("list_name", "name", ENGLISH, GERMAN),
        ("yn", "y", "Yes", "Ja"),
        ("yn", "n", "No", "Nein"),
        ("town", "a", "Town", "Stadt"),
        ("town", "b", "Village", "Dorf"),
    ],
    "settings": [
        ("form_title", "form_id", "default_language"),
        ("Smoking", NAME, "English (en)"),
    ],
}  # fmt: skip
TOWNS = ("Town", "Village")
TERMS = {"s-release": "immediate", "s-epsilon": "6", "s-protocol": "GRR"}


def walk(
    browser: Browser, url: str, folder: Path, environment: Mapping[str, str], respondents: int
) -> list[str]:
    """Walk it on a server at `url` whose user `ada` may do everything; return what was read."""
    (folder / "form.xlsx").write_bytes(workbook(FORM))
    page = browser.new_page(java_script_enabled=False)
    page.set_default_timeout(TIMEOUT)
    page.goto(f"{url}/dashboard/")
    page.get_by_label("Name").fill("ada")
    page.get_by_label("Password").fill(PASSWORD)
    page.locator("main").get_by_role("button", name="Sign in").click()
    page.get_by_role("link", name="Write the first survey").click()
    lines = bring(page, folder / "form.xlsx")
    publish(page)
    answer_in_german(browser, f"{url}/s/{NAME}?lang=de")
    send(environment, respondents)
    return [*lines, *leave(folder, environment, respondents)]


def bring(page: Page, form: Path) -> list[str]:
    """Import the form, read its report, and save the draft."""
    page.locator("#form-file").set_input_files(form)
    page.get_by_role("button", name="Read the form into a draft").click()
    page.get_by_role("heading", name="3 questions in the draft").wait_for()
    said = page.locator("main").inner_text()
    whole = " ".join(page.locator("main").text_content().split())
    if "why (survey, row 5): It asks for free text" not in whole:
        raise SystemExit(f"the report does not say what became of 'why': {said}")
    page.get_by_role("link", name="Open the draft").click()
    open_parts(page, "#draft-form details")
    for name, text in TERMS.items():
        field = page.locator(f"#{name}")
        if field.evaluate("one => one.tagName") == "SELECT":
            field.select_option(text)
        else:
            field.fill(text)
    page.get_by_role("button", name="Save the draft").first.click()
    page.get_by_text("All is saved.").wait_for()
    return ["imported: 3 questions taken, 1 dropped with its reason"]


def answer_in_german(browser: Browser, address: str) -> None:
    """Answer in German; hints stand below the questions."""
    page = browser.new_page(locale="de-DE")
    page.set_default_timeout(TIMEOUT)
    page.goto(address)
    page.locator("#survey-form:not([hidden])").wait_for()
    form = page.locator("#survey-form")
    form.get_by_text("Zigaretten.").wait_for()
    form.locator("[data-attribute=smokes]").get_by_label("Ja", exact=True).check()
    follow_up = form.locator("[data-attribute=daily]")
    follow_up.wait_for()
    radios, menus = follow_up.get_by_role("radio"), follow_up.get_by_role("combobox")
    fields = follow_up.get_by_role("spinbutton")
    if menus.count():
        menus.first.select_option(index=8)
    elif fields.count():
        fields.first.fill("8")
    else:
        radios.nth(7).check()
    form.locator("[data-attribute=town]").get_by_label("Dorf", exact=True).check()
    page.locator("#go-on").click()
    page.locator("#send").click()
    page.locator("#receipt:not([hidden])").wait_for()
    page.close()


def hushpoll(folder: Path, environment: Mapping[str, str], *words: str) -> str:
    done = subprocess.run(
        ["hushpoll", *words],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode:
        raise SystemExit(f"hushpoll {' '.join(words)} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def send(environment: Mapping[str, str], respondents: int) -> None:
    """Send reports of more people, each randomised as a device does."""
    with AnalystClient(environment["HUSHPOLL_URL"], environment["HUSHPOLL_TOKEN"]) as client:
        published = client.show(NAME)
        answers = (
            {
                "smokes": "Yes",
                "daily": str(1 + number % 15),
                "town": ("Town", "Village")[number % 2],
            }
            for number in range(respondents)
        )
        reports = [Report(new_report_id(), randomize(published, one).record) for one in answers]
        receipt = client.submit_bulk(NAME, pack_reports(published.digest, reports))
    if receipt.accepted != respondents:
        raise SystemExit(f"the server took {receipt}")


def leave(folder: Path, environment: Mapping[str, str], respondents: int) -> list[str]:
    """Export records and codebook, and read the files back as other programs do.

    One more person answered in the browser. Results take in many reports at a time, so that one may
    still wait.
    """
    lines = []
    for form, read in (("sav", pyreadstat.read_sav), ("dta", pyreadstat.read_dta)):
        file = f"out.{form}"
        options = ("--format", form, "--language", "de", "--out", file)
        hushpoll(folder, environment, "export", NAME, *options)
        frame, about = read(str(folder / file))
        labels = about.variable_value_labels["smokes"]
        if labels != {0: "Ja", 1: "Nein"} or len(frame) - respondents not in (0, 1):
            raise SystemExit(f"{file} has the labels {labels} and {len(frame)} rows")
        if about.column_names_to_labels["town"] != "randomised: Wo?":
            raise SystemExit(f"{file} calls town {about.column_names_to_labels['town']}")
        lines.append(f"{file}: {len(frame)} records with the labels of the form in German")
    hushpoll(folder, environment, "export", NAME, "--format", "csv", "--out", "out.csv")
    with (folder / "out.csv").open(newline="", encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    if {row["town"] for row in rows} != {"Town", "Village"}:
        raise SystemExit(f"out.csv has no labels: {rows[:2]}")
    lines.append(f"out.csv: {len(rows)} records with labels")
    hushpoll(folder, environment, "codebook", NAME, "--out", "book.md")
    book = (folder / "book.md").read_text(encoding="utf-8")
    if "- de: Rauchen Sie? — Zigaretten." not in book:
        raise SystemExit(f"the codebook lacks a question:\n{book}")
    lines.append("book.md: every question in both languages")
    hushpoll(folder, environment, "results", "table", NAME, "--out", "results.xlsx")
    lines.append("results.xlsx: all results as one table")
    return lines
