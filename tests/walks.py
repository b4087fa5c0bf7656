"""Walks a newcomer's ways by the README and the dashboard, and says how long each takes.

`fairness` goes from a checkout to a fairness table, by the README's first command. `answer` goes
from a checkout to the first survey that is answered in a browser, by what the start page for
teams says about installing, its block up to publishing, and the address that stands there.
`questionnaire` goes from a server to the results of a survey with a question of each kind, which is
written on the dashboard. `tasks` does what users want of a survey: a share and two comparisons
are read, one of which cannot be told; a privacy sheet of two pages is written, two questions of
three are published, and an app of Flask takes part, by what its page says. `import` brings a form
of another tool, publishes and answers it, and takes its records out with labels. With `--installed`
nothing is installed: the walks use the environment that runs this module.
"""

from __future__ import annotations

import argparse
import importlib
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from playwright.sync_api import Page

import tasks_walk
from dashboard_browser import chromium
from ports import free_port
from questionnaire_walk import PASSWORD, walk

ROOT = Path(__file__).resolve().parent.parent
FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ACTIVATE = ". .venv/bin/activate"
SERVER = "127.0.0.1:8000"
MARK = "walked so far"
QUESTION = "[data-select], [data-attribute]:not([data-kind=option])"
"""A question of the hosted page; the options of a select-all are one."""


def readme() -> str:
    return (ROOT / "README.md").read_text(encoding="utf-8")


def page(name: str) -> str:
    """A page of the documentation."""
    return (ROOT / "docs" / name).read_text(encoding="utf-8")


def first_command() -> str:
    """The README's first command."""
    return FENCE.search(readme())[2].split()[0]


def installing(*extras: str) -> str:
    """What the page on installing tells to do in a checkout, with further extras of the server."""
    (command,) = re.findall(r"`pip (install \. '\./server\[train\]')`;", page("how-to/install.md"))
    command = command.replace("[train]", f"[{','.join(('train', *extras))}]")
    return f"python3 -m venv .venv && .venv/bin/pip {command}"


def until_published() -> tuple[list[str], str]:
    """The lines of the start page for teams up to publishing, and the survey's address."""
    lines = [
        line
        for language, body in FENCE.findall(page("start/team.md"))
        if language == "sh"
        for line in body.splitlines()
        if line != ACTIVATE
    ]
    last = next(at for at, line in enumerate(lines) if "survey publish" in line)
    (address,) = re.findall(r"http://\S+/s/\S+", lines[last])
    return lines[: last + 1], address


def checkout(folder: Path) -> Path:
    """Copy what git knows of this checkout, as a clone has it."""
    names = subprocess.run(
        ["git", "ls-files", "-z"], cwd=ROOT, check=True, capture_output=True, text=True
    ).stdout
    for name in filter(None, names.split("\0")):
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, folder / name)
    return folder


def environment(port: int, *, installed: bool) -> dict[str, str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith("HUSHPOLL_")}
    path = clean["PATH"]
    if installed:
        path = f"{Path(sys.executable).parent}{os.pathsep}{path}"
    else:
        clean.pop("PYTHONPATH", None)
    return clean | {"PATH": path, "HUSHPOLL_PORT": str(port)}


