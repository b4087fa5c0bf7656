"""Methods by accuracy and unfairness: means, intervals, and whom each method trusts."""

import json
import math
import re
import shutil

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner
from scipy.stats import ttest_1samp

from hushpoll_lab.cli.experiment import experiment
from hushpoll_lab.experiments.engine import run_experiment
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.results.summaries import Summary
from hushpoll_lab.experiments.results.trust import METRICS as SHOWN
from hushpoll_lab.experiments.results.trust import MethodTrust, draw_plane, placed_methods

FEW = {"n_estimators": 5}
METHODS = [
    {"name": "plain", "learner": "lightgbm", "params": FEW},
    {"name": "local", "learner": "lightgbm", "protocol": ["GRR", "OUE"], "epsilon": [3],
     "params": FEW},
    {"name": "local with parity", "learner": "lightgbm-parity", "protocol": "GRR", "epsilon": [3],
     "params": FEW},
    {"name": "central", "learner": "output-perturbation", "params": {"epsilon": 3}},
]  # fmt: skip


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("trust")
    rng = np.random.default_rng(1)
    sex, job, age = rng.integers(0, 2, 900), rng.integers(0, 6, 900), rng.integers(0, 40, 900)
    hired = (rng.random(900) < 0.2 + 0.3 * sex + 0.06 * job).astype(int)
    rows = np.column_stack([sex, job, age, hired])
    np.savetxt(
        folder / "people.csv", rows, fmt="%d", delimiter=",", header="sex,job,age,hired",
        comments="",
    )  # fmt: skip
    settings = {
        "name": "small", "data": str(folder / "people.csv"), "target": "hired", "protected": "sex",
        "sensitive": ["sex"], "seeds": "0-1", "methods": METHODS,
    }  # fmt: skip
    run_experiment(MethodsExperiment.from_dict(settings), folder / "run", jobs=1)
    return folder / "run"


def test_table_names_epsilon_trust_and_neighbours_of_each_method(run, tmp_path):
    found = CliRunner().invoke(experiment, ["trust", str(run), "--out", str(tmp_path), "--json"])
    assert found.exit_code == 0, found.output
    assert len(json.loads(found.output)["files"]) == 2
    lines = (tmp_path / "small.md").read_text().splitlines()[8:]
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    assert [row[0] for row in cells] == [
        "plain", "local, GRR", "local, OUE", "local with parity, GRR", "central",
    ]  # fmt: skip
    assert all(row[1] == "2" and "±" in row[2] for row in cells)
    plain, local, _, parity, central = (row[5:] for row in cells)
    assert plain[0] == "nothing"
    assert local[:2] == ["ε 3 of each person, locally", "nobody the perturbed ones; the server the others"]  # noqa: E501  # fmt: skip
    assert "any two answers" in local[2]
    assert "ε 0.1 for the people of the rates" in parity[0]
    assert "a curator all of those 33% of the people" in parity[1]
    assert "the person who predicts sees each group" in parity[1]
    assert central[0] == "ε 3, δ 1e-05 of the model, centrally"
    assert central[2] == "replace one row"


def test_figure_marks_each_method_and_protocol_once_and_is_the_same_again(run, tmp_path):
    for name in ("one", "two"):
        found = CliRunner().invoke(experiment, ["trust", str(run), "--out", str(tmp_path / name)])
        assert found.exit_code == 0, found.output
    svg = (tmp_path / "one" / "small.svg").read_text()
    assert (tmp_path / "two" / "small.svg").read_text() == svg
    for mark in ("plain:none", "local:GRR", "local:OUE", "local with parity:GRR", "central:none"):
        assert f'id="method:{mark}"' in svg


