"""``hushpoll experiment``: flags, files, refusals."""

import json
import sys

import pytest
from click.testing import CliRunner

from hushpoll_lab.cli import experiment as commands
from hushpoll_lab.experiments import shipped
from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.engine import Finished


def call(*arguments):
    found = CliRunner().invoke(commands.experiment, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def asked(monkeypatch):
    """What the engine is asked to run, without running it."""
    seen = []

    def run(experiment, out, *, jobs, on_start, on_cell, runner=None):
        seen.append((experiment, out, jobs))
        return Finished(5, 2, {})

    monkeypatch.setattr(commands, "run_experiment", run)
    return seen


def test_flags_say_the_same_as_a_file(asked, config, data, settings, tmp_path):
    flags = [
        *("--name", "people", "--data", data, "--target", "HIRED", "--protected", "Sex"),
        *("--sensitive", "Sex,age", "--protocols", "GRR,OUE", "--splits", "uniform,k-based"),
        *("--epsilons", "0.000001,4", "--seeds", "0-2", "--params", "n_estimators=10"),
    ]
    code, out, _ = call("run", *flags, "--jobs", 3, "--out", tmp_path)
    assert code == 0
    assert f"5 of 5 cells are in {tmp_path / 'results.csv'}" in out
    assert "2 of them were there already" in out
    call("run", config, "--out", tmp_path)
    assert asked == [
        (Experiment.from_dict(settings(data=data)), tmp_path, 3),
        (Experiment.from_dict(settings(data=data)), tmp_path, None),
    ]


def test_a_run_says_at_its_start_what_it_does_and_how_to_go_on(monkeypatch, config, tmp_path):
    def run(experiment, out, *, on_start, **_):
        on_start(12, 4)
        return Finished(12, 4, {})

    monkeypatch.setattr(commands, "run_experiment", run)
    _, out, err = call("run", config, "--out", tmp_path, "--json")
    assert json.loads(out)["cells"] == 12
    assert f"12 cells into {tmp_path}, of which 4 are there already." in err
    assert "the same command does the others" in err


def test_flags_win_over_the_file_and_parameters_are_joined(asked, config, tmp_path):
    flags = ("--seeds", "9", "--params", "max_depth=4", "--test-size", "0.5", "--ignore", "job")
    call("run", config, *flags, "--out", tmp_path)
    [(experiment, _, _)] = asked
    assert experiment.seeds == (9,)
    parameters = experiment.recipe.learner.parameters
    assert (parameters["max_depth"], parameters["n_estimators"]) == (4, 10)
    assert (experiment.test_size, experiment.ignore) == (0.5, ("job",))
    assert experiment.protocols == ("GRR", "OUE")


def test_the_engine_is_a_flag_and_a_manifest_stands_for_what_it_says(asked, tmp_path, draft):
    manifest = tmp_path / "small.json"
    manifest.write_text(json.dumps(draft()))
    flags = ("--data", "x.csv", "--engine", "reference", "--manifest", manifest, "--coded")
    code, _, err = call("run", "adult", *flags, "--out", tmp_path)
    assert code == 0, err
    [(experiment, _, _)] = asked
    assert (experiment.engine, experiment.coded) == ("reference", True)
    # the configuration's own name and columns give way to the manifest's
    assert (experiment.name, experiment.target) == ("small", "income")
    assert call("run", "adult", *flags, "--target", "income", "--out", tmp_path)[0] == 1
    assert call("run", "adult", "--engine", "other", "--out", tmp_path)[0] == 2


def test_json_is_one_document(asked, config, tmp_path):
    code, out, _ = call("run", config, "--out", tmp_path, "--json")
    assert code == 0
    assert json.loads(out) == {
        "cells": 5,
        "resumed": 2,
        "failed": [],
        "results": str(tmp_path / "results.csv"),
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("nothing.yaml",), "config 'nothing.yaml' is no file and no configuration of hushpoll's"),
        ((), "data is missing; set data in the configuration or give --data"),
        (("adult",), "data is missing"),
        (("adult", "--data", "absent.csv"), "absent.csv: No such file or directory"),
        (("adult", "--data", "x.csv", "--epsilons", "0,1"), "epsilons"),
        (("adult", "--data", "x.csv", "--protocols", "RR"), "protocols has 'RR'"),
        (("adult", "--data", "x.csv", "--params", "trees=4"), "'trees' is no parameter"),
        (("adult", "--data", "x.csv", "--params", "depth"), "params 'depth' cannot be read"),
    ],
)
def test_a_mistake_is_one_line(tmp_path, monkeypatch, arguments, message):
    monkeypatch.chdir(tmp_path)
    code, out, err = call("run", *arguments, "--out", "out")
    assert (code, out) == (1, "")
    assert err.startswith("Error: ")
    assert message in err
    assert err.count("\n") == 1
    assert not (tmp_path / "out").exists()


