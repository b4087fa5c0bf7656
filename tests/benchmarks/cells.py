"""Cells of the paper on Adult: against LightGBM alone, and the grid against the paper's way."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import numpy as np
from lightgbm import LGBMClassifier

from benchmarks.harness import Figure, against, announced
from benchmarks.paper import PARAMETERS, STANDARD_ERRORS, publish
from hushpoll_analysis import Records
from hushpoll_lab.experiments import shipped
from hushpoll_lab.experiments.configuration import REFERENCE, Experiment
from hushpoll_lab.experiments.grid import Task, run_cell
from hushpoll_lab.experiments.pool import Setup, run_tasks
from hushpoll_lab.experiments.protocol_grid import read_data
from hushpoll_lab.experiments.results.comparison import compare
from hushpoll_lab.experiments.results.summaries import (
    Place,
    Summaries,
    Summary,
    read_summaries,
)
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training.data.coded import read_codes
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import Codes, take
from hushpoll_training.models.recipe import Recipe
from hushpoll_training.runs.cell import cell, perturbation, split_rows

OVERHEAD = 1.15
FASTER = 2.5
REPEATS = 5
# One of each family, so that few cells speak for the grid.
GRID = {"protocols": ["GRR", "OLH", "OUE", "SS"], "splits": ["uniform"], "epsilons": [4]}
TOGETHER, ALONE = 2, 2
"""Our cells at a time, a thread each; and the threads of the paper's one cell at a time."""


def overhead(data: Path) -> list[Figure]:
    """A cell of Adult, and LightGBM's own fit and predict of the same tables, in turns."""
    codes = read_codes(data / "adult_26k.csv")
    pairs = [pair for protocol in ("GRR", "OUE", "OLH") for pair in _in_turns(codes, protocol)]
    ratios = [ours / theirs for ours, theirs in pairs]
    print(f"  ratios {min(ratios):.3f} to {max(ratios):.3f}")
    return [
        against(
            "a cell of Adult (perturb, encode, fit, score), one thread, mean of 3 protocols",
            unit="s",
            ours=statistics.mean(ours for ours, _ in pairs),
            peer=statistics.mean(theirs for _, theirs in pairs),
            peer_name="LightGBM's own fit and predict",
            goal=1 / OVERHEAD,
            repeats=len(pairs),
        )
    ]


def _in_turns(codes: Codes, protocol: str) -> list[tuple[float, float]]:
    published = publish(codes, protocol, "uniform")
    train, test = split_rows(published, codes, 0)
    features = one_hot_features(published)
    records = encode_many(published, take(codes, train), perturbation(published, 0))
    inside = features.from_records(Records(published, records))
    outside = features.from_codes(take(codes, test))
    label = codes["income"][train]
    # compiled before it is timed
    cell(published, codes, Recipe.of({"n_estimators": 2}), FitOptions())

    def alone() -> None:
        model = LGBMClassifier(
            objective="binary", random_state=0, n_jobs=1, verbosity=-1, **PARAMETERS
        )
        model.fit(inside, label)
        model.predict(outside)

    def whole() -> None:
        cell(published, codes, Recipe.of(PARAMETERS), FitOptions())

    with announced(f"a cell of Adult and LightGBM alone, {protocol}, one thread"):
        return [(_processor(whole), _processor(alone)) for _ in range(REPEATS)]


