"""A running server with surveys of every kind and two users, for browsers and pictures."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import requests

from hushpoll_fleet.demo.processes import Server
from hushpoll_protocols import SecureBits
from hushpoll_server.config.settings import Settings
from hushpoll_server.jobs.runner import Runner
from hushpoll_server.services.people.users import Users
from hushpoll_server.services.services import Services
from hushpoll_server.store.database import Database
from hushpoll_server.store.users import UserStore
from hushpoll_shared.spelling.clock import SystemClock
from hushpoll_shared.survey.published import Published
from hushpoll_shared.wire import reports as wire
from lent_processes import JobProcesses
from waiting import LONGEST_SECONDS, wait_until

PASSWORD = "correct horse battery"
MARKUP = '<script>document.title = "broken"</script><b>bold</b>'
HOSTILE = [MARKUP, "=HYPERLINK(1)", "+1", "@x", "שלום עולם", "شاهد الفيديو", "a\"b'c&d"]
SENSITIVE = {"role": "sensitive", "protocol": "OUE"}
WORK = {
    "name": "work-and-health",
    "title": "Work and health 2026",
    "description": "How people work, and how they feel about it.",
    "epsilon": "4",
    "release": "immediate",
    "attributes": [
        {
            "name": "health",
            **SENSITIVE,
            "question": "How is your health in general?",
            "categories": ["Very good", "Good", "Fair", "Bad"],
            "missing": "Prefer not to say",
        },
        {"name": "smoker", **SENSITIVE, "question": "Do you smoke?", "categories": ["No", "Yes"]},
        {
            "name": "income",
            **SENSITIVE,
            "question": "Monthly income of your household?",
            "categories": [f"{low} to {low + 1000} euro" for low in range(0, 8000, 1000)],
        },
        {
            "name": "region",
            "role": "plain",
            "question": "Where do you live?",
            "categories": ["North", "East", "South", "West"],
        },
    ],
}
LARGE = {
    "name": "large",
    "title": "Five hundred categories",
    "epsilon": "4",
    "release": "immediate",
    "attributes": [
        {"name": "place", **SENSITIVE, "categories": [f"Place {n:03}" for n in range(500)]},
        {"name": "kind", "role": "plain", "categories": [f"Kind {n}" for n in range(40)]},
    ],
}
ODD = {
    "name": "odd",
    "title": MARKUP,
    "description": MARKUP,
    "epsilon": "2",
    "release": "immediate",
    "attributes": [
        {"name": "odd", **SENSITIVE, "question": MARKUP, "categories": HOSTILE},
        {"name": "other", "role": "plain", "categories": ["شاهد", "=1+1"]},
    ],
}
LOAN = {
    "name": "loan",
    "title": "Who is given a loan?",
    "description": "A survey with a target, to train on.",
    "epsilon": "4",
    "release": "immediate",
    "attributes": [
        {"name": "gender", **SENSITIVE, "categories": ["Female", "Male"]},
        {"name": "education", **SENSITIVE, "categories": ["low", "middle", "high"]},
        {"name": "region", "role": "plain", "categories": ["North", "South"]},
        {"name": "given", "role": "target", "categories": ["no", "yes"], "positive": "yes"},
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
}
OVER = {**WORK, "name": "over", "title": "Work and health 2025"}
SMALL = [{"name": "q", **SENSITIVE, "categories": ["no", "yes"]}]
FEW = {"name": "few", "title": "Too few reports", "epsilon": "1", "attributes": SMALL}
DAILY = {"name": "daily", "title": "Nothing released yet", "epsilon": "1", "attributes": SMALL}


def independent(published: Published, rng: np.random.Generator) -> dict[str, int]:
    """Return a respondent's answers; early categories are the likelier ones."""
    return {one.name: int(one.k * rng.beta(1.2, 2.5)) for one in published.attributes}