def test_no_jobs_at_all_is_wrong_usage(tmp_path):
    assert call("run", "adult", "--jobs", 0, "--out", tmp_path)[0] == 2
    assert call("run", "adult")[0] == 2


def test_a_changed_configuration_is_refused_with_the_difference(finished, config):
    out = finished[0]
    before = (out / "cells.jsonl").read_bytes()
    code, _, err = call("run", config, "--seeds", "0-3", "--out", out)
    assert code == 1
    assert "configuration.seeds was [0, 1, 2] and is [0, 1, 2, 3]" in err
    assert (out / "cells.jsonl").read_bytes() == before


def test_plot_writes_figures_and_report(finished, tmp_path):
    code, out, _ = call("plot", finished[0], "--out", tmp_path / "new" / "plots", "--json")
    assert code == 0
    names = ["fairness.svg", "fairness.png", "utility.svg", "utility.png", "report.html"]
    files = [tmp_path / "new" / "plots" / name for name in names]
    assert json.loads(out)["files"] == [str(file) for file in files]
    assert sorted(files) == sorted((tmp_path / "new" / "plots").iterdir())
    assert (tmp_path / "new" / "plots" / "fairness.png").read_bytes().startswith(b"\x89PNG\r\n")
    report = files[-1].read_text(encoding="utf-8")
    assert "<h1>Experiment people</h1>" in report
    assert "3 seeds each" in report
    assert "HIRED" in report


def test_plot_draws_another_run_beside(finished, tmp_path):
    code, _, _ = call("plot", finished[0], "--beside", finished[0], "--out", tmp_path / "plots")
    assert code == 0
    report = (tmp_path / "plots" / "report.html").read_text(encoding="utf-8")
    assert "Fairness, reference: mean over seeds" in report
    code, _, err = call("plot", finished[0], "--beside", tmp_path / "no", "--out", tmp_path / "new")
    assert code == 1
    assert "neither a file nor a folder with results.csv" in err
    assert not (tmp_path / "new").exists()


def test_plot_of_nothing_is_refused(tmp_path):
    code, _, err = call("plot", tmp_path, "--out", tmp_path / "plots")
    assert code == 1
    assert "neither a file nor a folder with results.csv" in err
    assert not (tmp_path / "plots").exists()


def test_drawing_without_matplotlib_names_the_laboratory(finished, tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    monkeypatch.delitem(sys.modules, "hushpoll_lab.experiments.results.figures", raising=False)
    code, _, err = call("plot", finished[0], "--out", tmp_path / "plots")
    assert code == 3
    assert "pip install . ./server ./server/lab\n" in err
    assert not (tmp_path / "plots").exists()


def test_configurations_are_listed_and_printed():
    code, out, _ = call("configs")
    assert code == 0
    # the further lines of a title stand below its first
    names = [line.split()[0] for line in out.splitlines() if not line.startswith(" ")]
    assert names == list(shipped.names())
    assert call("configs", "lsac")[1] == shipped.text("lsac")
    assert [one["name"] for one in json.loads(call("configs", "--json")[1])] == list(
        shipped.names()
    )
    code, _, err = call("configs", "Adult")
    assert code == 1
    assert "config 'Adult' is no file and no configuration" in err
