"""People's rows in clear, with numbers beside categories: what a central learner is fitted to."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy.sparse import csr_matrix, hstack

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.data.coded import attribute_name
from hushpoll_training.learners.design import Design
from hushpoll_training.models.model import Codes


@dataclass(frozen=True, slots=True)
class Scale:
    """How a number becomes a feature, (value - centre) / width, and a survey's category.

    The constants are part of the data set's description and are taken to be public. Constants that
    are computed from the rows of a training would tell something about them.
    """

    centre: float
    width: float
    """Positive."""
    edges: tuple[float, ...]
    """Ascending: category 0 is below the first, category j holds the values from edge j - 1 on."""


@dataclass(frozen=True, slots=True)
class ClearRows:
    """Rows of a data set; columns have the names of attributes."""

    name: str
    numbers: Mapping[str, npt.NDArray[np.float64]]
    """Columns of numbers, f64[n], as they were published."""
    scales: Mapping[str, Scale]
    codes: Codes
    """The other columns, int64[n] in [0, k), the target and the protected one included."""
    categories: Mapping[str, tuple[str, ...]]
    """Those of each column of codes."""
    target: str
    """Column of two codes; 1 is positive."""
    protected: str
    """Column; code 1 is the privileged group and code 0 the one that is compared with it."""

    @property
    def rows(self) -> int:
        """Number of people."""
        return len(self.codes[self.target])

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of all columns: numbers first."""
        return (*self.numbers, *self.codes)

    def design(self) -> Design:
        """Return scaled numbers and one-hot categories, with the labels, as learners need them.

        The table has a column for each number, then one for each category of every column of codes
        but the target.
        """
        features = [name for name in self.codes if name != self.target]
        parts: list[Any] = [
            csr_matrix((values - self.scales[name].centre)[:, None] / self.scales[name].width)
            for name, values in self.numbers.items()
        ]
        names = list(self.numbers)
        places: dict[str, slice] = {}
        for name in features:
            labels = self.categories[name]
            places[name] = slice(len(names), len(names) + len(labels))
            names += [f"{name}={label}" for label in labels]
            place = (np.arange(self.rows), self.codes[name])
            parts.append(csr_matrix((np.ones(self.rows), place), (self.rows, len(labels))))
        table = hstack(parts, format="csr", dtype=np.float32)
        return Design(
            table, self.codes[self.target], tuple(names), places[self.protected], attributes=places
        )

    def survey_codes(self) -> dict[str, npt.NDArray[np.int64]]:
        """Return all columns as a survey would hold them; numbers as the intervals of their edges.

        A column of one category, or whose largest code is 0, asks nothing and is left out.
        """
        intervals = {
            name: np.searchsorted(self.scales[name].edges, values, side="right").astype(np.int64)
            for name, values in self.numbers.items()
        }
        return {name: codes for name, codes in {**intervals, **self.codes}.items() if codes.any()}

    def digest(self) -> str:
        """Return the SHA-256 of names, numbers, scales and codes."""
        content = hashlib.sha256()
        for part in self._parts():
            content.update(part)
        return content.hexdigest()

    def _parts(self) -> Iterator[bytes]:
        yield f"{self.target} {self.protected}".encode()
        for name, values in self.numbers.items():
            yield f"{name} {self.scales[name]}".encode()
            yield np.ascontiguousarray(values, "<f8").tobytes()
        for name, codes in self.codes.items():
            yield f"{name} {self.categories[name]}".encode()
            yield np.ascontiguousarray(codes, "<i8").tobytes()


def clear_rows(
    name: str,
    table: pd.DataFrame,
    scales: Mapping[str, Scale],
    *,
    target: tuple[str, Any],
    protected: tuple[str, Any, Any],
    missing: str,
) -> ClearRows:
    """Return the rows of a table whose columns with a scale are numbers, the others categories.

    The target is a column and its positive value; any other value is negative. The protected one is
    a column, the value of the unprivileged group and that of the privileged one; further values are
    categories after these. Rows with a missing category are dropped (``drop``), or it is the last
    category (``category``). Rows with a missing number, target or protected value are always
    dropped. Refuses a table without one of the columns, or of which no row is left.
    """
    for column in (*scales, target[0], protected[0]):
        if column not in table.columns:
            raise InvalidParameter(
                f"the data of {name} has no column {column}; give the file as it was published. "
                f"The columns are {', '.join(map(str, table.columns))}",
                field="data",
            )
    needed = [*scales, target[0], protected[0]]
    table = table.dropna(how="any", subset=None if missing == "drop" else needed)
    if table.empty:
        raise InvalidParameter(
            f"no row of {name} has a value in every column; give the file as it was published",
            field="data",
        )
    codes: dict[str, npt.NDArray[np.int64]] = {}
    categories: dict[str, tuple[str, ...]] = {}
    for column in table.columns:
        if column in scales:
            continue
        values = table[column]
        key = attribute_name(str(column))
        if column == target[0]:
            codes[key] = (values == target[1]).to_numpy(np.int64)
            categories[key] = ("0", "1")
            continue
        ordered = sorted(values.dropna().unique().tolist())
        if column == protected[0]:
            first = list(protected[1:])
            ordered = first + [value for value in ordered if value not in first]
        place = {value: code for code, value in enumerate(ordered)}
        codes[key] = values.map(place).fillna(len(ordered)).to_numpy(np.int64)
        labels = [str(value) for value in ordered]
        categories[key] = (*labels, "missing") if values.isna().any() else tuple(labels)
    return ClearRows(
        name,
        {attribute_name(key): table[key].to_numpy(np.float64) for key in scales},
        {attribute_name(key): scale for key, scale in scales.items()},
        codes,
        categories,
        attribute_name(target[0]),
        attribute_name(protected[0]),
    )
