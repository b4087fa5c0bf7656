"""An experiment on a cluster gives what it gives on one machine, cell by cell."""

import json
import os
import socket
import subprocess
import sys
from functools import partial

import pandas as pd
import pytest

from hushpoll_lab.experiments import cluster_grid as distributed_grid
from hushpoll_lab.experiments import pool
from hushpoll_lab.experiments.cluster_grid import run_on_cluster
from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.engine import run_experiment
from hushpoll_lab.experiments.grid import Task
from hushpoll_lab.experiments.results.results import COLUMNS
from hushpoll_protocols.errors import HushpollError, InvalidParameter, TransportError
from hushpoll_training.learners import cluster as distributed
from hushpoll_training.learners.cluster import connected
from waiting import LONGEST_SECONDS

TIMINGS = [name for name in COLUMNS if name.endswith("_seconds")]


@pytest.fixture(scope="module")
def experiment(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "people.csv"
    rows = [(i % 2, i * i % 6, i % 3, (i * i % 6 + i % 2 + i % 5) % 2) for i in range(300)]
    path.write_text("sex,age,job,hired\n" + "\n".join(",".join(map(str, row)) for row in rows))
    return Experiment.from_dict(
        {
            "name": "people",
            "data": str(path),
            "target": "hired",
            "protected": "sex",
            "sensitive": ["sex", "age"],
            "protocols": ["OUE", "GRR"],
            "splits": ["uniform"],
            "epsilons": ["4", "0.000001"],
            "seeds": "0-1",
            "params": {"n_estimators": 5},
        }
    )


def results(out):
    return pd.read_csv(out / "results.csv", dtype=str).drop(columns=TIMINGS)


@pytest.fixture(scope="module")
def alone(experiment, tmp_path_factory):
    out = tmp_path_factory.mktemp("alone") / "out"
    return out, run_experiment(experiment, out, jobs=1)


def test_a_cluster_gives_the_results_of_one_machine(cluster, experiment, alone, tmp_path):
    out, there = tmp_path / "out", alone[1]
    here = run_experiment(
        experiment, out, runner=partial(run_on_cluster, address=cluster.scheduler_address)
    )
    assert (here.cells, here.resumed, here.failed) == (there.cells, 0, there.failed)
    assert len(here.failed) == 4
    pd.testing.assert_frame_equal(results(out), results(alone[0]))
    again = run_experiment(
        experiment, out, runner=partial(run_on_cluster, address=cluster.scheduler_address)
    )
    assert (again.resumed, again.failed) == (6, there.failed)


def test_the_command_runs_on_a_cluster(cluster, experiment, alone, tmp_path):
    program = [sys.executable, "-W", "error", "-m", "hushpoll_client", "experiment", "run"]
    done = subprocess.run(
        [
            *program,
            *("--data", str(experiment.data), "--target", "hired", "--protected", "sex"),
            *("--sensitive", "sex,age", "--protocols", "OUE,GRR", "--splits", "uniform"),
            *("--epsilons", "4,0.000001", "--seeds", "0-1", "--params", "n_estimators=5"),
            *("--dask", cluster.scheduler_address, "--out", str(tmp_path / "out"), "--json"),
        ],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    assert done.returncode == 1, done.stderr
    assert json.loads(done.stdout)["cells"] == 10
    assert "4 of 10 cells failed" in done.stderr
    pd.testing.assert_frame_equal(results(tmp_path / "out"), results(alone[0]))


def test_a_cell_that_kills_its_worker_is_recorded(cluster, experiment, tmp_path, monkeypatch):
    deadly = Task("OUE", "uniform", "4", 1)

    def attempt(setup, task):  # local, so that it goes to the workers by value
        if task == deadly:
            os._exit(3)
        return pool.attempt(setup, task)

    monkeypatch.setattr(distributed_grid, "attempt", attempt)
    found = run_experiment(
        experiment,
        tmp_path / "out",
        runner=partial(run_on_cluster, address=cluster.scheduler_address),
    )
    killed = {task: error for task, error in found.failed.items() if "KilledWorker" in error}
    # What a worker had computed and not yet given goes with it; twice, and that cell is lost, too.
    assert deadly in killed
    assert len(killed) <= 2
    assert len(found.failed) == len(killed) + 4


def test_a_stopped_run_takes_back_what_has_not_begun(cluster, experiment, alone, tmp_path):
    class Stop(Exception):
        pass

    def stop(_task, _found):
        raise Stop

    with pytest.raises(Stop):
        run_experiment(
            experiment,
            tmp_path / "out",
            runner=partial(run_on_cluster, address=cluster.scheduler_address),
            on_cell=stop,
        )
    assert len((tmp_path / "out" / "cells.jsonl").read_bytes().splitlines()) == 1
    with connected(cluster.scheduler_address) as client:
        assert client.submit(int, 7, pure=False).result(timeout=LONGEST_SECONDS) == 7


def test_other_versions_are_refused(cluster, experiment, tmp_path, monkeypatch):
    learner = type(experiment.recipe.learner)
    monkeypatch.setattr(learner, "versions", lambda _learner: {"numpy": "0", "python": "0"})
    monkeypatch.setattr(distributed, "_reported", lambda *_: {"tcp://w": {"numpy": "9"}})
    with pytest.raises(InvalidParameter, match="same versions") as caught:
        run_experiment(
            experiment,
            tmp_path / "out",
            runner=partial(run_on_cluster, address=cluster.scheduler_address),
        )
    assert caught.value.field == "dask"


def test_a_cluster_that_goes_away_keeps_what_is_done(experiment, tmp_path):
    import distributed

    with distributed.LocalCluster(
        n_workers=1,
        threads_per_worker=1,
        processes=True,
        host="127.0.0.1",
        dashboard_address="127.0.0.1:0",
        memory_limit=None,
    ) as own:

        def go_away(_task, _found):
            own.close()

        with pytest.raises(HushpollError, match="gone away"):
            run_experiment(
                experiment,
                tmp_path / "out",
                runner=partial(run_on_cluster, address=own.scheduler_address),
                on_cell=go_away,
            )
    assert (tmp_path / "out" / "cells.jsonl").read_bytes().splitlines()


def test_no_scheduler_and_no_address_are_told(monkeypatch):
    monkeypatch.setattr("hushpoll_training.learners.cluster.CONNECT_SECONDS", 0.5)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"tcp://127.0.0.1:{taken.getsockname()[1]}"
        with pytest.raises(TransportError, match="no Dask scheduler"), connected(address):
            pass
    with pytest.raises(InvalidParameter) as caught, connected("here and there"):
        pass
    assert caught.value.field == "dask"
