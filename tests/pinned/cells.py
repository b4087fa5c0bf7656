"""Pinned cells of the paper's experiments: each data set, protocol and split, and NonDP."""

from __future__ import annotations

import csv
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from pinned import entry_points
from pinned.entry_points import PROTOCOLS, hushpoll
from pinned.summaries import digest, digest_of_bytes, scores

EPSILON = "4"
SEED = 0
SPLITS = ("uniform", "k-based")
ROWS = 5000
TREES = 60
"""Rows and trees of the small form, which every change is held to."""

FULL_TREES = 100
"""Trees of the full form, which has all rows."""

UNPINNED = ("_seconds", "undefined")
"""Columns of results.csv that differ each time, or hold sentences."""


@dataclass(frozen=True)
class DataSet:
    """One of the paper's data sets, with the roles and parameters of its experiment."""

    file: str
    target: str
    protected: str
    sensitive: tuple[str, ...]
    parameters: dict[str, float]
    ignored: tuple[str, ...] = ()


DATA_SETS = {
    "adult": DataSet(
        "adult_26k.csv",
        "income",
        "gender",
        ("gender", "race", "native-country", "age"),
        {"max_depth": 38, "learning_rate": 0.02255696731716368},
    ),
    "lsac": DataSet(
        "lsac.csv",
        "pass_bar",
        "race1",
        ("race1", "gender", "fam_inc", "fulltime"),
        {"max_depth": 9, "learning_rate": 0.18177994587365698},
    ),
    "acs-coverage": DataSet(
        "acs_coverage_tx2018.csv",
        "pubcov",
        "dis",
        ("dis", "agep", "sex", "schl"),
        {"max_depth": 47, "learning_rate": 0.20243400958078808},
        ("ST",),
    ),
}


def parts(data: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the cells of each data set, of some of its rows."""
    return {name: partial(_small, name, data) for name in DATA_SETS}


def full_parts(data: Path) -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the cells of each data set, of all of its rows."""
    changed = {"n_estimators": FULL_TREES}
    return {name: partial(_cells, name, data / DATA_SETS[name].file, changed) for name in DATA_SETS}


def _small(name: str, data: Path) -> dict[str, Any]:
    with TemporaryDirectory() as folder:
        path = some_rows(data / DATA_SETS[name].file, Path(folder) / "rows.csv")
        found = _cells(name, path, {"n_estimators": TREES})
        return {**found, "experiment": _experiment(name, path, Path(folder))}


def some_rows(source: Path, path: Path) -> Path:
    """Write about `ROWS` rows of a CSV file, from all over it."""
    with source.open(encoding="utf-8") as stream:
        header, *rows = stream.read().splitlines()
    chosen = rows[:: len(rows) // ROWS][:ROWS]
    path.write_text("\n".join([header, *chosen]) + "\n", encoding="utf-8")
    return path


def _cells(name: str, path: Path, changed: dict[str, float]) -> dict[str, Any]:
    data = DATA_SETS[name]
    codes = entry_points.code_table(path, data.ignored)
    parameters = data.parameters | changed
    found = {"NonDP": _cell(name, codes, parameters, "GRR", "uniform", clear=True)}
    for protocol in PROTOCOLS:
        for split in SPLITS:
            found[f"{protocol} {split}"] = _cell(name, codes, parameters, protocol, split)
    return found


def _cell(
    name: str, codes: Any, parameters: dict[str, float], protocol: str, split: str, *,
    clear: bool = False,
) -> dict[str, Any]:  # fmt: skip
    data = DATA_SETS[name]
    survey = entry_points.cells_survey(
        codes,
        name=name,
        target=data.target,
        protected=data.protected,
        sensitive=data.sensitive,
        protocol=protocol,
        split=split,
        epsilon=EPSILON,
    )
    evaluation, scored, trees = entry_points.cell_of_codes(
        survey, codes, parameters, seed=SEED, clear=clear
    )
    learned = {
        "metrics": {
            metric: repr(value) if isinstance(value, float) else "undefined"
            for metric, value in evaluation["metrics"].items()
        },
        "scores": scores(scored),
        "predictions": digest((scored > 0.5).astype(np.uint8)),
        "trees": digest_of_bytes(trees.encode()),
    }
    if clear:
        return {"rows": evaluation["rows"], "learned": learned}
    records = entry_points.encode(survey, codes, np.random.default_rng(SEED))
    return {
        "survey": survey.digest,
        "records": digest(records),
        "rows": evaluation["rows"],
        "learned": learned,
    }


def _experiment(name: str, path: Path, folder: Path) -> dict[str, Any]:
    """Run small experiments by the command line; return their rows but for the timings."""
    common = ("--data", path, "--seeds", "0-1", "--params", "n_estimators=10", "--jobs", 1)
    grids: dict[str, tuple[object, ...]] = {
        "paper": (name, "--epsilons", "1,8", "--protocols", "GRR,OLH,SS"),
        "appendix": (f"{name}-appendix", "--epsilons", "4", "--protocols", "OUE"),
    }
    if name == "adult":
        options = ("--epsilons", "4", "--protocols", "RAPPOR,THE", "--splits", "uniform,optimal")
        grids["posterior"] = (name, *options, "--encoding", "posterior")
    found = {}
    for grid, options in grids.items():
        out = folder / grid
        hushpoll("experiment", "run", *options, *common, "--out", out)
        with (out / "results.csv").open(encoding="utf-8", newline="") as stream:
            rows = [
                [value for column, value in row.items() if not column.endswith(UNPINNED)]
                for row in csv.DictReader(stream)
            ]
        found[grid] = {"rows": len(rows), "learned": rows}
    return found
