"""The grid: which cells there are, and what each of them perturbs."""

import numpy as np

from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.grid import Task, publish, run_task, sensitive_of, tasks
from hushpoll_training.data.coded import read_codes
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.runs.cell import cell


def test_every_combination_once_and_a_baseline_for_each_seed(settings):
    found = tasks(Experiment.from_dict(settings()))
    expected = {
        (protocol, split, epsilon, seed)
        for protocol in ("GRR", "OUE")
        for split in ("uniform", "k-based")
        for epsilon in ("0.000001", "4")
        for seed in range(3)
    } | {("NonDP", "none", "inf", seed) for seed in range(3)}
    assert len(found) == 27
    assert set(found) == expected
    assert [one.seed for one in found] == sorted(one.seed for one in found)


def test_results_are_ordered_by_protocol_split_epsilon_and_seed():
    ordered = [
        Task("NonDP", "none", "inf", 3),
        Task("GRR", "uniform", "0.5", 1),
        Task("GRR", "uniform", "10", 0),
        Task("GRR", "uniform", "10", 12),
        Task("GRR", "k-based", "0.5", 0),
        Task("THE", "uniform", "0.25", 0),
    ]
    backwards = ordered[::-1]
    assert sorted(backwards, key=Task.place) == ordered


def test_a_cell_is_that_of_the_library(settings, data):
    experiment = Experiment.from_dict(settings())
    codes = read_codes(data)
    task = Task("OUE", "k-based", "4", 2)
    published = publish(experiment, codes, task)
    epsilons = {one.name: str(one.epsilon) for one in published.perturbed}
    assert epsilons == {"sex": "1", "age": "3"}
    expected = cell(published, codes, experiment.recipe, FitOptions(2))
    found = run_task(experiment, codes, task)
    assert found["metrics"] == expected.evaluation.to_json()["metrics"]
    assert found["rows"]["tested"] == 80
    assert found["sensitive"] == ["Sex", "age"]


def test_drawn_columns_keep_the_protected_one_and_reach_both_ends(settings):
    columns = ["Sex", "age", "job", "a", "b", "c", "d"]
    experiment = Experiment.from_dict(
        settings(sensitive={"drawn": [2, 6], "from": columns}, seeds="0-199")
    )
    draws = [sensitive_of(experiment, seed) for seed in experiment.seeds]
    assert all("Sex" in one for one in draws)
    counts = np.bincount([len(set(one)) for one in draws], minlength=8)
    # 200 draws over five sizes: 40 each, standard deviation 5.7
    assert counts[[0, 1, 7]].sum() == 0
    assert all(15 < one < 65 for one in counts[2:7])
    for name in columns[1:]:
        # each of six is drawn with chance (1+2+3+4+5)/5/6 = 1/2
        assert 60 < sum(name in one for one in draws) < 140
    assert draws == [sensitive_of(experiment, seed) for seed in experiment.seeds]


def test_the_encoding_changes_the_cells_and_not_the_baseline(settings, data):
    codes = read_codes(data)
    one, other = (
        Experiment.from_dict(settings(encoding=name)) for name in ("indicator", "posterior")
    )
    baseline, cell = Task("NonDP", "none", "inf", 1), Task("OUE", "uniform", "4", 1)
    ours, theirs = (run_task(experiment, codes, baseline) for experiment in (one, other))
    assert ours["metrics"] == theirs["metrics"]
    ours, theirs = (run_task(experiment, codes, cell) for experiment in (one, other))
    assert ours["metrics"] != theirs["metrics"]
    # a folder of earlier versions stays the run that it was
    assert "encoding" not in one.settings()
    assert other.settings()["encoding"] == "posterior"
