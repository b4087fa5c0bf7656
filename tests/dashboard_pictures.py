"""Pictures of the dashboard for the documentation, and of every page to look at.

scripts/dashboard-pictures writes the first, scripts/walks screenshots the second.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from playwright.sync_api import Browser, Page

from dashboard_browser import chromium, violations
from dashboard_server import LOAN as LOAN_DRAFT
from dashboard_server import PASSWORD, WORK, DashboardServer, dashboard_server
from hushpoll_shared.survey.published import Published
from waiting import LONGEST_SECONDS

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
SURVEY = "/dashboard/surveys/work-and-health/versions/1"
LOAN = "/dashboard/surveys/loan/versions/1"
HIRING = "/dashboard/surveys/hiring/versions/1"
PICTURES = {
    "surveys": ("/dashboard/", "light"),
    "survey": (SURVEY, "light"),
    "estimates": (f"{SURVEY}/estimates", "light"),
    "cross-tables": (f"{SURVEY}/cross-tables?a=health&b=income", "dark"),
    "draft": ("/dashboard/drafts/{2}?n=20000&beside=now", "light"),
    "report": ("/dashboard/surveys/over/versions/1/report", "light"),
    "public": ("/results/over", "dark"),
    "models": (f"{LOAN}/models", "light"),
    "comparison": (f"{LOAN}/models/compare?model={{0}}&model={{1}}", "dark"),
    "audit": (f"{HIRING}/fairness/{{3}}#of-metrics", "light"),
    "quality": (f"{HIRING}/quality", "dark"),
    "weighted": (f"{SURVEY}/weighted?of=smoker&by=region&a0=40&a1=25&a2=20&a3=15", "light"),
    "groups": (f"{SURVEY}/comparison?of=health&beside=groups+of+smoker", "light"),
    "three-questions": (f"{HIRING}/tables/{{4}}?third=high", "dark"),
    "fairness": (f"{HIRING}/fairness", "light"),
    "jobs": (f"{HIRING}/jobs", "dark"),
    "new-survey": ("/dashboard/drafts/new", "light"),
    "people": ("/dashboard/people", "dark"),
    "operations": ("/dashboard/operations", "light"),
    "account": ("/dashboard/account", "light"),
    "sign-in": ("/dashboard/sign-in", "dark"),
}
_SENSITIVE = {"role": "sensitive", "protocol": "OUE"}
KINDS_PAGE = "/dashboard/surveys/kinds/versions/1"
LONG = "Which of these comes closest to what you thought of the last time that you were there"
KINDS = {
    "name": "kinds",
    "title": "Questions of every kind, and many of them",
    "epsilon": "60",
    "release": "immediate",
    "attributes": [
        {**_SENSITIVE, "name": "age", "question": "How old are you?",
         "categories": [str(year) for year in range(18, 92)]},
        {**_SENSITIVE, "name": "pay", "question": "What do you earn in a month?",
         "number": {"low": 0, "high": 5000, "unit": "euros"}, "protocol": "GRR"},
        {**_SENSITIVE, "name": "long", "question": f"{LONG}, all things considered, or before?",
         "categories": [f"{LONG}, number {one}, and nothing else" for one in range(4)]},
        *(
            {**_SENSITIVE, "name": f"answer-{one}", "question": f"Do you agree with the {one}th?",
             "categories": ["No", "Perhaps", "Yes"]}
            for one in range(3, 40)
        ),
    ],
}  # fmt: skip
# Further pages that are looked at: of the dashboard, of respondents, of everybody.
LOOKED_AT = {
    "overview-empty": "/dashboard/surveys/daily/versions/1",
    "estimates-one": f"{SURVEY}/estimates?attribute=health",
    "estimates-among": f"{SURVEY}/estimates?attribute=health&among=smoker",
    "estimates-many": "/dashboard/surveys/large/versions/1/estimates",
    "cross-tables-rows": f"{SURVEY}/cross-tables?a=income&b=region&share=row",
    "results": f"{SURVEY}/results",
    "result": f"{SURVEY}/results/independence?a=health&b=smoker",
    "regressions": f"{SURVEY}/regressions",
    "draft-yaml": "/dashboard/drafts/{2}?as=yaml",
    "all-jobs": "/dashboard/jobs",
    "curve": "/dashboard/curve",
    "nowhere": "/dashboard/nowhere",
    "report-file": "/dashboard/surveys/over/versions/1/report-file?rows=health&columns=region",
    "respondent": "/s/work-and-health",
    "respondent-german": "/s/work-and-health?lang=de",
    "not-found": "/s/nothing",
    "api": "/docs",
    "kinds": f"{KINDS_PAGE}",
    "kinds-estimates": f"{KINDS_PAGE}/estimates",
    "kinds-crossed": f"{KINDS_PAGE}/cross-tables?a=age&b=answer-3",
    "kinds-regressions": f"{KINDS_PAGE}/regressions",
    "kinds-report": f"{KINDS_PAGE}/report",
    "kinds-report-file": f"{KINDS_PAGE}/report-file?attribute=age&attribute=pay&attribute=long"
    "&attribute=answer-3&rows=answer-3&columns=answer-4",
    "kinds-german": f"{KINDS_PAGE}/report-file?attribute=age&attribute=pay&attribute=long"
    "&rows=answer-3&columns=answer-4&language=de",
}
# What is wider than its place: the page itself, and tables of the dashboard and of reports.
SIDEWAYS = """() => [document.documentElement, ...document.querySelectorAll(".wide, .chart")]
  .filter((one) => one.scrollWidth > one.clientWidth + 1 && one.offsetParent !== null)
  .map((one) => `scrolls sideways: ${one.getAttribute("aria-label") ?? one.tagName}`)"""
WINDOW = {"width": 1280, "height": 860}
# To look at each page as its readers may see it.
WINDOWS = {360: {"width": 360, "height": 780}, 1440: {"width": 1440, "height": 900}}


def unlike(_published: Published, rng: np.random.Generator) -> dict[str, int]:
    """Return answers of a population whose women are hired more seldom, for the picture."""
    gender, education = int(rng.random() < 0.55), int(rng.integers(0, 3))
    hired = int(rng.random() < (0.1, 0.35, 0.6)[education] + 0.3 * gender)
    return {
        "gender": gender,
        "education": min(2, education + gender * int(rng.random() < 0.4)),
        "region": int(rng.random() < 0.2 + 0.6 * gender),
        "given": hired,
    }


def main() -> None:
    parser = argparse.ArgumentParser(prog="scripts/dashboard-pictures")
    parser.add_argument(
        "--look", type=Path, metavar="FOLDER",
        help="in place of the documentation's pictures, write each page there as a whole, in both "
        "themes, 360 and 1440 pixels wide",
    )  # fmt: skip
    look = parser.parse_args().look
    with (
        TemporaryDirectory() as folder,
        dashboard_server(Path(folder)) as server,
        chromium() as browser,
    ):
        ids = with_results(server)
        documented = {
            name: (server.url + path.format(*ids), t) for name, (path, t) in PICTURES.items()
        }
        if look is None:
            for name, (address, theme) in documented.items():
                picture = FOLDER / f"dashboard-{name}.png"
                with window(browser, server.url, theme, WINDOW, out=name == "sign-in") as page:
                    page.goto(address)
                    page.screenshot(path=picture)
        else:
            wrong: dict[str, list[str]] = {}
            look.mkdir(parents=True, exist_ok=True)
            pages = {name: address for name, (address, _) in documented.items()}
            pages |= {name: server.url + path.format(*ids) for name, path in LOOKED_AT.items()}
            for width, size in WINDOWS.items():
                for theme in ("light", "dark"):
                    looking = Looking(browser, server.url, theme, width, size)
                    wrong |= look_at(pages, look, looking)
            sys.exit(f"{len(wrong)} pictures have something wrong" if wrong else 0)


@dataclass(frozen=True)
class Looking:
    """A window: its theme, and its width and size in pixels."""

    browser: Browser
    url: str
    theme: str
    width: int
    size: dict[str, int]


def look_at(pages: dict[str, str], folder: Path, looking: Looking) -> dict[str, list[str]]:
    """Write each page as a whole into a folder, and one sheet with all of them, side by side.

    Return by picture what is wrong with it: what axe-core finds, a page or a table that scrolls
    sideways in a narrow window.
    """
    pictures = []
    wrong: dict[str, list[str]] = {}
    for out in (False, True):
        with window(looking.browser, looking.url, looking.theme, looking.size, out=out) as page:
            page.set_default_timeout(LONGEST_SECONDS * 1000)
            for name, address in pages.items():
                if out != (name == "sign-in"):
                    continue
                picture = folder / f"{name}-{looking.theme}-{looking.width}.png"
                answer = page.goto(address)
                page.screenshot(path=picture, full_page=True)
                pictures.append(picture)
                found = violations(page) + page.evaluate(SIDEWAYS)
                if answer is not None and answer.status >= 500:
                    found.append(f"status {answer.status}")
                if found:
                    wrong[picture.stem] = found
    sheet = folder / f"sheet-{looking.theme}-{looking.width}.html"
    sheet.write_text(
        "<style>body{display:flex;flex-wrap:wrap;gap:12px;align-items:start}figure{margin:0}"
        "img{width:300px;border:1px solid}</style>"
        + "".join(
            f'<figure><img src="{one.name}" alt=""><figcaption>{one.stem}</figcaption></figure>'
            for one in pictures
        ),
        encoding="utf-8",
    )
    print(f"{looking.theme}, {looking.width} pixels: {len(pictures)} pages, {sheet}", flush=True)
    for name, found in wrong.items():
        print(f"{name}: {'; '.join(found)}", file=sys.stderr, flush=True)
    return wrong


def with_results(server: DashboardServer) -> list[str]:
    """Give a server models, an audit, a table, public results and a draft; return their ids."""
    models = [
        server.train("loan", folds=5, parameters={"n_estimators": trees}) for trees in (5, 60)
    ]
    hiring = {**LOAN_DRAFT, "name": "hiring", "title": "Who is hired?", "epsilon": "8"}
    server.fill(server.publish(hiring), 10_000, unlike)
    audit = server.ask("fairness", "hiring", parameters={"n_estimators": 40})
    table = server.ask("table", "hiring", attributes=["gender", "given", "education"])
    server.ask("shape", "hiring")
    server.fill(server.publish(KINDS), 1_500)
    server.work()
    server.publish_results("over", cross_tables=[["health", "region"]])
    draft = server.begin_draft({**WORK, "name": "work-2027", "title": "Work and health 2027"})
    return [*models, draft, audit, table]


@contextmanager
def window(
    browser: Browser, url: str, theme: str, size: dict[str, int], *, out: bool = False
) -> Iterator[Page]:
    """Give a page of a window, in which the administrator is signed in unless `out`."""
    context = browser.new_context(color_scheme=theme, viewport=size)
    page = context.new_page()
    if not out:
        page.goto(f"{url}/dashboard/")
        page.get_by_label("Name").fill("root")
        page.get_by_label("Password").fill(PASSWORD)
        page.locator("main").get_by_role("button", name="Sign in").click()
        page.get_by_role("button", name="Sign out").wait_for()
    try:
        yield page
    finally:
        context.close()


if __name__ == "__main__":
    main()
