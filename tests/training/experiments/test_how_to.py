"""The how-to says what the command does."""

import re

from click.testing import CliRunner

from hushpoll_training.experiments.commands import experiment, run
from hushpoll_training.experiments.configuration import Experiment
from hushpoll_training.experiments.grid import tasks
from hushpoll_training.experiments.results import COLUMNS
from hushpoll_training.experiments.shipped import find


def test_the_how_to_names_keys_columns_and_configurations(root, settings):
    text = (root / "docs" / "how-to" / "rerun-the-paper.md").read_text(encoding="utf-8")
    assert CliRunner().invoke(experiment, ["configs"]).stdout in text
    keys = text.split("| key, and flag |")[1].split("\n\n")[0]
    named = set(re.findall("`([a-z_]+)`", re.sub(r"\| [^|]* \| [^|]* \|\n", "|\n", keys)))
    flags = {one.name for one in run.params} - {"config", "jobs", "out", "as_json"}
    assert named == flags
    columns = text.split("| columns | meaning |")[1].split("\n\n")[0]
    assert set(COLUMNS) <= set(re.findall("`([A-Za-z0-9_]+)`", columns))
    cells = len(tasks(Experiment.from_dict(find("adult") | {"data": "adult.csv"})))
    assert f"That is {cells:,} cells" in text
