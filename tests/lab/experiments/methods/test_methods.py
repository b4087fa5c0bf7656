"""Experiments on methods: cells, the same split for all, the columns, and what is refused."""

import json

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner

from hushpoll_lab.cli.experiment import experiment as command
from hushpoll_lab.datasets.clear.synthetic import draw_synthetic
from hushpoll_lab.experiments.engine import run_experiment
from hushpoll_lab.experiments.methods.configuration import MethodsExperiment
from hushpoll_lab.experiments.methods.method import Trial
from hushpoll_lab.experiments.methods.run import publish, run_trial, split_rows
from hushpoll_lab.experiments.results.results import read_results
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.runs import cell

QUICK = {"n_estimators": 5}
PLAIN = {"name": "plain", "learner": "lightgbm", "params": QUICK}
PARITY = {"name": "parity", "learner": "output-perturbation-parity", "grid": {"epsilon": [2.9, 8]}}
PERTURBED = {**PLAIN, "name": "perturbed", "protocol": "GRR", "epsilon": 4}
BOTH = {"name": "both", "learner": "lightgbm-parity", "params": QUICK, "protocol": "GRR"}
SETTINGS = {
    "dataset": "synthetic",
    "options": {"rows": 400},
    "seeds": "0-1",
    "test_size": 0.25,
    "methods": [PLAIN, PARITY, PERTURBED, {**BOTH, "epsilon": 4}],
}
CODED = {"dataset": None, "options": None, "data": "a.csv", "target": "HIRED", "protected": "Sex"}


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    """The folder of one run."""
    folder = tmp_path_factory.mktemp("methods") / "out"
    run = run_experiment(MethodsExperiment.from_dict(SETTINGS), folder, jobs=1)
    assert (run.cells, run.failed) == (10, {})
    return folder


def test_each_method_has_a_row_per_seed_with_what_it_spends(out):
    table = read_results(out, Trial).drop_duplicates(["method", "epsilon"])
    spent = table.set_index(["method", "epsilon"])[["local_epsilon", "delta", "accountant"]]
    assert spent.to_dict("index") == {
        ("both", 0.1): {"local_epsilon": 4.0, "delta": 0.0, "accountant": "basic"},
        ("parity", 3.0): {"local_epsilon": np.inf, "delta": 1e-5, "accountant": "stated"},
        ("parity", 8.1): {"local_epsilon": np.inf, "delta": 1e-5, "accountant": "stated"},
        ("perturbed", np.inf): {"local_epsilon": 4.0, "delta": 0.0, "accountant": "none"},
        ("plain", np.inf): {"local_epsilon": np.inf, "delta": 0.0, "accountant": "none"},
    }
    assert (table["parity_gap"] == table["SPD"].abs()).all()
    assert json.loads((out / "experiment.json").read_text())["kind"] == "methods"


def test_parquet_holds_the_numbers_of_the_csv(out):
    text, table = read_results(out, Trial), pd.read_parquet(out / "results.parquet")
    pd.testing.assert_frame_equal(text, table, check_dtype=False)


def test_a_second_run_finds_every_cell_done_and_a_changed_one_is_refused(out):
    again = run_experiment(MethodsExperiment.from_dict(SETTINGS), out, jobs=1)
    assert again.resumed == again.cells == 10
    other = MethodsExperiment.from_dict({**SETTINGS, "test_size": 0.5})
    with pytest.raises(InvalidParameter, match=r"test_size was 0\.25 and is 0\.5"):
        run_experiment(other, out)


def test_a_cell_gives_the_same_again(out):
    experiment = MethodsExperiment.from_dict(SETTINGS)
    rows = experiment.source.load()
    table = read_results(out, Trial)
    for trial in experiment.trials()[:5]:
        again = run_trial(experiment, rows, trial)
        row = table[(table.method == trial.method) & (table.seed == trial.seed)]
        row = row[row.epsilon == float(trial.epsilon)]
        assert again["metrics"]["roc_auc"] == row["roc_auc"].item()


def test_methods_split_rows_as_a_grid_of_protocols_does():
    experiment = MethodsExperiment.from_dict(SETTINGS)
    rows = draw_synthetic(400)
    codes = rows.survey_codes()
    published = publish(experiment, rows, experiment.methods[3])
    theirs = cell.split_rows(published, codes, 7, 0.25)
    ours = split_rows(rows, 7, 0.25)
    assert all((one == other).all() for one, other in zip(theirs, ours, strict=True))


