"""The split that minimises variance, as a third column beside the paper's two."""

from decimal import Decimal

from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.engine import run_experiment
from hushpoll_lab.experiments.grid import Task, publish, tasks
from hushpoll_lab.experiments.results.results import read_results
from hushpoll_lab.experiments.results.summaries import Curves, read_summaries
from hushpoll_shared.survey.randomization.optimal import optimal_split
from hushpoll_training.data.coded import read_codes


def test_a_cell_spends_what_the_split_says(settings, data):
    experiment = Experiment.from_dict(settings(splits="optimal", protocols="GRR"))
    assert {task.split for task in tasks(experiment)} == {"none", "optimal"}
    published = publish(experiment, read_codes(data), Task("GRR", "optimal", "4", 1))
    sizes = {one.name: ("GRR", one.k) for one in published.perturbed}
    assert published.split == optimal_split(Decimal(4), sizes)
    spent = {one.name: one.epsilon for one in published.perturbed}
    # unlike either of the paper's: not 2 and 2, not 1 and 3
    assert Decimal(1) < spent["sex"] < Decimal(2) < spent["age"] < Decimal(3)


def test_a_run_has_three_splits_and_curves_of_each(settings, tmp_path):
    changes = {"splits": "optimal,k-based,uniform", "protocols": "GRR", "epsilons": "4"}
    experiment = Experiment.from_dict(settings(**changes, seeds=0, params={"n_estimators": 5}))
    assert run_experiment(experiment, tmp_path, jobs=1).failed == {}
    table = read_results(tmp_path)
    assert list(table.split) == ["none", "uniform", "k-based", "optimal"]
    found = {place.split for place in read_summaries(tmp_path)}
    assert found == {"none", "uniform", "k-based", "optimal"}
    assert Curves.of(table).splits == ("uniform", "k-based", "optimal")