def walk_to_fairness(*, installed: bool) -> float:
    """Return the seconds from a checkout to a fairness table."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder) if installed else checkout(Path(folder))
        command = "hushpoll demo" if installed else first_command()
        began = time.monotonic()
        done = subprocess.run(
            ["bash", "-c", command],
            cwd=place,
            env=environment(free_port(), installed=installed),
            capture_output=True,
            text=True,
        )
        seconds = time.monotonic() - began
    if done.returncode or "DI: disparate impact" not in done.stdout:
        raise SystemExit(f"{command} failed:\n{done.stdout[-2000:]}{done.stderr[-2000:]}")
    return seconds


def walk_to_an_answer(*, installed: bool) -> float:
    """Return the seconds from a checkout to a survey that is answered in a browser."""
    lines, address = until_published()
    port = free_port()
    if not installed:
        lines = [installing(), ACTIVATE, *lines]
    lines = [line.replace(SERVER, f"127.0.0.1:{port}") for line in lines]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = Path(folder) if installed else checkout(Path(folder))
        began = time.monotonic()
        with staying(lines, place, environment(port, installed=installed)):
            answer(browser.new_page(), address.replace(SERVER, f"127.0.0.1:{port}"))
            return time.monotonic() - began


@contextmanager
def staying(lines: list[str], place: Path, env: dict[str, str]) -> Iterator[None]:
    """Run lines in a shell that stays, and its server with it, until the end."""
    script = "\n".join(["set -euo pipefail", *lines, f"echo {MARK}", "wait"])
    shell = subprocess.Popen(
        ["bash", "-c", script],
        cwd=place,
        env=env,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        start_new_session=True,
    )
    said = []
    try:
        for line in shell.stdout:
            said.append(line)
            if line.strip() == MARK:
                break
        else:
            raise SystemExit("a block of the start page failed:\n" + "".join(said)[-4000:])
        yield
    finally:
        os.killpg(shell.pid, signal.SIGTERM)
        shell.communicate()


def answer(page: Page, address: str) -> None:
    """Answer every question of a hosted page, read what would be sent, and send it."""
    page.goto(address)
    # The form is there before its script: the button works once the page has checked the survey.
    review = page.get_by_role("button", name="See what would be sent")
    page.locator("#survey-form:not([hidden])").wait_for()
    for group in page.locator(f"#survey-form :is({QUESTION})").all():
        radios, menus = group.get_by_role("radio"), group.get_by_role("combobox")
        numbers, boxes = group.get_by_role("spinbutton"), group.get_by_role("checkbox")
        if not group.is_visible():  # a follow-up that is not asked
            continue
        if boxes.count():
            boxes.first.check()
        elif radios.count():
            # In the table of a matrix the answer's text lies over its button, and takes the click.
            radios.first.check(force=True)
        elif menus.count():
            menus.first.select_option(index=1)
        elif numbers.count():
            numbers.first.fill(numbers.first.get_attribute("min") or "20")
    review.click()
    page.get_by_role("button", name="Agree and send").click()
    page.get_by_role("heading", name="Your answers have arrived").wait_for()


def walk_a_questionnaire(*, installed: bool, respondents: int = 5000) -> float:
    """Return the seconds from a checkout to what a survey of every kind of question tells."""
    return on_a_server(walk, installed=installed, respondents=respondents)


def walk_an_import(*, installed: bool, respondents: int = 200) -> float:
    """Return the seconds from a checkout to the records of a form of another tool."""
    # It reads files of SPSS, for which this module need not have the library.
    imported = importlib.import_module("import_walk").walk
    return on_a_server(imported, "labels", installed=installed, respondents=respondents)


def walk_the_tasks(*, installed: bool, respondents: int = 3000) -> float:
    """Return the seconds from a checkout to the end of four tasks of users."""
    return on_a_server(tasks_walk.walk, "pdf", installed=installed, respondents=respondents)


def on_a_server(
    walked: Callable[..., list[str]], *extras: str, installed: bool, respondents: int
) -> float:
    """Return the seconds of a walk on a server, with these extras, whose user ada may do all."""
    port = free_port()
    lines = [] if installed else [installing(*extras), ACTIVATE]
    lines += [
        "hushpoll serve --admin-token-file admin-token &",
        "until [ -s admin-token ]; do sleep 0.1; done",
        f"echo {PASSWORD!r} > password; chmod 600 password",
        "hushpoll user add ada --role '*=admin' --password-file password",
    ]
    with tempfile.TemporaryDirectory() as folder, chromium() as browser:
        place = Path(folder) if installed else checkout(Path(folder))
        began = time.monotonic()
        with staying(lines, place, environment(port, installed=installed)):
            found = environment(port, installed=installed)
            if not installed:
                found["PATH"] = f"{place / '.venv' / 'bin'}{os.pathsep}{found['PATH']}"
            url = f"http://127.0.0.1:{port}"
            found |= {
                "HUSHPOLL_URL": url,
                "HUSHPOLL_TOKEN": (place / "admin-token").read_text(encoding="utf-8").strip(),
            }
            for line in walked(browser, url, place, found, respondents):
                print(line)
        return time.monotonic() - began


WALKS: dict[str, tuple[str, Callable[..., float]]] = {
    "answer": ("to the first survey answered in a browser", walk_to_an_answer),
    "fairness": ("to a fairness table", walk_to_fairness),
    "import": ("to the records of a form of another tool", walk_an_import),
    "questionnaire": (
        "to the results of a questionnaire that the dashboard made",
        walk_a_questionnaire,
    ),
    "tasks": ("to the end of four tasks of users", walk_the_tasks),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("walks", nargs="*", metavar="WALK", help=f"of {', '.join(WALKS)}; all")
    parser.add_argument("--installed", action="store_true", help="install nothing")
    given = parser.parse_args()
    for name in given.walks or WALKS:
        words, walk = WALKS[name]
        seconds = walk(installed=given.installed)
        start = "the installed environment" if given.installed else "a checkout"
        print(f"from {start} {words}: {seconds:.0f} s", flush=True)


if __name__ == "__main__":
    main()