def test_rates_of_parity_on_perturbed_records_come_from_rows_that_were_not_trained_on():
    experiment = MethodsExperiment.from_dict(
        {**SETTINGS, "methods": [{**BOTH, "epsilon": 50, "params": {**QUICK, "rate_epsilon": 0}}]}
    )
    [method] = experiment.methods
    assert method.trial(0)[1:7] == ("GRR", "uniform", "50", "inf", "0", "none")
    found = run_trial(experiment, draw_synthetic(4000), method.trial(0))
    plain = {**PLAIN, "protocol": "GRR", "epsilon": 50}
    other = MethodsExperiment.from_dict({**SETTINGS, "methods": [plain]})
    without = run_trial(other, draw_synthetic(4000), other.trials()[0])
    assert found["metrics"]["parity_gap"] < 0.1 < without["metrics"]["parity_gap"]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"methods": []}, "methods is "),
        ({"methods": [{"learner": "lightgbm"}]}, "a method's name is None"),
        ({"methods": [{**PLAIN, "trees": 3}]}, "method plain: 'trees' is no key of a method"),
        ({"methods": [{**PLAIN, "learner": "forest"}]}, "method plain: learner is 'forest'"),
        ({"methods": [{**PLAIN, "params": {"depth": 1}}]}, "method plain: 'depth' is no parameter"),
        ({"methods": [{**PLAIN, "protocol": "GRR"}]}, "method plain: epsilon is missing"),
        ({"methods": [PLAIN, PLAIN]}, "methods has plain seed 0 twice"),
        ({"dataset": "iris"}, "dataset is 'iris'; it must be one of adult-published"),
        ({"target": "label"}, "target is the dataset's to say"),
        ({"missing": "guess"}, "missing is 'guess'; it must be one of drop, category"),
        ({"epsilons": [1]}, "'epsilons' is no key of an experiment with methods"),
        ({"seeds": None}, "seeds is missing"),
        ({"dataset": None}, "data is missing; set data, or name a dataset"),
        ({"options": {"rows": -5}}, r"options.rows is -5; it must be a whole number in \[2, "),
        ({"options": {"rows": "many"}}, "options.rows is 'many'; it must be a whole number"),
        ({"options": {"seed": -1}}, r"options.seed is -1; it must be a whole number in \[0, "),
        ({"methods": [{**PLAIN, "noiseless": "no"}]}, "noiseless is 'no'; it must be true or fal"),
        ({**CODED, "ignore": 5}, "ignore is 5; it must be a list of columns"),
        ({**CODED, "protected": "HIRED"}, "protected is 'HIRED', as target is; name the column"),
    ],
)
def test_a_configuration_is_refused_by_its_key(change, message):
    with pytest.raises(InvalidParameter, match=message):
        MethodsExperiment.from_dict({**SETTINGS, **change})


def test_options_of_another_data_set_and_a_column_that_is_not_there_are_refused(tmp_path):
    options = MethodsExperiment.from_dict({**SETTINGS, "options": {"trees": 3}})
    with pytest.raises(InvalidParameter, match=r"options is .* which synthetic does not take"):
        run_experiment(options, tmp_path / "out")
    sensitive = MethodsExperiment.from_dict({**SETTINGS, "sensitive": ["age"]})
    with pytest.raises(InvalidParameter, match="sensitive names 'age'"):
        run_experiment(sensitive, tmp_path / "out")


def test_the_command_picks_methods_and_runs_a_file_of_codes(tmp_path, data):
    config = tmp_path / "methods.yaml"
    document = {**SETTINGS, "dataset": None, "options": None, "seeds": 3, "data": str(data)}
    config.write_text(json.dumps({**document, "target": "HIRED", "protected": "Sex"}))
    arguments = ["run", str(config), "--methods", "plain", "--out", str(tmp_path / "out")]
    done = CliRunner().invoke(command, [*arguments, "--jobs", "1"])
    assert done.exit_code == 0, done.output
    table = read_results(tmp_path / "out", Trial)
    assert table["method"].tolist() == ["plain"]
    assert table["seed"].tolist() == [3]
    with pytest.raises(InvalidParameter, match="its cells are not of the kind Task"):
        read_results(tmp_path / "out")
    wrong = CliRunner().invoke(command, [*arguments[:3], "tree", *arguments[4:]])
    assert "methods has 'tree'; the configuration has plain, parity" in wrong.output
