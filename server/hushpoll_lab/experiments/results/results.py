"""Writing and reading results.csv and results.parquet: a row per finished cell, in a fixed order.

An undefined metric is an empty cell, and the column ``undefined`` says why: a nan or a zero would
pass for a number in a program that reads the file.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from io import BytesIO, StringIO
from pathlib import Path
from typing import Any, Final

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

from hushpoll_analysis.frames.parquet_cells import is_parquet
from hushpoll_lab.experiments.grid import Task
from hushpoll_lab.experiments.journal import (
    CELLS,
    DESCRIPTION,
    read_cells,
    read_description,
)
from hushpoll_lab.experiments.kinds import AnyCell
from hushpoll_lab.experiments.methods.method import NONE, Trial
from hushpoll_lab.experiments.methods.run import METRICS as METHOD_METRICS
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.table_reader import open_table
from hushpoll_shared.reading.text_files import word
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.survey.randomization.budget import DRAFT_SPLITS
from hushpoll_training.evaluation.metrics import METRICS
from hushpoll_training.runs.cell import BASELINE
from hushpoll_training.runs.whole_file import write_file

CSV: Final = "results.csv"
PARQUET: Final = "results.parquet"
FAILURES: Final = "failures.csv"
TIMINGS: Final = ("perturb", "fit", "score")
UNDEFINED: Final = "undefined"


@dataclass(frozen=True, slots=True)
class Layout:
    """The columns of one kind of experiment: the fields of a cell, then metrics."""

    cell: type[AnyCell]
    metrics: tuple[str, ...]
    texts: tuple[str, ...]
    """Those fields of a cell that are no numbers."""

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns of results.csv, in order."""
        seconds = (f"{name}_seconds" for name in TIMINGS)
        return (*self.cell._fields, *self.metrics, *seconds, UNDEFINED)

    @property
    def numbers(self) -> tuple[str, ...]:
        """The columns of numbers."""
        return tuple(name for name in self.columns if name not in (*self.texts, UNDEFINED))

    @property
    def schema(self) -> pa.Schema:
        """The schema of results.parquet."""
        kinds = {
            name: pa.float64() if name in self.numbers else pa.string() for name in self.columns
        }
        return pa.schema(kinds | {"seed": pa.int64()})

    def row(self, task: AnyCell, cell: Mapping[str, Any]) -> dict[str, Any]:
        """Return the row of a finished cell."""
        metrics = {name: cell["metrics"][name] for name in self.metrics}
        undefined = {
            name: value["undefined"]
            for name, value in metrics.items()
            if isinstance(value, Mapping)
        }
        return {
            **task._asdict(),
            **{name: None if name in undefined else value for name, value in metrics.items()},
            **{f"{name}_seconds": cell["timings"][name] for name in TIMINGS},
            UNDEFINED: "; ".join(f"{name}: {reason}" for name, reason in undefined.items()),
        }


LAYOUTS: Final[Mapping[type[AnyCell], Layout]] = {
    Task: Layout(Task, METRICS, ("protocol", "split")),
    Trial: Layout(Trial, METHOD_METRICS, ("method", "protocol", "split", "accountant")),
}
COLUMNS: Final = LAYOUTS[Task].columns
"""Columns of results.csv of a grid of protocols, in order."""


def write_results(
    out: Path, cells: Mapping[AnyCell, JsonObject], kind: type[AnyCell] = Task
) -> None:
    """Write the finished cells as CSV and Parquet, and the failed ones beside them.

    Files of these names are replaced; cells are as a journal holds them.
    """
    layout = LAYOUTS[kind]
    ordered = sorted(cells.items(), key=lambda cell: cell[0].place())
    rows = [layout.row(task, cell).values() for task, cell in ordered if "error" not in cell]
    write_file(out / CSV, csv_text(layout.columns, rows).encode())
    buffer = BytesIO()
    pq.write_table(results_table(cells, kind), buffer)
    write_file(out / PARQUET, buffer.getvalue())
    failures = [(*task, cell["error"]) for task, cell in ordered if "error" in cell]
    if failures:
        write_file(out / FAILURES, csv_text((*kind._fields, "error"), failures).encode())
    else:
        (out / FAILURES).unlink(missing_ok=True)


