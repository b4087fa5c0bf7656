"""The paper's published runs on Adult, beside ours: same data and parameters, other noise."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from statistics import mean

import numpy as np
import numpy.typing as npt
import pandas as pd

from benchmarks.harness import Figure, announced
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.coded import describe_codes, read_codes
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import baseline_cell, cell

Codes = Mapping[str, npt.NDArray[np.int64]]
# The paper's parameters for Adult; all others are LightGBM's defaults.
PARAMETERS = {"max_depth": 38, "learning_rate": 0.02255696731716368, "n_estimators": 1100}
SEEDS = range(5)
EPSILON = "4"
# Name of the metric in our runs, and of its column in the reference.
METRICS = {"accuracy": "acc", "DI": "DI", "SPD": "SPD", "EOD": "EOD"}
CELLS = [(protocol, split) for protocol in ("GRR", "OLH") for split in ("uniform", "k-based")]
REFERENCE_RUNS = 20
STANDARD_ERRORS = 3.0


@dataclass(frozen=True)
class Comparison:
    """One metric's mean over our seeds, the reference's, and the standard error of their gap."""

    cell: tuple[str, str]
    metric: str
    ours: float
    reference: float
    standard_error: float

    @property
    def distance(self) -> float:
        """Difference in standard errors."""
        return abs(self.ours - self.reference) / self.standard_error

    def __str__(self) -> str:
        return (
            f"{' '.join(self.cell)} {self.metric}: {self.ours:.4f} against {self.reference:.4f}, "
            f"{self.distance:.2f} standard errors"
        )


def load_reference(data: Path) -> pd.DataFrame:
    """Read the published means and deviations, indexed by (protocol, split, epsilon)."""
    table = pd.read_csv(data / "reference_adult.csv")
    table["split"] = table["split"].str.replace("_", "-")
    return table.set_index(["protocol", "split", "epsilon"]).sort_index()


def publish(codes: Codes, protocol: str, split: str) -> Published:
    """Return the paper's survey of Adult."""
    return describe_codes(
        dict(codes),
        name="adult",
        target="income",
        protected="gender",
        sensitive=["gender", "race", "native-country", "age"],
        protocol=protocol,
        split=split,
        epsilon=EPSILON,
    ).resolve()


def run(data: Path, protocol: str, split: str, seed: int) -> dict[str, float]:
    """Run one seed of one cell, or of the baseline (``NonDP``, ``none``), with one thread."""
    codes = read_codes(data / "adult_26k.csv")
    if protocol == "NonDP":
        run = baseline_cell(
            publish(codes, "GRR", "uniform"), codes, Recipe.of(PARAMETERS), FitOptions(seed)
        )
    else:
        run = cell(publish(codes, protocol, split), codes, Recipe.of(PARAMETERS), FitOptions(seed))
    return {name: run.evaluation.metrics[name].number() for name in METRICS}


def compare(
    data: Path,
    cells: Iterable[tuple[str, str]] = CELLS,
    seeds: Iterable[int] = SEEDS,
    *,
    apart: bool = True,
) -> list[Comparison]:
    """Run cells with every seed, and set their means beside the reference's.

    Two run at a time, in processes of their own, or with `apart` false one after the other here.
    """
    reference, cells, seeds = load_reference(data), list(cells), list(seeds)
    tasks = [(data, protocol, split, seed) for protocol, split in cells for seed in seeds]
    # Two cells with a thread each are faster than one with two; spawned, since OpenMP forbids
    # forks.
    with ExitStack() as stack:
        pool = ProcessPoolExecutor(2, mp_context=get_context("spawn")) if apart else None
        each = stack.enter_context(pool).map if pool else map
        results = list(each(run, *zip(*tasks, strict=True)))
    comparisons = []
    for index, place in enumerate(cells):
        runs = results[index * len(seeds) : (index + 1) * len(seeds)]
        row = reference.loc[(*place, np.inf if place[0] == "NonDP" else float(EPSILON))]
        for ours, theirs in METRICS.items():
            error = row[f"{theirs}_sd"] * np.sqrt(1 / REFERENCE_RUNS + 1 / len(seeds))
            comparisons.append(
                Comparison(
                    place,
                    ours,
                    mean(r[ours] for r in runs),
                    float(row[f"{theirs}_mean"]),
                    float(error),
                )
            )
    return comparisons


def reproducing(data: Path) -> list[Figure]:
    """The farthest of the 16 means from the paper's, in standard errors; the limit is three."""
    with announced("four cells of the paper on Adult, five seeds each"):
        comparisons = compare(data)
    for comparison in comparisons:
        print(f"  {comparison}")
    worst = max(comparison.distance for comparison in comparisons)
    return [
        Figure(
            "Adult, GRR and OLH, both splits, epsilon 4, seeds 0-4: farthest mean from the paper's",
            "standard errors",
            worst,
            STANDARD_ERRORS,
            "limit",
            STANDARD_ERRORS / worst,
            1,
            len(SEEDS),
        )
    ]
