"""results.csv and the same as Parquet: one row per finished cell, in an order that never changes.

An undefined metric is an empty cell, and the column ``undefined`` says why; a nan or a zero would
pass for a number in whatever reads the file.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final

import pyarrow as pa
import pyarrow.parquet as pq

from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.experiments.grid import Task
from hushpoll_training.experiments.journal import write_file

CSV: Final = "results.csv"
PARQUET: Final = "results.parquet"
FAILURES: Final = "failures.csv"
TIMINGS: Final = ("perturb", "fit", "score")
UNDEFINED: Final = "undefined"
COLUMNS: Final = (
    *Task._fields,
    *METRICS,
    *(f"{name}_seconds" for name in TIMINGS),
    UNDEFINED,
)
"""Columns of results.csv, in order."""

_SCHEMA: Final = pa.schema(
    [
        (name, pa.string() if name in ("protocol", "split", UNDEFINED) else pa.float64())
        if name != "seed"
        else (name, pa.int64())
        for name in COLUMNS
    ]
)


def write_results(out: Path, cells: Mapping[Task, Mapping[str, Any]]) -> None:
    """Write the finished cells as CSV and Parquet, and the failed ones beside them.

    Parameters
    ----------
    out : Path
        Folder; its files of these names are replaced.
    cells : mapping of Task to dict
        As a journal holds them.

    Raises
    ------
    OSError
        If a file cannot be written.
    """
    ordered = sorted(cells.items(), key=lambda one: one[0].place())
    rows = [_row(task, found) for task, found in ordered if "error" not in found]
    write_file(out / CSV, _csv(COLUMNS, rows))
    buffer = BytesIO()
    pq.write_table(results_table(cells), buffer)
    write_file(out / PARQUET, buffer.getvalue())
    failures = [
        {**task._asdict(), "error": found["error"]} for task, found in ordered if "error" in found
    ]
    if failures:
        write_file(out / FAILURES, _csv((*Task._fields, "error"), failures))
    else:
        (out / FAILURES).unlink(missing_ok=True)


def results_table(cells: Mapping[Task, Mapping[str, Any]]) -> pa.Table:
    """Return the finished cells as a table, in the order and types of results.parquet."""
    ordered = sorted(cells.items(), key=lambda one: one[0].place())
    rows = [_row(task, found) for task, found in ordered if "error" not in found]
    return pa.Table.from_pylist(
        [{**row, "epsilon": float(row["epsilon"])} for row in rows], schema=_SCHEMA
    )


def _row(task: Task, found: Mapping[str, Any]) -> dict[str, Any]:
    metrics = {name: found["metrics"][name] for name in METRICS}
    undefined = {
        name: value["undefined"] for name, value in metrics.items() if isinstance(value, Mapping)
    }
    return {
        **task._asdict(),
        **{name: None if name in undefined else value for name, value in metrics.items()},
        **{f"{name}_seconds": found["timings"][name] for name in TIMINGS},
        UNDEFINED: "; ".join(f"{name}: {reason}" for name, reason in undefined.items()),
    }


def _csv(columns: tuple[str, ...], rows: list[dict[str, Any]]) -> bytes:
    text = StringIO(newline="")
    writer = csv.DictWriter(text, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue().encode()
