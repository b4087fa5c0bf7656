"""Whole runs: complete, the same whatever is killed and however many processes there are."""

import json
import subprocess
import time
from multiprocessing import active_children

import pandas as pd
import psutil
import pytest

from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.engine import missing, run_experiment
from hushpoll_lab.experiments.grid import Task, tasks
from hushpoll_lab.experiments.results.results import COLUMNS
from hushpoll_protocols.errors import InvalidParameter
from waiting import LONGEST_SECONDS

TIMINGS = [name for name in COLUMNS if name.endswith("_seconds")]


def read_journal(out):
    """Return (task, found) of each line."""
    lines = (out / "cells.jsonl").read_bytes().split(b"\n")[:-1]
    found = [json.loads(line) for line in lines]
    return [(Task(*(one.pop(name) for name in Task._fields)), one) for one in found]


def without_timings(out):
    return pd.read_csv(out / "results.csv", dtype=str).drop(columns=TIMINGS)


def test_a_run_has_every_cell_once_and_says_which_failed(finished, settings):
    out, done = finished
    journal = read_journal(out)
    assert sorted(task for task, _ in journal) == sorted(tasks(Experiment.from_dict(settings())))
    failed = [task for task, found in journal if "error" in found]
    assert {task.epsilon for task in failed} == {"0.000001"}
    assert len(failed) == 12
    assert done.returncode == 1
    assert "Error: 12 of 27 cells failed:" in done.stderr
    assert "GRR uniform epsilon 0.000001 seed 0: " in done.stderr
    assert "and 7 more" in done.stderr
    assert str(out / "failures.csv") in done.stderr
    assert "Traceback" not in done.stderr
    assert len(pd.read_csv(out / "failures.csv")) == 12
    assert len(pd.read_csv(out / "results.csv")) == 15


def test_killed_and_resumed_with_one_process_gives_the_same(
    finished, config, settings, command, tmp_path
):
    out = tmp_path / "out"
    arguments = command("run", config, "--jobs", 1, "--out", out)
    running = psutil.Popen(arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + LONGEST_SECONDS
        while not (out / "cells.jsonl").is_file() or not (out / "cells.jsonl").stat().st_size:
            assert running.poll() is None
            assert time.monotonic() < deadline
            time.sleep(0.001)
        workers = running.children(recursive=True)
    finally:
        running.kill()
        running.wait()
    _, alive = psutil.wait_procs(workers, timeout=LONGEST_SECONDS)
    assert workers
    assert alive == []
    before = read_journal(out)
    assert 0 < len(before) < 27
    again = run_experiment(Experiment.from_dict(settings()), out, jobs=1)
    assert again.resumed == len([found for _, found in before if "error" not in found])
    after = read_journal(out)
    assert after[: len(before)] == before
    done = [task for task, found in after if "error" not in found]
    assert len(done) == len(set(done)) == 15
    assert {task for task, _ in after} == {task for task, _ in read_journal(finished[0])}
    pd.testing.assert_frame_equal(without_timings(out), without_timings(finished[0]))


def test_a_worker_that_dies_costs_one_cell(settings, tmp_path):
    experiment = Experiment.from_dict(
        settings(protocols=["GRR"], splits=["uniform"], epsilons=[4, 8], seeds=0)
    )

    others = set(active_children())  # such as the cluster of tests that this process ran before

    def kill(task, _found):
        if task.protocol == "NonDP":
            [worker] = set(active_children()) - others
            worker.kill()

    # The first cell takes the longest; the second is under way when it is reported.
    found = run_experiment(experiment, tmp_path / "out", jobs=1, on_cell=kill)
    [(task, error)] = found.failed.items()
    assert task == Task("GRR", "uniform", "4", 0)
    assert "its process ended by signal 9; memory may have been short" in error
    assert (found.cells, found.resumed) == (3, 0)
    assert len(pd.read_csv(tmp_path / "out" / "results.csv")) == 2


def test_what_failed_is_missing_and_what_has_a_result_is_not():
    grid = [Task("GRR", "uniform", "4", seed) for seed in range(4)]
    cells = {grid[2]: {"metrics": {}}, grid[1]: {"error": "no memory"}}
    assert missing(grid, cells) == [grid[0], grid[1], grid[3]]


@pytest.mark.parametrize(
    ("changes", "field", "message"),
    [
        ({"target": "pay"}, "target", "target names 'pay', which is no column; the columns are"),
        ({"protected": "race"}, "protected", "protected names 'race', which is no column"),
        ({"sensitive": ["Sex", "race"]}, "sensitive", "sensitive names 'race', which is no col"),
        ({"sensitive": ["HIRED"]}, "sensitive", "sensitive names 'hired', the target"),
        ({"ignore": ["Sex"]}, "sensitive", "sensitive names 'Sex', which is no column"),
    ],
)
def test_columns_that_are_not_there_are_refused_before_the_folder_is_made(
    settings, tmp_path, changes, field, message
):
    experiment = Experiment.from_dict(settings(**changes))
    with pytest.raises(InvalidParameter, match=message) as caught:
        run_experiment(experiment, tmp_path / "out")
    assert caught.value.field == field
    assert not (tmp_path / "out").exists()


def test_a_constant_column_is_named(settings, tmp_path):
    path = tmp_path / "constant.csv"
    path.write_text("Sex,age,st,HIRED\n0,1,0,1\n1,0,0,0\n")
    experiment = Experiment.from_dict(settings(data=path))
    with pytest.raises(InvalidParameter, match=r"column st of .* holds code 0 alone") as caught:
        run_experiment(experiment, tmp_path / "out")
    assert caught.value.field == "ignore"


def test_other_data_under_the_same_name_is_refused(finished, settings, data, tmp_path):
    path = tmp_path / data.name
    lines = data.read_text().splitlines(keepends=True)
    path.write_text("".join([lines[0], *lines[2:], lines[1]]))
    with pytest.raises(InvalidParameter, match=r"holds another experiment: data\.sha256 was"):
        run_experiment(Experiment.from_dict(settings(data=path)), finished[0])