def test_runs_of_other_methods_join_the_page_and_other_data_are_refused(run, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(run, other)
    description = json.loads((other / "experiment.json").read_text())
    for method in description["configuration"]["methods"]:
        method["name"] += " again"
    (other / "experiment.json").write_text(json.dumps(description))
    results = other / "results.csv"
    header, *rows = results.read_text().splitlines()
    named = [row.replace(",", " again,", 1) for row in rows]
    results.write_text("\n".join([header, *named, ""]))
    arguments = ["trust", str(run), str(other), "--out", str(tmp_path)]
    done = CliRunner().invoke(experiment, arguments)
    assert done.exit_code == 0, done.output
    lines = (tmp_path / "small.md").read_text().splitlines()[8:]
    assert len(lines) == 10
    assert lines[9] == lines[4].replace("central |", "central again |")
    description["data"]["sha256"] = "00"
    (other / "experiment.json").write_text(json.dumps(description))
    assert "is of other data than" in CliRunner().invoke(experiment, arguments).output


def test_methods_of_one_name_are_told_apart_by_epsilon():
    columns = {"delta": 0.0, "accuracy": 0.5, "SPD": 0.1, "EOD": 0.1}
    local = {"method": "local", "protocol": "GRR", "epsilon": math.inf}
    central = {"method": "central", "protocol": "none", "local_epsilon": math.inf}
    results = pd.DataFrame(
        [
            {**columns, **local, "local_epsilon": 1.0},
            {**columns, **local, "local_epsilon": 3.0, "accuracy": 0.6},
            {**columns, **central, "epsilon": 1.0, "accuracy": 0.7},
            {**columns, **central, "epsilon": 3.0, "accuracy": 0.8},
        ]
    )
    methods = [
        {"name": "local", "learner": "lightgbm", "protocol": "GRR", "epsilon": epsilon,
         "privacy": {"kind": "none"}}
        for epsilon in ("1", "3")
    ] + [
        {"name": "central", "learner": "fairfm", "protocol": "none", "epsilon": "inf",
         "privacy": {"kind": "central", "epsilon": epsilon, "neighbours": "one row"}}
        for epsilon in (1.0, 3.0)
    ]  # fmt: skip
    placed = placed_methods(results, {"methods": methods})
    assert [item.means["accuracy"].mean for item in placed] == [0.5, 0.6, 0.7, 0.8]
    assert [item.spent for item in placed] == [
        "ε 1 of each person, locally", "ε 3 of each person, locally",
        "ε 1 of the model, centrally", "ε 3 of the model, centrally",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "epsilon"),
    [({"noiseless": True}, math.inf), ({"protocol": "GRR", "epsilon": "3"}, math.inf), ({}, 0.1)],
)
def test_method_is_placed_where_results_claim_another_epsilon_than_its_learner(change, epsilon):
    """Guards: a baseline without noise, or on perturbed records, was left out without a word."""
    method = {
        "name": "m", "learner": "output-perturbation", "protocol": "none", "epsilon": "inf",
        "privacy": {"kind": "central", "epsilon": 0.1 + 1e-12, "neighbours": "one row"}, **change,
    }  # fmt: skip
    row = {"method": "m", "protocol": method["protocol"], "local_epsilon": float(method["epsilon"])}
    figures = {"epsilon": epsilon, "delta": 0.0, "accuracy": 0.5, "SPD": 0.1, "EOD": 0.1}
    [item] = placed_methods(pd.DataFrame([{**row, **figures}]), {"methods": [method]})
    assert item.means["accuracy"].mean == 0.5


def test_figure_has_a_mark_of_its_own_for_each_of_twenty_methods():
    means = dict.fromkeys(SHOWN, Summary.of([0.45, 0.55]))
    placed = [MethodTrust(f"m{count}", "none", means, 2, "", "", "") for count in range(20)]
    svg = draw_plane(placed, "many").decode()
    groups = re.split(r'<g id="method:(m\d+):none">', svg)
    marks = {
        name: re.search(r'xlink:href="(#\w+)".* style="([^"]*)"', group).groups()
        for name, group in zip(groups[1::2], groups[2::2], strict=True)
        if "<use" in group.split("</g>")[0]
    }
    assert len(marks) == len(set(marks.values())) == 20


def test_results_of_a_grid_are_refused(tmp_path):
    (tmp_path / "experiment.json").write_text('{"kind": "experiment", "configuration": {}}')
    found = CliRunner().invoke(experiment, ["trust", str(tmp_path), "--out", str(tmp_path)])
    assert found.exit_code == 1
    assert "of no experiment on methods" in found.output


def test_interval_is_student_s():
    values = [0.8, 0.82, 0.79, 0.83]
    low, high = ttest_1samp(values, 0).confidence_interval(0.95)
    mean = Summary.of(values)
    assert (mean.mean - mean.half, mean.mean + mean.half) == pytest.approx((low, high))
    assert Summary.of([0.5]).half is None
