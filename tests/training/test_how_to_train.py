"""The how-to's snippet runs, and its commands have the options that it shows."""

import importlib
import re
import shlex
import subprocess
import sys

import pytest

from hushpoll_client.cli.commands import COMMANDS, Group
from hushpoll_training import load_model
from waiting import LONGEST_SECONDS

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs" / "how-to" / "train.md").read_text(encoding="utf-8")


def blocks(text, language):
    return [body for found, body in FENCE.findall(text) if found == language]


def test_the_snippet_trains_and_saves(page, survey, people, perturbed, write_records, tmp_path):
    published = survey(epsilon="4", target={"protocol": "GRR"})
    write_records(tmp_path / "all.records", published, perturbed(published, people(600)))
    (snippet,) = blocks(page, "python")

    done = subprocess.run(
        [sys.executable, "-W", "error", "-c", snippet],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert "gender=Female" in done.stdout
    assert load_model(tmp_path / "run").features.encoding.name == "posterior"


def test_every_option_shown_exists(page):
    lines = [
        shlex.split(line[2:])
        for block in blocks(page, "console")
        for line in block.splitlines()
        if line.startswith("$ ")
    ]
    assert len(lines) == 11
    for program, name, *arguments in lines:
        assert program == "hushpoll"
        row = COMMANDS[name]
        if isinstance(row, Group):
            row = row.commands[arguments[0]]
        module, _, attribute = row.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        known = {option for one in command.params for option in one.opts}
        for option in arguments:
            if option.startswith("--"):
                assert option in known, f"{option} is no option of {name}"
