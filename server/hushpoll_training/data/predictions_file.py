"""Predictions of any model, with labels and groups, read from a CSV file for a fairness report."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.table_reader import columns_named
from hushpoll_shared.reading.text_files import word
from hushpoll_shared.spelling.text import show
from hushpoll_training.data.rows import Column, read_coded

Codes = dict[str, npt.NDArray[np.int64]]


@dataclass(frozen=True, slots=True)
class PredictionsFile:
    """Rows of a file of predictions."""

    label: npt.NDArray[np.int64]
    """int64[n], 1 where the cell was the positive category, else 0."""
    predicted: npt.NDArray[np.int64]
    """The same of the predicted category."""
    columns: dict[str, npt.NDArray[np.str_]]
    """The columns that tell groups apart, by name."""


def read_predictions(
    path: Path,
    *,
    label: str = "label",
    predicted: str = "predicted",
    positive: str = "1",
    groups: Sequence[str],
    beside: Path | None = None,
) -> PredictionsFile:
    """Read labels, predictions and groups in clear, of a CSV file with a header or Parquet.

    An empty cell of a column of groups is the category ``(empty)``. `beside` is a file of the rows
    that were predicted, in the same order, with the columns of labels and groups, which are in
    `path` by default. Refuses a column of labels or predictions with more than two categories, or
    without the positive one in either, and files of different numbers of rows.
    """
    elsewhere = (
        ""
        if beside is not None
        else ": name one of them, or give the rows that were predicted with --data"
    )
    seen: dict[str, dict[str, int]] = {name: {} for name in (label, predicted, *groups)}

    def coder(name: str) -> Callable[[str], int]:
        def code(text: str) -> int:
            if name in (label, predicted) and not text:
                raise InvalidParameter(
                    f"the cell is empty; give {show(positive)} or another category",
                    field="predictions",
                )
            return seen[name].setdefault(text or "(empty)", len(seen[name]))

        return code

    def read(file: Path, option: str, names: Sequence[str]) -> tuple[Codes, int]:
        def columns(header: Sequence[str]) -> list[Column]:
            for name in names:
                if name not in header:
                    raise InvalidParameter(
                        f"{word(file)} has no column {show(name)}; its columns are "
                        f"{columns_named(header)}{elsewhere}",
                        field=option,
                    )
            return [Column(name, header.index(name), coder(name)) for name in names]

        return read_coded(file, option, columns)

    if beside is None:
        codes, _ = read(path, "predictions", list(seen))
    else:
        codes, predictions = read(path, "predictions", [predicted])
        known, rows = read(beside, "data", [name for name in seen if name != predicted])
        if rows != predictions:
            raise InvalidParameter(
                f"{word(beside)} has {rows} rows, and {word(path)} has {predictions}; give the "
                "file whose rows were predicted, unchanged",
                field="data",
            )
        codes |= known
    categories = sorted({*seen[label], *seen[predicted]})
    if positive not in categories or len(categories) > 2:
        raise InvalidParameter(
            f"{word(path)} has the categories {', '.join(map(show, categories[:6]))} in {label} "
            f"and {predicted}; there must be {show(positive)}, the positive one, and one other: "
            "name it with --positive",
            field="positive",
        )
    binary = {
        name: (codes[name] == seen[name].get(positive, -1)).astype(np.int64)
        for name in (label, predicted)
    }
    return PredictionsFile(
        binary[label],
        binary[predicted],
        {name: np.array(list(seen[name]))[codes[name]] for name in groups},
    )
