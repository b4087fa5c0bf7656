"""The table of methods beside a paper's figures."""

import csv
import json
import math
from io import StringIO

import pytest
from click.testing import CliRunner

from hushpoll_lab.cli.experiment import experiment as command
from hushpoll_lab.experiments import shipped
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_lab.experiments.methods.run import METRICS
from hushpoll_lab.experiments.results.paper import paper_names, read_paper
from hushpoll_lab.experiments.results.results import TIMINGS, write_results
from hushpoll_protocols.errors import InvalidParameter

PAPER = "ghoukasian-asoodeh"
TABLES = {
    "adult-published": ["II", "III", "VI", "VII", "X", "XI"],
    "credit-card": ["IV", "V", "VIII", "IX", "XII", "XIII"],
}


@pytest.fixture
def run(tmp_path):
    """The folder of a run of Algorithm 2 on Adult by one accountant, two trials; made up."""
    timings = {"perturb": 0.0, "fit": 1.0, "score": 0.1}
    cells = {}
    for seed, accuracy in enumerate((0.77, 0.78)):
        metrics = {**dict.fromkeys(METRICS, 0.5), "accuracy": accuracy, "parity_gap": 0.02}
        trial = Trial("Algorithm 2", "none", "none", "inf", "3", "1e-05", "prv", seed)
        cells[trial] = {"metrics": metrics, "timings": timings}
    write_results(tmp_path, cells, Trial)
    description = {
        "kind": "methods",
        "configuration": {"dataset": "adult-published", "name": "x"},
        "data": {"rows": 4, "sha256": "ab"},
        "versions": {},
    }
    (tmp_path / "experiment.json").write_text(json.dumps(description))
    return tmp_path


def table(*arguments):
    return CliRunner().invoke(command, ["table", *map(str, arguments)])


def test_page_has_each_table_with_ours_or_not_run(run):
    out = run / "page" / "adult.md"
    done = table(run, "--paper", PAPER, "--title", "Adult", "--out", out, "--made-by", "run it")
    assert done.exit_code == 0, done.output
    page = out.read_text()
    assert [f"## Table {number}\n" in page for number in TABLES["adult-published"]] == [True] * 6
    assert "1 of 2 means that have a limit keep it." in page
    assert (
        "| 0.7763 | 0.7750 ± 0.0050 | -0.0013 | 0.0074 | 0.0200 ± 0.0000 | +0.0126 | no |" in page
    )
    assert "| DP-FERMI, fairness=1.8 | 3 |  | not run | 0.7770 | not run |  |" in page
    beside = list(csv.DictReader(StringIO((out.parent / "adult-beside.csv").read_text())))
    assert len(beside) == 72
    assert (beside[0]["ours"], beside[0]["standard_error"]) == ("0.77500", "0.00500")
    assert [row["within"] for row in beside[:2]] == ["yes", "no"]
    assert {row["ours"] for row in beside[2:]} == {""}
    [ours] = csv.DictReader(StringIO((out.parent / "adult.csv").read_text()))
    assert (ours["trials"], ours["accuracy_mean"], ours["epsilon"]) == ("2", "0.77500", "3")


def test_runs_of_other_methods_join_the_table_and_other_data_is_refused(run, tmp_path_factory):
    other = tmp_path_factory.mktemp("other")
    trial = Trial("DP-FERMI, fairness=1.8", "none", "none", "inf", "3", "1e-05", "stated", 0)
    cell = {"metrics": dict.fromkeys(METRICS, 0.75), "timings": dict.fromkeys(TIMINGS, 0.0)}
    write_results(other, {trial: cell}, Trial)
    description = (run / "experiment.json").read_text()
    (other / "experiment.json").write_text(description)
    out = ("--paper", PAPER, "--title", "Adult", "--out", run / "page.md")
    assert table(run, other, *out).exit_code == 0
    page = (run / "page.md").read_text()
    assert "| DP-FERMI, fairness=1.8 | 3 |  | 1 | 0.7770 | 0.7500 | -0.0270 |" in page
    (other / "experiment.json").write_text(description.replace('"ab"', '"cd"'))
    assert "is of other data than" in table(run, other, *out).output


def test_what_does_not_go_together_is_refused(run, finished, tmp_path):
    out = ("--title", "T", "--out", tmp_path / "page.md")
    for arguments, message in (
        ((run, "--reference", run), "reference is given, but"),
        ((finished[0], "--paper", PAPER), "paper is given, but"),
        ((finished[0], finished[0]), "several results are given, but"),
        ((run, "--paper", "other"), "paper is 'other'; it must be one of"),
    ):
        done = table(*arguments, *out)
        assert done.exit_code != 0
        assert message in done.output
    (run / "experiment.json").write_text(
        json.dumps({"kind": "methods", "configuration": {"dataset": None, "name": "mine"}})
    )
    assert "the paper has no table about mine" in table(run, "--paper", PAPER, *out).output


def test_the_paper_s_figures_are_of_the_metrics_and_data_sets():
    assert PAPER in paper_names()
    figures = read_paper(PAPER)
    for data, numbers in TABLES.items():
        ours = [figure for figure in figures if figure.data == data]
        assert list(dict.fromkeys(figure.table for figure in ours)) == numbers
    assert {figure.metric for figure in figures} <= set(METRICS)
    assert all(0 <= figure.value <= 1 for figure in figures)
    limited = [figure for figure in figures if figure.limited]
    assert {figure.table for figure in limited} == {"II", "III", "IV", "V"}
    assert {figure.below for figure in limited if figure.metric == "parity_gap"} == {math.inf}
    with pytest.raises(InvalidParameter, match="paper is 'none'"):
        read_paper("none")


@pytest.mark.parametrize("data", TABLES)
def test_the_shipped_configuration_has_the_paper_s_settings(data):
    name = f"private-parity-{data.removesuffix('-published')}"
    found = MethodsExperiment.from_dict(shipped.find(name))
    assert (found.source.name, len(found.seeds), found.test_size) == (data, 10, 0.25)
    spent = {
        (float(trial.epsilon), float(trial.delta), trial.accountant)
        for trial in found.trials()
        if trial.method == "Algorithm 2"
    }
    assert spent == {
        (figure.epsilon, figure.delta, figure.accountant)
        for figure in read_paper(PAPER)
        if figure.method == "Algorithm 2" and figure.data == data
    }
