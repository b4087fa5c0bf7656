"""Pictures of the dashboard for the documentation; scripts/dashboard-pictures runs it."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
from playwright.sync_api import sync_playwright

from dashboard_server import LOAN as LOAN_DRAFT
from dashboard_server import PASSWORD, WORK, dashboard_server
from hushpoll_shared.survey.published import Published

FOLDER = Path(__file__).resolve().parents[1] / "docs" / "images"
SURVEY = "/dashboard/surveys/work-and-health/versions/1"
LOAN = "/dashboard/surveys/loan/versions/1"
HIRING = "/dashboard/surveys/hiring/versions/1"
PICTURES = {
    "surveys": ("/dashboard/", "light"),
    "survey": (SURVEY, "dark"),
    "estimates": (f"{SURVEY}/estimates", "light"),
    "cross-tables": (f"{SURVEY}/cross-tables?a=health&b=income", "dark"),
    "draft": ("/dashboard/drafts/{2}?n=20000", "light"),
    "report": ("/dashboard/surveys/over/versions/1/report", "light"),
    "public": ("/results/over", "dark"),
    "models": (f"{LOAN}/models", "light"),
    "comparison": (f"{LOAN}/models/compare?model={{0}}&model={{1}}", "dark"),
    "audit": (f"{HIRING}/fairness/{{3}}#of-metrics", "light"),
    "quality": (f"{HIRING}/quality", "dark"),
    "weighted": (f"{SURVEY}/weighted?of=smoker&by=region&a0=40&a1=25&a2=20&a3=15", "light"),
}


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
    program = os.environ.get("CHROMIUM") or shutil.which("chromium")
    if program is None:
        sys.exit("Chromium is missing; apt-get install chromium, or set CHROMIUM to its path")
    with (
        TemporaryDirectory() as folder,
        dashboard_server(Path(folder)) as server,
        sync_playwright() as playwright,
    ):
        models = [
            server.train("loan", folds=5, parameters={"n_estimators": trees}) for trees in (5, 60)
        ]
        hiring = {**LOAN_DRAFT, "name": "hiring", "title": "Who is hired?", "epsilon": "8"}
        server.fill(server.publish(hiring), 10_000, unlike)
        audit = server.ask("fairness", "hiring", parameters={"n_estimators": 40})
        server.ask("shape", "hiring")
        server.work()
        server.publish_results("over", cross_tables=[["health", "region"]])
        draft = server.begin_draft({**WORK, "name": "work-2027", "title": "Work and health 2027"})
        browser = playwright.chromium.launch(
            executable_path=program, args=["--no-sandbox", "--disable-gpu"]
        )
        for name, (address, theme) in PICTURES.items():
            path = address.format(*models, draft, audit)
            context = browser.new_context(
                color_scheme=theme, viewport={"width": 1280, "height": 860}
            )
            page = context.new_page()
            page.goto(f"{server.url}/dashboard/")
            page.get_by_label("Name").fill("root")
            page.get_by_label("Password").fill(PASSWORD)
            page.locator("main").get_by_role("button", name="Sign in").click()
            page.get_by_role("button", name="Sign out").wait_for()
            page.goto(server.url + path)
            page.screenshot(path=FOLDER / f"dashboard-{name}.png")
            context.close()
        browser.close()


if __name__ == "__main__":
    main()
