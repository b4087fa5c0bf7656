"""The how-to says what the command does."""

import re
import shlex
from itertools import pairwise

import click
import pytest
from click.testing import CliRunner

from hushpoll_lab.cli.data import data
from hushpoll_lab.cli.experiment import experiment, run
from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.grid import tasks
from hushpoll_lab.experiments.results.results import COLUMNS
from hushpoll_lab.experiments.shipped import find
from hushpoll_training.cli.tune import tune_command


def test_the_how_to_names_keys_columns_and_configurations(root, settings):
    text = (root / "docs" / "how-to" / "rerun-the-paper.md").read_text(encoding="utf-8")
    assert CliRunner().invoke(experiment, ["configs"]).stdout in text
    keys = text.split("| key, and flag |")[1].split("\n\n")[0]
    named = set(re.findall("`([a-z_]+)`", re.sub(r"\| [^|]* \| [^|]* \|\n", "|\n", keys)))
    flags = {one.name for one in run.params} - {"config", "jobs", "dask", "out", "as_json"}
    assert named == flags
    columns = text.split("| columns | meaning |")[1].split("\n\n")[0]
    assert set(COLUMNS) <= set(re.findall("`([A-Za-z0-9_]+)`", columns))
    cells = len(tasks(Experiment.from_dict(find("adult") | {"data": "adult.csv"})))
    assert f"That is {cells:,} cells" in text


@pytest.mark.parametrize(("page", "least"), [("rerun-the-paper", 16), ("rerun-private-parity", 4)])
def test_the_how_to_s_commands_are_understood(root, page, least):
    text = (root / "docs" / "how-to" / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```console\n(.*?)```", text, re.DOTALL)
    lines = [line for block in blocks for line in re.sub(r"\\\n", " ", block).splitlines()]
    commands = [shlex.split(line.removeprefix("$ ")) for line in lines if line.startswith("$ ")]
    assert len(commands) >= least
    roots = {"experiment": experiment, "data": data, "tune": tune_command}
    for program, name, *given in commands:
        assert program == "hushpoll"
        command = roots[name]
        if isinstance(command, click.Group):
            command = command.commands[given.pop(0)]
        options = {flag: one for one in command.params for flag in one.opts}
        for flag, value in pairwise([*given, ""]):
            if flag.startswith("--"):
                assert flag in options, (name, flag)
                if isinstance(options[flag].type, click.Choice):
                    assert value in options[flag].type.choices
