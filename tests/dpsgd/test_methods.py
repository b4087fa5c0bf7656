"""A small cell of an experiment on methods with DP-SGD and parity."""

import re
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_lab.experiments.methods.run import run_trial

SETTINGS = {
    "dataset": "synthetic",
    "options": {"rows": 3000},
    "seeds": 0,
    "test_size": 0.25,
    "methods": [
        {
            "name": "Algorithm 2",
            "learner": "dpsgd-parity",
            "params": {"rate_epsilon": 0.5, "epochs": 5, "batch_size": 100, "learning_rate": 0.5},
            "grid": {"epsilon": [8], "accountant": ["rdp", "gdp"]},
        },
        {
            "name": "DP-SGD on records",
            "learner": "dpsgd",
            "params": {"epochs": 5, "batch_size": 100, "learning_rate": 0.5, "accountant": "rdp"},
            "protocol": "GRR",
            "epsilon": 4,
        },
    ],
}


def test_cells_with_dpsgd_learn_and_say_what_they_spend():
    experiment = MethodsExperiment.from_dict(SETTINGS)
    rows = experiment.source.load()
    clear, _, records = experiment.trials()
    spent = ("none", "none", "inf", "9", "1e-05", "rdp", 0)
    assert clear == Trial("Algorithm 2", *spent)
    # what the learner of records itself promises is not about answers, which it has not seen
    assert records[1:7] == ("GRR", "uniform", "4", "inf", "0", "none")
    result = run_trial(experiment, rows, clear)
    assert result["metrics"]["over_constant"] > 0.05
    assert result["metrics"]["parity_gap"] < 0.15
    assert run_trial(experiment, rows, clear)["metrics"] == result["metrics"]
    assert run_trial(experiment, rows, records)["metrics"]["over_constant"] > 0.05


def test_the_page_says_what_the_papers_noise_spends():
    page = Path(__file__).parents[2] / "docs" / "how-to" / "rerun-private-parity.md"
    text = page.read_text(encoding="utf-8")
    [code] = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    [printed] = re.findall(r"```text\n(.*?)```", text, re.DOTALL)
    with redirect_stdout(StringIO()) as out:
        exec(code, {})
    assert out.getvalue() == printed
