"""The paper's way: the same laws where the library has them, the same baseline, repeatable."""

import math

import numpy as np
import pytest

from hushpoll_lab.experiments import reference
from hushpoll_lab.experiments.configuration import Experiment
from hushpoll_lab.experiments.grid import Task, publish, run_task
from hushpoll_lab.experiments.protocol_grid import describe
from hushpoll_lab.experiments.reference import check_clients, encoder, reference_cell, seeded
from hushpoll_lab.experiments.results.summaries import Summary
from hushpoll_protocols import create
from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_training.data.coded import read_codes
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.learners.lightgbm import LightGBM

ROWS = 3000


def law(protocol, k, epsilon):
    """Return p and q of the library's own parameters."""
    ours = create(protocol, k=k, epsilon=str(epsilon))
    if protocol == "OLH":
        g = round(math.exp(epsilon)) + 1
        return math.exp(epsilon) / (math.exp(epsilon) + g - 1), 1 / g
    if protocol == "SS":
        omega = max(1, round(k / (math.exp(epsilon) + 1)))
        p = omega * math.exp(epsilon) / (omega * math.exp(epsilon) + k - omega)
        return p, (p * (omega - 1) + (1 - p) * omega) / (k - 1)
    return float(ours.p), float(ours.q)


@pytest.mark.parametrize("protocol", ["GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE"])
def test_indicators_follow_the_law(protocol):
    k, epsilon, value = 6, 1.25, 4
    encode = encoder(protocol, k, epsilon)
    with seeded([5, 7]):
        found = np.array([encode(value) for _ in range(ROWS)])
    assert set(np.unique(found)) <= {0.0, 1.0}
    assert found.shape == (ROWS, k)
    p, q = law(protocol, k, epsilon)
    expected = np.full(k, q)
    expected[value] = p
    # 4.5 standard errors; 7 protocols of 6 positions each
    error = np.sqrt(expected * (1 - expected) / ROWS)
    assert np.abs(found.mean(axis=0) - expected).max() < 4.5 * error.max()


@pytest.mark.parametrize("protocol", ["GRR", "OLH", "SS", "OUE"])
def test_at_an_epsilon_of_thirty_the_truth_is_kept(protocol):
    encode = encoder(protocol, 74, 30.3)
    with seeded([1]):
        found = np.array([encode(9) for _ in range(60)])
    others = np.delete(found, 9, axis=1)
    kept = found[:, 9].mean()
    if protocol == "OUE":
        assert 0.2 < kept < 0.8
    else:
        assert kept == 1
    # a hash to 65,536 values confuses two with a chance of 2^-16
    assert others.sum() <= 2


def test_both_generators_are_seeded_and_numpys_is_put_back():
    encode = encoder("BLH", 5, 0.5)
    np.random.seed(11)  # noqa: NPY002  the library's generator is the one in question
    expected = np.random.random(3).tolist()  # noqa: NPY002
    np.random.seed(11)  # noqa: NPY002
    draws = []
    for entropy in ([1, 2], [1, 2], [1, 3]):
        with seeded(entropy):
            draws.append(np.array([encode(1) for _ in range(200)]))
    assert np.random.random(3).tolist() == expected  # noqa: NPY002
    assert (draws[0] == draws[1]).all()
    assert (draws[0] != draws[2]).any()


def test_a_client_that_swaps_keep_and_lie_is_refused(monkeypatch):
    check_clients()
    monkeypatch.setitem(reference._LOADED, "GRR", lambda value, k, epsilon: 1 - value)
    with pytest.raises(HushpollError, match="tells the truth in 0 of 60 cases"):
        check_clients()


@pytest.fixture
def experiment(settings):
    return lambda **changes: Experiment.from_dict(settings(**changes, engine="reference"))


def test_the_baseline_is_ours(experiment, settings, data):
    codes = read_codes(data)
    task = Task("NonDP", "none", "inf", 1)
    theirs = run_task(experiment(), codes, task)
    ours = run_task(Experiment.from_dict(settings()), codes, task)
    assert theirs["metrics"] == pytest.approx(ours["metrics"], abs=1e-12)
    assert theirs["rows"] == ours["rows"]
    assert set(theirs["timings"]) == set(ours["timings"])


def test_a_cell_repeats_itself_and_depends_on_protocol_and_seed(experiment, data):
    codes = read_codes(data)
    task = Task("GRR", "uniform", "4", 0)
    first, again = (run_task(experiment(), codes, task)["metrics"] for _ in range(2))
    assert first == again
    assert run_task(experiment(), codes, task._replace(seed=1))["metrics"] != first


def test_both_engines_agree_on_average(experiment, settings, data):
    codes = read_codes(data)
    found = []
    for one in (experiment(), Experiment.from_dict(settings())):
        cells = [run_task(one, codes, Task("SS", "uniform", "8", seed)) for seed in range(12)]
        found.append(Summary.of(cell["metrics"]["accuracy"] for cell in cells))
    theirs, ours = found
    assert abs(theirs.mean - ours.mean) < 4 * ours.sd * math.sqrt(2 / 12)


def test_a_perturbed_target_is_refused(survey, people):
    published = survey(target={"protocol": "GRR"})
    with pytest.raises(InvalidParameter, match="the engine reference cannot learn from") as caught:
        reference_cell(published, people(50), LightGBM({}), FitOptions())
    assert caught.value.field == "engine"


def test_the_folder_says_which_engine_and_which_versions(experiment, settings, data):
    codes = read_codes(data)
    theirs = describe(experiment(), codes)
    assert theirs["configuration"]["engine"] == "reference"
    assert {"multi-freq-ldpy", "numba", "xxhash"} <= set(theirs["versions"])
    ours = describe(Experiment.from_dict(settings()), codes)
    # folders of earlier versions stay resumable
    assert "engine" not in ours["configuration"]
    assert "xxhash" not in ours["versions"]


def test_the_grid_publishes_the_same_surveys(experiment, settings, data):
    codes = read_codes(data)
    task = Task("OUE", "k-based", "4", 2)
    ours = publish(Experiment.from_dict(settings()), codes, task)
    assert publish(experiment(), codes, task).digest == ours.digest