def grid(data: Path, seeds: int) -> list[Figure]:
    """Cells an hour on two processors: ours, two at a time, and the paper's way, one at a time."""
    settings = shipped.find("adult") | GRID | {"data": data / "adult_26k.csv", "seeds": [0]}
    settings["seeds"] = list(range(seeds))
    ours = Experiment.from_dict(settings)
    theirs = Experiment.from_dict(settings | {"engine": REFERENCE})
    codes = read_data(ours)
    places = [Place(protocol, "uniform", 4.0) for protocol in GRID["protocols"]]
    tasks = [Task(place.protocol, "uniform", "4", seed) for place in places for seed in ours.seeds]
    results: dict[str, dict[Task, dict[str, float]]] = {"ours": {}, "theirs": {}}
    with announced(f"{len(tasks)} cells of Adult, {TOGETHER} at a time with one thread each"):
        # A grid runs for hours. So neither pays for its start: our processes' is over with their
        # first cells, and the paper's way has its clients compiled.
        begun = time.perf_counter()
        start = begun
        with closing(run_tasks(tasks, Setup(ours, codes), TOGETHER)) as cells:
            for task, result in cells:
                results["ours"][task] = result["metrics"]
                if len(results["ours"]) == TOGETHER:
                    start = time.perf_counter()
        end = time.perf_counter()
        ours_seconds = (end - start) / (len(tasks) - TOGETHER)
        print(f"  {(end - begun) / len(tasks):.2f} s a cell with the start of the processes")
    quick = Experiment.from_dict(settings | {"engine": REFERENCE, "params": {"n_estimators": 2}})
    for place in places:
        run_cell(quick, codes, Task(place.protocol, "uniform", "4", 0), threads=ALONE)
    with announced(f"the same the paper's way, one at a time with {ALONE} threads"):
        start = time.perf_counter()
        for task in tasks:
            evaluation, _ = run_cell(theirs, codes, task, threads=ALONE)
            results["theirs"][task] = evaluation.to_json()["metrics"]
        theirs_seconds = (time.perf_counter() - start) / len(tasks)
    figures = [
        against(
            f"{len(tasks)} cells of Adult on two processors, seconds a cell once it runs",
            unit="s",
            ours=ours_seconds,
            peer=theirs_seconds,
            peer_name="row by row, one cell at a time with two threads",
            goal=FASTER,
            repeats=len(tasks),
        )
    ]
    published = read_summaries(data / "reference_adult.csv")
    for name, metrics in results.items():
        worst = max(
            (row for row in compare(_summaries(metrics), published).rows),
            key=lambda row: abs(row.distance),
        )
        print(
            f"  {name}: {3600 / {'ours': ours_seconds, 'theirs': theirs_seconds}[name]:.0f} "
            f"cells an hour; farthest mean {worst.place} {worst.metric} {worst.distance:+.2f}"
        )
    gap = max(_gaps(results["ours"], results["theirs"], published))
    figures.append(
        Figure(
            f"accuracy, DI, SPD of both ways, {seeds} seeds a cell: farthest means apart",
            "standard errors",
            gap,
            STANDARD_ERRORS,
            "limit",
            STANDARD_ERRORS / gap,
            1,
            len(tasks),
        )
    )
    return figures


def _gaps(
    ours: dict[Task, dict[str, float]], theirs: dict[Task, dict[str, float]], published: Summaries
) -> list[float]:
    mine, other = _summaries(ours), _summaries(theirs)
    gaps = []
    for place, metrics in mine.items():
        for metric in ("accuracy", "DI", "SPD"):
            runs = metrics[metric].runs
            error = published[place][metric].sd * np.sqrt(2 / runs)
            gaps.append(abs(metrics[metric].mean - other[place][metric].mean) / float(error))
    return gaps


def _summaries(metrics_of: dict[Task, dict[str, float]]) -> dict[Place, dict[str, Summary]]:
    summaries: dict[Place, dict[str, Summary]] = {}
    for task in metrics_of:
        place = Place(task.protocol, task.split, float(task.epsilon))
        runs = [metrics_of[run] for run in metrics_of if run[:3] == task[:3]]
        summaries[place] = {metric: Summary.of(run[metric] for run in runs) for metric in METRICS}
    return summaries


def _processor(action: Callable[[], object]) -> float:
    # Of one thread, and not inflated by other processes.
    start = time.process_time()
    action()
    return time.process_time() - start
