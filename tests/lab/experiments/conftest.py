"""A file of a few hundred people, an experiment on it, and one run of it as a real process."""

from __future__ import annotations

import csv
import subprocess
import sys

import numpy as np
import pytest

from waiting import LONGEST_SECONDS

ROWS = 400


def make_codes(seed=3):
    rng = np.random.default_rng(seed)
    sex = rng.integers(0, 2, ROWS)
    age = rng.integers(0, 6, ROWS)
    job = rng.integers(0, 3, ROWS)
    hired = (rng.random(ROWS) < 1 / (1 + np.exp(1.5 - 1.0 * sex - 0.4 * age))).astype(np.int64)
    return {"Sex": sex, "age": age, "job": job, "HIRED": hired}


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    """A CSV of codes; the target is HIRED, the protected column Sex."""
    path = tmp_path_factory.mktemp("data") / "people.csv"
    columns = make_codes()
    with path.open("w", newline="") as stream:
        writer = csv.writer(stream)
        writer.writerow(columns)
        writer.writerows(zip(*columns.values(), strict=True))
    return path


@pytest.fixture(scope="session")
def settings(data):
    """A configuration: 27 cells, of which the 12 at the least epsilon fail, halved as it is."""
    base = {
        "name": "people",
        "data": str(data),
        "target": "HIRED",
        "protected": "Sex",
        "sensitive": ["Sex", "age"],
        "protocols": ["OUE", "GRR"],
        "splits": ["uniform", "k-based"],
        "epsilons": ["4", "0.000001"],
        "seeds": "0-2",
        "params": {"n_estimators": 10},
    }
    return lambda **changes: {**base, **changes}


@pytest.fixture(scope="session")
def command():
    """Arguments of a real process that runs the command line with every warning an error."""

    def arguments(*rest):
        program = [sys.executable, "-W", "error", "-m", "hushpoll_client", "experiment"]
        return [*program, *map(str, rest)]

    return arguments


@pytest.fixture(scope="session")
def config(tmp_path_factory, data):
    """The configuration as a file beside which the data lies."""
    path = data.parent / "people.yaml"
    path.write_text(
        "name: people\ndata: people.csv\ntarget: HIRED\nprotected: Sex\nsensitive: [Sex, age]\n"
        "protocols: [OUE, GRR]\nsplits: [uniform, k-based]\nepsilons: [4, 0.000001]\nseeds: 0-2\n"
        "params: {n_estimators: 10}\n"
    )
    return path


@pytest.fixture(scope="session")
def finished(tmp_path_factory, config, command):
    """The folder of a whole run with two processes, and how it ended."""
    out = tmp_path_factory.mktemp("finished") / "out"
    done = subprocess.run(
        command("run", config, "--jobs", 2, "--out", out),
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
    )
    return out, done
