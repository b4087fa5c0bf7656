"""The tutorial's commands and code run, in order, and print what it says they print."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from hushpoll_fleet.demo.processes import Server
from waiting import LONGEST_SECONDS

TUTORIAL = Path(__file__).parents[2] / "docs" / "tutorial" / "first-survey.md"
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
# The reader's client waits 5 seconds, for which a busy machine may have something else to do.
PATIENT = f"""
from hushpoll_client import ClientConfig, SurveyClient
ClientConfig.__init__.__kwdefaults__["wait"] = {LONGEST_SECONDS}
SurveyClient.__init__.__kwdefaults__["config"] = ClientConfig()
"""


def blocks() -> Iterator[tuple[str, str]]:
    for match in FENCE.finditer(TUTORIAL.read_text(encoding="utf-8")):
        yield match[1], match[2]


def commands(block: str) -> Iterator[tuple[str, str]]:
    """Each command with the output that the page shows for it."""
    for part in re.split(r"^\$ ", block, flags=re.MULTILINE)[1:]:
        command, _, expected = part.partition("\n")
        yield command, expected


def matches(expected: str, output: str) -> bool:
    pattern = ".*".join(re.escape(part.strip("\n")) for part in expected.split("..."))
    return re.match(pattern, output, re.DOTALL) is not None


@pytest.fixture
def server(tmp_path) -> Iterator[Server]:
    with Server(tmp_path) as started:
        yield started


def test_the_tutorial_runs(server, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    environment = dict(os.environ)
    hushpoll = [sys.executable, "-m", "hushpoll_client"]
    ran = []

    def run(command: list[str]) -> str:
        done = subprocess.run(
            command,
            env=environment,
            capture_output=True,
            text=True,
            timeout=LONGEST_SECONDS,
            check=False,
        )
        assert done.returncode == 0, done.stderr
        return done.stdout

    for language, block in blocks():
        if language == "yaml":
            Path("commute.yaml").write_text(block, encoding="utf-8")
        elif language == "python":
            out = run([sys.executable, "-c", PATIENT + block])
            assert "town (Do you live in a town?): yes" in out
            assert "Bicycle" not in out
            assert out.endswith("accepted\n")
            ran.append("python")
        elif language == "console":
            for command, expected in commands(block):
                match shlex.split(command):
                    case ["hushpoll", "serve", *_]:
                        pass  # the fixture has started it, on a free port
                    case ["export", *_]:
                        environment["HUSHPOLL_URL"] = server.url
                        environment["HUSHPOLL_TOKEN"] = server.token
                    case ["hushpoll", *arguments]:
                        out = run([*hushpoll, *arguments])
                        assert matches(expected, out), out
                        ran.append(arguments[0])
                    case other:
                        pytest.fail(f"the tutorial has the command {other}")
    assert ran == ["survey", "survey", "python", "simulate", "estimate", "export"]