def results_table(
    cells: Mapping[AnyCell, Mapping[str, Any]], kind: type[AnyCell] = Task
) -> pa.Table:
    """Return the finished cells as a table, in the order and types of results.parquet."""
    layout = LAYOUTS[kind]
    rows = [
        layout.row(task, cells[task])
        for task in sorted(cells, key=lambda cell: cell.place())
        if "error" not in cells[task]
    ]
    for row in rows:
        row |= {name: float(row[name]) for name in layout.numbers if isinstance(row[name], str)}
    return pa.Table.from_pylist(rows, schema=layout.schema)


def read_results(path: Path, kind: type[AnyCell] = Task) -> pd.DataFrame:
    """Read results that an experiment wrote.

    Parameters
    ----------
    path : Path
        results.csv, results.parquet, or the folder of a run; what is done so far, if it is under
        way.
    kind : type
        Task for a grid of protocols, Trial for an experiment on methods.

    Returns
    -------
    DataFrame
        Columns as in results.csv; nan where a metric is undefined.

    Raises
    ------
    InvalidParameter
        If it is no such file.
    OSError
        If it cannot be read.
    """
    layout = LAYOUTS[kind]
    file = path / CSV if path.is_dir() else path
    if path.is_dir() and not file.is_file() and (path / CELLS).is_file():
        # A run that is under way writes its results when it ends.
        cells = {task: cell for task, cell in read_cells(path).items() if type(task) is kind}
        frame: pd.DataFrame = results_table(cells, kind).to_pandas()
        return frame.astype({"seed": "int64"})
    if not file.is_file():
        raise InvalidParameter(
            f"results {str(path)!r} is neither a file nor a folder with {CSV}; give the --out of "
            f"hushpoll experiment run, or its {CSV} or {PARQUET}",
            field="results",
        )
    try:
        table = pd.read_parquet(file) if is_parquet(file) else _read_csv(file, layout)
        if ("method" in table.columns) != (kind is Trial):
            raise ValueError(f"its cells are not of the kind {kind.__name__}")
        for name in layout.columns:
            if name not in table.columns:
                raise ValueError(f"it has no column {name}")
        if (table["seed"] % 1 != 0).any():
            raise ValueError("a seed is no whole number")
        table = table.astype({"seed": "int64"})
        clear = NONE if kind is Trial else BASELINE
        known = {"protocol": (clear, *PROTOCOLS), "split": ("none", *DRAFT_SPLITS)}
        for name, values in known.items():
            for value in sorted(set(table[name]) - set(values)):
                raise ValueError(f"the {name} {value!r} is none of {', '.join(values)}")
    except ValueError as error:
        raise InvalidParameter(
            f"{word(file)} holds no results ({' '.join(str(error).split())}); give what hushpoll "
            "experiment run wrote",
            field="results",
        ) from None
    return table


def _read_csv(file: Path, layout: Layout) -> pd.DataFrame:
    with open_table(file, field="results") as table:
        numbers = {place for place, name in enumerate(table.header) if name in layout.numbers}
        rows = [
            [
                table.number(row, place, beyond=True) if place in numbers and text
                else math.nan if place in numbers
                else text
                for place, text in enumerate(row.cells)
            ]
            for row in table.rows()
        ]  # fmt: skip
        return pd.DataFrame(rows, columns=list(table.header))


def folder_of(results: Path) -> Path:
    """Return the folder of a run, of which the path of results may be a file."""
    return results if results.is_dir() else results.parent


def kind_of(path: Path) -> type[AnyCell]:
    """Return the kind of the cells of a run's folder, or of its results.csv or results.parquet."""
    folder = folder_of(path)
    if not (folder / DESCRIPTION).is_file():
        return Task
    return Trial if read_description(folder).get("kind") == "methods" else Task


def csv_text(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    """Return a CSV file with a header, its lines ended by a line feed alone."""
    text = StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(rows)
    return text.getvalue()
