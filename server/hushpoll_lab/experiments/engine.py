"""The run of an experiment: cells without a result are run, and the results of all are written."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from hushpoll_lab.experiments.journal import open_journal
from hushpoll_lab.experiments.kinds import AnyCell, AnyExperiment, grid_of
from hushpoll_lab.experiments.pool import Setup, run_tasks
from hushpoll_lab.experiments.results.results import write_results
from hushpoll_shared.spelling.json_values import JsonMembers, JsonObject

CellT = TypeVar("CellT", bound=AnyCell)

OnCell = Callable[[AnyCell, JsonMembers], None]

Runner = Callable[[Iterable[AnyCell], Setup], Generator[tuple[AnyCell, JsonMembers]]]
"""Runs cells and yields each as it is done; closing it ends those that are running."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended.

    Attributes
    ----------
    cells : int
        How many the whole grid has, baselines included.
    resumed : int
        Done by an earlier run.
    failed : mapping of Task or Trial to str
        Error of each cell that has no result.
    """

    cells: int
    resumed: int
    failed: dict[AnyCell, str]


def run_experiment(
    experiment: AnyExperiment,
    out: Path,
    *,
    jobs: int | None = None,
    runner: Runner | None = None,
    on_start: Callable[[int, int], None] | None = None,
    on_cell: OnCell | None = None,
) -> Finished:
    """Run the cells that `out` has no result of, and write the results of all.

    Parameters
    ----------
    experiment : Experiment or MethodsExperiment
        What to run.
    out : Path
        New, empty, or of the same experiment on the same data.
    jobs : int, optional
        Processes, each with one thread; as many as there are processors by default. Results do not
        depend on it.
    runner : callable, optional
        Runs the cells elsewhere, such as on a cluster; processes of this machine by default.
    on_start : callable, optional
        Called with (cells in all, cells done by an earlier run).
    on_cell : callable, optional
        Called with each cell and its result, once it is on the disk.

    Raises
    ------
    InvalidParameter
        For data that does not fit the configuration, or a folder that :func:`open_journal` refuses.
    MissingExtra, HushpollError
        If the engine's packages are missing, or would give wrong results.
    OSError
        If a file cannot be read or written.
    """
    plan = grid_of(experiment)
    data = plan.read()
    grid = plan.cells()
    with open_journal(out, plan.describe(data)) as journal:
        left = missing(grid, journal.cells)
        resumed = len(grid) - len(left)
        if on_start is not None:
            on_start(len(grid), resumed)
        setup = Setup(experiment, data)
        try:
            with closing(
                runner(left, setup) if runner else run_tasks(left, setup, jobs or processors())
            ) as running:
                for task, result in running:
                    journal.append(task, result)
                    if on_cell is not None:
                        on_cell(task, result)
        finally:
            write_results(out, journal.cells, type(grid[0]))
        errors = {task: journal.cells[task].get("error") for task in grid}
    return Finished(len(grid), resumed, {task: str(text) for task, text in errors.items() if text})


def missing(grid: Iterable[CellT], cells: Mapping[Any, JsonObject]) -> list[CellT]:
    """Return the cells of a grid without a result, in its order.

    Failed cells are among them: memory may have been short.
    """
    return [task for task in grid if "error" in cells.get(task, {"error": ""})]


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
