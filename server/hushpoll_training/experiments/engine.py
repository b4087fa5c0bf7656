"""The run of an experiment: cells without a result are run, and the results of all are written."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Generator, Iterable, Mapping
from contextlib import closing
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path
from typing import Any, Final

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.manifest import Manifest
from hushpoll_training.data.coded import attribute_name, read_codes
from hushpoll_training.data.rows import read_rows
from hushpoll_training.experiments.configuration import REFERENCE, Experiment
from hushpoll_training.experiments.grid import Task, draft, publish, tasks
from hushpoll_training.experiments.journal import open_journal
from hushpoll_training.experiments.pool import Setup, run_tasks
from hushpoll_training.experiments.results.results import write_results
from hushpoll_training.models.model import Codes, count_rows

REFERENCE_PACKAGES: Final = ("multi-freq-ldpy", "numba", "xxhash")
"""Packages that only the reference engine's results depend on."""

OnCell = Callable[[Task, dict[str, Any]], None]

Runner = Callable[[Iterable[Task], Setup], Generator[tuple[Task, dict[str, Any]]]]
"""Runs cells and yields each as it is done; closing it ends those that are running."""


@dataclass(frozen=True, slots=True)
class Finished:
    """How a run ended.

    Attributes
    ----------
    cells : int
        Of the whole grid, baselines included.
    resumed : int
        Done by an earlier run.
    failed : mapping of Task to str
        Error of each cell that has no result.
    """

    cells: int
    resumed: int
    failed: dict[Task, str]


def run_experiment(
    experiment: Experiment,
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
    experiment : Experiment
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
    codes = read_data(experiment)
    check_columns(experiment, codes)
    if experiment.engine == REFERENCE:
        # Its packages belong to another extra, and some versions give wrong results.
        from hushpoll_training.experiments.reference.clients import check_clients

        check_clients()
    grid = tasks(experiment)
    with open_journal(out, describe(experiment, codes)) as journal:
        left = missing(grid, journal.cells)
        resumed = len(grid) - len(left)
        if on_start is not None:
            on_start(len(grid), resumed)
        setup = Setup(experiment, codes)
        try:
            with closing(
                runner(left, setup) if runner else run_tasks(left, setup, jobs or processors())
            ) as running:
                for task, result in running:
                    journal.append(task, result)
                    if on_cell is not None:
                        on_cell(task, result)
        finally:
            write_results(out, journal.cells)
        failed = {task: journal.cells[task].get("error") for task in grid}
    return Finished(len(grid), resumed, {task: text for task, text in failed.items() if text})


def read_data(experiment: Experiment) -> Codes:
    """Read the rows as codes, int64[n] by attribute.

    Raises
    ------
    InvalidParameter
        Naming file, row, column and value of what does not fit.
    OSError
        If the file cannot be read.
    """
    manifest = experiment.manifest
    if manifest is None:
        return read_codes(experiment.data, ignored=experiment.ignore)
    if not experiment.coded:
        return read_rows(experiment.data, manifest.resolve(), ignored=experiment.ignore)
    codes = read_codes(experiment.data, ignored=experiment.ignore)
    return _in_domains(experiment, manifest, codes)


def _in_domains(experiment: Experiment, manifest: Manifest, codes: Codes) -> Codes:
    sizes = {attribute.name: attribute.k for attribute in manifest.attributes}
    for name in codes:
        if name not in sizes:
            raise InvalidParameter(
                f"{experiment.data} has the column {show(name)}, which {manifest.name} does not "
                f"ask; ignore it. The attributes are {', '.join(sizes)}",
                field="data",
            )
    for name, k in sizes.items():
        if name not in codes:
            raise InvalidParameter(
                f"{experiment.data} has no column {name}, which {manifest.name} asks; add it. The "
                f"columns are {', '.join(codes)}",
                field="data",
            )
        if codes[name].max() >= k:
            row = int(codes[name].argmax())
            raise InvalidParameter(
                f"{experiment.data} row {row + 1}, column {name}: {codes[name][row]} is no code in "
                f"[0, {k - 1}], the domain that {manifest.name} gives it",
                field="data",
            )
    return {name: codes[name] for name in sizes}


def missing(grid: Iterable[Task], cells: Mapping[Task, Mapping[str, Any]]) -> list[Task]:
    """Return the cells of a grid without a result, in its order.

    Failed cells are among them: memory may have been short.
    """
    return [task for task in grid if "error" in cells.get(task, {"error": ""})]


def describe(experiment: Experiment, codes: Codes) -> dict[str, Any]:
    """Return what results depend on: settings, the data's content, versions of what computes."""
    content = hashlib.sha256(experiment.data.read_bytes()).hexdigest()
    used = experiment.recipe.learner.versions()
    # Python's own version changes no result, and changes often.
    del used["python"]
    if experiment.engine == REFERENCE:
        used |= {name: metadata.version(name) for name in REFERENCE_PACKAGES}
    return {
        "kind": "experiment",
        "configuration": experiment.settings(),
        "data": {"rows": count_rows(codes), "columns": list(codes), "sha256": content},
        "versions": used,
    }


def check_columns(experiment: Experiment, codes: Codes) -> None:
    """Refuse a configuration whose columns the data does not have, or that makes no survey.

    Raises
    ------
    InvalidParameter
        Naming the field and the column.
    """
    if experiment.manifest is not None:
        # Its domains are declared, so the data need not hold every category.
        publish(experiment, codes, tasks(experiment)[-1])
        return
    for column in experiment.sensitive:
        if attribute_name(column) not in codes:
            raise InvalidParameter(
                f"sensitive names {column!r}, which is no column of {experiment.data}; the columns "
                f"are {', '.join(codes)}",
                field="sensitive",
            )
    for name, values in codes.items():
        if not values.any():
            raise InvalidParameter(
                f"column {name} of {experiment.data} holds code 0 alone, so it tells nothing; name "
                "it in ignore",
                field="ignore",
            )
    cell = Task(
        experiment.protocols[0], experiment.splits[0], experiment.epsilons[-1], experiment.seeds[0]
    )
    draft(experiment, codes, cell, experiment.sensitive)


def processors() -> int:
    """Return how many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