class DashboardServer:
    """A running server; `publish` and `fill` give it surveys and reports."""

    def __init__(self, server: Server, folder: Path) -> None:
        self.url = server.url
        self._folder = folder
        self._jobs = JobProcesses()
        self._session = requests.Session()
        self._session.headers["Authorization"] = f"Bearer {server.token}"

    def publish(self, draft: dict[str, Any], **more: Any) -> Published:
        answer = self._session.post(
            f"{self.url}/api/v1/surveys?allow_weak=true",
            json={"version": 1, **draft, **more},
            timeout=LONGEST_SECONDS,
        )
        assert answer.status_code == 201, answer.text
        return Published.from_json(answer.json()["manifest"])

    def begin_draft(self, manifest: dict[str, Any]) -> str:
        """Keep a manifest as a draft; return its id."""
        answer = self._session.post(
            f"{self.url}/api/v1/drafts",
            json={"manifest": {"version": 1, **manifest}},
            timeout=LONGEST_SECONDS,
        )
        assert answer.status_code == 201, answer.text
        return str(answer.json()["id"])

    def fill(
        self,
        published: Published,
        count: int,
        draw: Callable[[Published, np.random.Generator], dict[str, int]] = independent,
    ) -> None:
        rng = np.random.default_rng(1)
        reports = []
        for _ in range(count):
            codes = draw(published, rng)
            record = published.layout.encode(codes, SecureBits())
            reports.append(wire.Report(wire.new_report_id(), record))
        answer = self._session.post(
            f"{self.url}/api/v1/surveys/{published.name}/reports",
            data=wire.pack_reports(published.digest, reports),
            headers={"Content-Type": wire.REPORTS_MEDIA_TYPE},
            timeout=LONGEST_SECONDS,
        )
        assert answer.json()["accepted"] == count, answer.text

    def end(self, name: str) -> None:
        """Close a survey, and wait until all of it is released."""
        path = f"{self.url}/api/v1/surveys/{name}/versions/1"
        answer = self._session.post(
            f"{path}/close", json={"grace_seconds": 0}, timeout=LONGEST_SECONDS
        )
        assert answer.status_code == 200, answer.text
        wait_until(
            lambda: self._session.get(f"{path}/overview", timeout=LONGEST_SECONDS).json()["sealed"]
        )

    def publish_results(self, name: str, **choices: Any) -> None:
        """Let everybody read the results of a survey that is over."""
        answer = self._session.post(
            f"{self.url}/api/v1/surveys/{name}/versions/1/public-results",
            json=choices,
            timeout=LONGEST_SECONDS,
        )
        assert answer.status_code == 201, answer.text

    def train(self, name: str, **body: Any) -> str:
        """Ask for a training, for a worker to do."""
        return self.ask("train", name, **body)

    def ask(self, kind: str, name: str, **body: Any) -> str:
        """Ask for a job, for a worker to do."""
        answer = self._session.post(
            f"{self.url}/api/v1/surveys/{name}/versions/1/jobs/{kind}",
            json=body,
            timeout=LONGEST_SECONDS,
        )
        assert answer.status_code == 202, answer.text
        return str(answer.json()["id"])

    def work(self) -> None:
        """Do the jobs that wait, in this process, as a worker does; each is forked."""
        settings = Settings(database_url=f"sqlite:///{self._folder}/hushpoll.sqlite")
        services = Services(settings)
        with self._jobs.lent():
            Runner(services).run_waiting()
        services.stop()

    def add_user(self, name: str, **roles: str) -> None:
        database = Database(f"sqlite:///{self._folder}/hushpoll.sqlite", pool_size=1)
        held = {("*" if survey == "every" else survey): role for survey, role in roles.items()}
        Users(UserStore(database), SystemClock()).add(name, PASSWORD, held)
        database.close()

    def close(self) -> None:
        self._session.close()
        self._jobs.stop()


@contextmanager
def dashboard_server(folder: Path) -> Iterator[DashboardServer]:
    """A server with the surveys above; `root` administers, `reader` may export two of them.

    `analyst` may train on the survey `loan`.
    """
    with Server(folder, options=("--seal-idle-seconds", "0.5", "--no-worker")) as running:
        server = DashboardServer(running, folder)
        try:
            server.fill(server.publish(WORK), 3000)
            server.fill(server.publish(LARGE), 2000)
            server.fill(server.publish(ODD), 1000)
            server.fill(server.publish(FEW, release="immediate"), 3)
            server.publish(DAILY, release="daily")
            server.fill(server.publish(OVER), 1000)
            server.end("over")
            server.fill(server.publish(LOAN), 1500)
            server.add_user("root", every="admin")
            server.add_user("analyst", loan="analyst")
            server.add_user("reader", large="analyst", **{"work-and-health": "analyst"})
            yield server
        finally:
            server.close()
