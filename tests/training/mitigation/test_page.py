"""The page on mitigation: its snippets print what it says, its commands have their options."""

import importlib
import io
import re
import shlex
import warnings
from contextlib import redirect_stdout

import pytest

from hushpoll_client.cli.commands import COMMANDS, Group
from hushpoll_training.learner_registry import LEARNERS

FENCE = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
NUMBER = re.compile(r"-?\d+\.\d+")


@pytest.fixture(scope="module")
def blocks(root):
    page = (root / "docs" / "explanation" / "mitigation.md").read_text(encoding="utf-8")

    def of(language):
        return [body for found, body in FENCE.findall(page) if found == language]

    return of


def test_snippets_print_what_the_page_says(blocks, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    program = compile("\n".join(blocks("python")), "mitigation.md", "exec")
    with redirect_stdout(io.StringIO()) as shown, warnings.catch_warnings(action="ignore"):
        exec(program, {"__name__": "__main__"})
    printed, said = shown.getvalue(), "".join(blocks("text"))
    assert NUMBER.sub("", printed) == NUMBER.sub("", said)
    # other versions of the libraries may round otherwise
    numbers = [[float(one) for one in NUMBER.findall(text)] for text in (printed, said)]
    assert numbers[0] == pytest.approx(numbers[1], abs=0.03)


def test_commands_have_the_options_and_learners_that_are_shown(blocks):
    lines = [shlex.split(line[2:]) for block in blocks("console") for line in block.splitlines()]
    lines = [line for line in lines if line[0] != "scripts/coverage-study"]
    assert len(lines) == 4
    for program, name, *arguments in lines:
        assert program == "hushpoll"
        row = COMMANDS[name]
        if isinstance(row, Group):
            row = row.commands[arguments[0]]
        module, _, attribute = row.target.partition(":")
        command = getattr(importlib.import_module(module), attribute)
        command = getattr(command, "commands", {}).get(arguments[0], command)
        known = {option for one in command.params for option in one.opts}
        assert {one for one in arguments if one.startswith("--")} <= known
        (learner,) = [one for one in arguments if one.removeprefix("learner=") in LEARNERS]
        parameters = LEARNERS[learner.removeprefix("learner=")].bounds
        chosen = [one.partition("=")[0] for one in arguments if "=" in one]
        assert set(chosen) - {"learner"} <= set(parameters)
