"""The paper's published runs on Adult, reproduced through our own protocols and encoding."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from statistics import mean

import numpy as np
import numpy.typing as npt
import pandas as pd
import pytest

from hushpoll_shared.published import Published
from hushpoll_training.cell import baseline_cell, cell
from hushpoll_training.coded import describe_codes, read_codes

# The paper's parameters for Adult; all others are LightGBM's defaults.
PARAMETERS = {"max_depth": 38, "learning_rate": 0.02255696731716368, "n_estimators": 1100}
SEEDS = range(5)
# Name of the metric in our runs, and of its column in the reference.
METRICS = {"accuracy": "acc", "DI": "DI", "SPD": "SPD", "EOD": "EOD"}
CELLS = [(protocol, split) for protocol in ("GRR", "OLH") for split in ("uniform", "k-based")]


@pytest.fixture(scope="module")
def adult(data_dir: Path) -> dict[str, npt.NDArray[np.int64]]:
    return read_codes(data_dir / "adult_26k.csv")


@pytest.fixture(scope="module")
def reference(data_dir: Path) -> pd.DataFrame:
    table = pd.read_csv(data_dir / "reference_adult.csv")
    table["split"] = table["split"].str.replace("_", "-")
    return table.set_index(["protocol", "split", "epsilon"]).sort_index()


def publish(adult: Mapping[str, npt.NDArray[np.int64]], protocol: str, split: str) -> Published:
    return describe_codes(
        dict(adult),
        name="adult",
        target="income",
        protected="gender",
        sensitive=["gender", "race", "native-country", "age"],
        protocol=protocol,
        split=split,
        epsilon="4",
    ).resolve()


def check(found: Mapping[str, list[float]], row: pd.Series, seeds: int) -> None:
    """Compare means: the reference's over its 20 seeds, ours over `seeds` others."""
    for ours, theirs in METRICS.items():
        expected, spread = row[f"{theirs}_mean"], row[f"{theirs}_sd"]
        allowed = 3 * spread * np.sqrt(1 / 20 + 1 / seeds)
        measured = mean(found[ours])
        print(f"{row.name} {ours}: {measured:.4f}, reference {expected:.4f} +- {allowed:.4f}")
        assert abs(measured - expected) <= allowed, (row.name, ours, measured, expected, allowed)


def run(
    adult: Mapping[str, npt.NDArray[np.int64]], protocol: str, split: str, seeds: range
) -> dict[str, list[float]]:
    survey = publish(adult, protocol, split)
    found: dict[str, list[float]] = {name: [] for name in METRICS}
    for seed in seeds:
        metrics = cell(survey, adult, seed, PARAMETERS, threads=2).evaluation.metrics
        for name in METRICS:
            found[name].append(metrics[name].number())
    return found


@pytest.mark.data
@pytest.mark.parametrize(("protocol", "split"), CELLS)
def test_five_seeds_of_the_papers_cell_are_within_three_standard_errors(
    adult: Mapping[str, npt.NDArray[np.int64]], reference: pd.DataFrame, protocol: str, split: str
) -> None:
    found = run(adult, protocol, split, SEEDS)
    check(found, reference.loc[(protocol, split, 4.0)], len(SEEDS))


@pytest.mark.data
def test_the_baseline_is_the_papers(
    adult: Mapping[str, npt.NDArray[np.int64]], reference: pd.DataFrame
) -> None:
    survey = publish(adult, "GRR", "uniform")
    metrics = baseline_cell(survey, adult, 0, PARAMETERS, threads=2).evaluation.metrics
    found = {name: [metrics[name].number()] for name in METRICS}
    check(found, reference.loc[("NonDP", "none", np.inf)], 1)
