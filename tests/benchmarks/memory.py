"""Memory of `hushpoll serve` with its worker: idle, and after the demo's survey.

The sum over all processes of what each has of its own and its share of what they have together
(Pss, of Linux). For the second figure 5,000 people answer; then come the estimates, a cross-table,
the pages of the dashboard, an export, and a report by the worker. Training is done elsewhere: it
takes memory of its own.
"""

from __future__ import annotations

import re
import tempfile
import time
from pathlib import Path

import psutil
import requests

from benchmarks.harness import Figure, against, announced
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.analyst.jobs import wait_for
from hushpoll_fleet.demo.processes import Server, run_command
from hushpoll_shared.drafts.manifest import load_manifest
from hushpoll_shared.samples import DEMO_FILE, demo_manifest

IDLE_LIMIT_MB = 320.0
MACHINE_LIMIT_MB = 512.0
IDLE_SECONDS = 5.0
START_SECONDS = 120.0
PASSWORD = "correct horse battery staple"
PAGES = ("", "/estimates", "/cross-tables", "/comparison", "/results", "/quality", "/report")


def keeping(scale: float) -> list[Figure]:
    """Start a server of its own and look at it; once, since memory is not noisy as time is."""
    with (
        announced("memory"),
        tempfile.TemporaryDirectory() as folder,
        Server(Path(folder)) as server,
        AnalystClient(server.url, server.token) as analyst,
    ):
        _await_web(server.url)
        time.sleep(IDLE_SECONDS)
        idle = _megabytes()
        _play(Path(folder), server, analyst, max(500, round(5000 * scale)))
        after = _megabytes()
    return [
        against(
            "memory of hushpoll serve and its worker, idle",
            unit="MB",
            ours=idle,
            peer=IDLE_LIMIT_MB,
            peer_name="limit",
            goal=1,
            repeats=1,
        ),
        against(
            "memory of hushpoll serve and its worker, after the demo's survey",
            unit="MB",
            ours=after,
            peer=MACHINE_LIMIT_MB,
            peer_name="limit",
            goal=1,
            repeats=1,
        ),
    ]


def _await_web(url: str) -> None:
    until = time.monotonic() + START_SECONDS
    while requests.get(f"{url}/ready", timeout=30).json().get("web") != "ok":
        assert time.monotonic() < until, "the web process does not answer"
        time.sleep(0.2)


def _megabytes() -> float:
    server = psutil.Process().children(recursive=True)
    return sum(process.memory_full_info().pss for process in server) / 1e6


def _play(folder: Path, server: Server, analyst: AnalystClient, respondents: int) -> None:
    (folder / DEMO_FILE).write_text(demo_manifest(), encoding="utf-8")
    name = load_manifest(folder / DEMO_FILE).name
    reach = ("--url", server.url, "--token", server.token)
    run_command(["survey", "publish", DEMO_FILE, *reach], folder)
    count = ("--respondents", str(respondents))
    run_command(
        ["simulate", "--manifest", DEMO_FILE, *count, "--seed", "1", "--url", server.url], folder
    )
    run_command(["estimate", name, *reach], folder)
    run_command(["export", name, "--out", "survey.records", *reach], folder)
    (folder / "password").write_text(f"{PASSWORD}\n", encoding="utf-8")
    user = ("user", "add", "demo", "--role", "*=admin", "--password-file", "password")
    run_command([*user, "--database-url", "sqlite:///hushpoll.sqlite"], folder)
    _look(server.url, f"{server.url}/dashboard/surveys/{name}/versions/1")
    job = wait_for(analyst.job, analyst.start_job("report", name, 1, {}), timeout=120)
    assert job.get("state") == "done", job


def _look(url: str, survey: str) -> None:
    with requests.Session() as session:
        form = session.get(f"{url}/dashboard/sign-in", timeout=60).text
        found = re.search(r'name="form_token" value="([^"]*)"', form)
        assert found is not None
        signed = {"form_token": found[1], "name": "demo", "password": PASSWORD}
        session.post(f"{url}/dashboard/sign-in", data=signed, timeout=60)
        for page in PAGES:
            answer = session.get(survey + page, timeout=120)
            assert answer.status_code == 200, (page, answer.status_code)
