"""How long people wait: for a plan, for a draft's page, for a question with very many answers.

Each figure stands beside the limit that was set for it. A command's time is that of a whole
process, from its start to its first line or to its end.
"""

from __future__ import annotations

import re
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import requests

from benchmarks.harness import REPEATS, Figure, against, announced, seconds
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.demo.processes import Server, run_command
from hushpoll_shared.drafts.yaml_writer import write_yaml
from hushpoll_shared.samples import SAMPLE_FILE, sample_manifest

PASSWORD = "correct horse battery staple"
RESPONDENTS = "20000"
CATEGORIES = 10_000
PAGES = 40
START_SECONDS = 120.0
SCALE_ENDS = ("never", "seldom", "sometimes", "often", "always")
DRAFT = {
    "name": "ten",
    "version": 1,
    "title": "Ten questions",
    "epsilon": "5",
    "split": "uniform",
    "protocol": "SS",
    "attributes": [
        {
            "name": f"question{number}",
            "role": "sensitive",
            "question": f"How often did this happen to you in month {number}?",
            "categories": list(SCALE_ENDS),
        }
        for number in range(1, 11)
    ],
}
FEW = 10


def waiting(scale: float) -> list[Figure]:
    """Time commands and pages, on a server with its worker."""
    with announced("waiting"), tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        found = _planning(folder)
        with Server(folder) as server, AnalystClient(server.url, server.token) as analyst:
            _add_user(folder)
            for categories in (CATEGORIES, FEW):
                _publish(folder, server, categories, max(200, round(2_000 * scale)))
            with requests.Session() as session:
                _sign_in(session, folder, server.url)
                found += _drafting(session, server.url)
                found.append(_page_of_many(session, server.url, analyst))
            found += _terminal_of_many(folder, server)
    return found


def _planning(folder: Path) -> list[Figure]:
    (folder / SAMPLE_FILE).write_text(sample_manifest(), encoding="utf-8")
    command = [sys.executable, "-m", "hushpoll_client", "plan", SAMPLE_FILE, "--n", RESPONDENTS]
    _first_and_last(command, folder)  # compiles modules
    times = [_first_and_last(command, folder) for _ in range(REPEATS)]
    verdict, whole = (statistics.median(column) for column in zip(*times, strict=True))
    shown = f"hushpoll plan survey.yaml --n {RESPONDENTS}"
    return [
        _limited(f"{shown}: the verdict", verdict, 1.0),
        _limited(f"{shown}: all of it", whole, 2.0),
    ]


def _first_and_last(command: list[str], folder: Path) -> tuple[float, float]:
    """Seconds until a command has printed its first line, and until it has ended."""
    began = time.perf_counter()
    with subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline().strip()
        first = time.perf_counter() - began
        process.stdout.read()
        assert process.wait() == 0
        return first, time.perf_counter() - began


def _name(categories: int) -> str:
    return f"of-{categories}"


def _publish(folder: Path, server: Server, categories: int, respondents: int) -> None:
    """Publish a survey of one question, and send its reports."""
    draft = {
        "name": _name(categories),
        "version": 1,
        "title": f"{categories} answers",
        "epsilon": "2",
        "release": "immediate",
        "attributes": [
            {"name": "postcode", "role": "sensitive", "protocol": "OLH", "range": [1, categories]}
        ],
    }
    file = f"{_name(categories)}.yaml"
    (folder / file).write_text(write_yaml(draft), encoding="utf-8")
    reach = ("--url", server.url, "--token", server.token)
    run_command(["survey", "publish", file, *reach], folder)
    answers = "".join(f"{1 + number % categories}\n" for number in range(respondents))
    (folder / "answers.csv").write_text(f"postcode\n{answers}", encoding="utf-8")
    play = ("simulate", "--manifest", file, "--data", "answers.csv", "--bulk")
    run_command([*play, *reach], folder)


def _add_user(folder: Path) -> None:
    (folder / "password").write_text(f"{PASSWORD}\n", encoding="utf-8")
    user = ("user", "add", "ada", "--role", "*=admin", "--password-file", "password")
    run_command([*user, "--database-url", "sqlite:///hushpoll.sqlite"], folder)


def _sign_in(session: requests.Session, folder: Path, url: str) -> None:
    until = time.monotonic() + START_SECONDS
    while session.get(f"{url}/ready", timeout=30).json().get("web") != "ok":
        assert time.monotonic() < until, f"the web process does not answer; see {folder}"
        time.sleep(0.2)
    signed = {"form_token": _token(session, f"{url}/dashboard/sign-in"), "name": "ada"}
    session.post(f"{url}/dashboard/sign-in", data=signed | {"password": PASSWORD}, timeout=60)


def _token(session: requests.Session, address: str) -> str:
    found = re.search(r'name="form_token" value="([^"]*)"', session.get(address, timeout=60).text)
    assert found is not None
    return found[1]


def _drafting(session: requests.Session, url: str) -> list[Figure]:
    """A page of ten questions as a browser gets it, and what then comes beside it."""
    new = f"{url}/dashboard/drafts/new"
    sent = {"form_token": _token(session, new), "from": "yaml", "yaml": write_yaml(DRAFT)}
    began = session.post(new, data=sent, timeout=60, allow_redirects=False)
    address = url + began.headers["Location"]

    def get(address: str) -> None:
        answer = session.get(address, timeout=60)
        assert answer.status_code == 200
        assert answer.text.count("How often did this happen") >= 10

    pages = sorted(seconds(lambda: get(address)) for _ in range(PAGES))
    beside = _median(lambda: get(f"{address}?beside=now"))
    return [
        _limited("a draft's page of ten questions, 95th percentile", pages[-PAGES // 20], 0.3),
        _limited("the same with plan and preview made within it", beside, 1.0),
    ]


def _page_of_many(session: requests.Session, url: str, analyst: AnalystClient) -> Figure:
    assert analyst.estimates(_name(CATEGORIES), 1)
    page = f"{url}/dashboard/surveys/{_name(CATEGORIES)}/versions/1/estimates"

    def get() -> None:
        answer = session.get(page, timeout=120)
        assert answer.status_code == 200
        assert "with smaller estimates" in answer.text

    return _limited(f"the page of a question of {CATEGORIES:,} categories", _median(get), 0.5)


def _terminal_of_many(folder: Path, server: Server) -> list[Figure]:
    """The command whole, and what so many categories add to one of few: Python starts, too."""
    reach = ["--url", server.url, "--token", server.token]
    many, few = (
        _median(lambda name=name: run_command(["estimate", name, "--version", "1", *reach], folder))
        for name in map(_name, (CATEGORIES, FEW))
    )
    shown = f"hushpoll estimate of {CATEGORIES:,} categories"
    return [
        _limited(shown, many, 0.5),
        _limited(f"{shown}, over one of {FEW}", max(many - few, 1e-3), 0.5),
    ]


def _median(action: Callable[[], object]) -> float:
    action()
    return statistics.median(seconds(action) for _ in range(REPEATS))


def _limited(name: str, taken: float, limit: float) -> Figure:
    return against(
        name, unit="ms", ours=taken * 1e3, peer=limit * 1e3, peer_name="limit", goal=1,
        repeats=REPEATS,
    )  # fmt: skip
