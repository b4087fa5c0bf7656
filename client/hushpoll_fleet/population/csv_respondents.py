"""Respondents from a CSV file: one row each, columns named by attribute, values by category.

The whole file is checked before anything is sent, since sent reports cannot be taken back.
"""

from __future__ import annotations

import csv
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.csv_cells import escaped, unescaped
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.attributes import Attribute

_SHOWN = 20
_ROW_LENGTH = "(row length)"


@dataclass(frozen=True, slots=True)
class BadValue:
    """One value of a file that the survey does not know.

    Attributes
    ----------
    row : int
        Number of the respondent, from 1; the header is not counted.
    line : int
        Line of the file on which the row ends, from 1.
    column : str
        Attribute.
    value : str
        The file's value.
    remedy : str
        Which values are allowed.
    """

    row: int
    line: int
    column: str
    value: str
    remedy: str

    def __str__(self) -> str:
        return (
            f"row {self.row} (line {self.line}), column {self.column}: {show(self.value)}; "
            f"{self.remedy}"
        )


class BadRows(InvalidParameter):
    """A file of respondents with values that the survey does not know; nothing was sent.

    Attributes
    ----------
    values : tuple of BadValue
        All of them; the message shows the first 20.
    """

    def __init__(self, path: Path, values: Sequence[BadValue]) -> None:
        rows = len({value.row for value in values})
        columns = Counter(value.column for value in values)
        counts = ", ".join(f"{count} in {column}" for column, count in columns.most_common())
        lines = [
            f"{path} has {len(values)} bad values in {rows} rows ({counts}); nothing was sent. "
            "Correct them, or write them all to a file with --bad-rows:",
            *(f"  {value}" for value in values[:_SHOWN]),
        ]
        if len(values) > _SHOWN:
            lines.append(f"  … and {len(values) - _SHOWN} more")
        super().__init__("\n".join(lines), field="data")
        self.values = tuple(values)


def read_respondents(
    path: Path, attributes: Sequence[Attribute], *, ignored: Iterable[str] = ()
) -> SimulatedRespondents:
    """Read and check a CSV file with a header (UTF-8, comma-separated).

    Parameters
    ----------
    path : Path
        The file.
    attributes : sequence of Attribute
        The survey's attributes. One with a ``missing`` category may lack its column; an empty value
        means missing.
    ignored : iterable of str
        Columns to leave out.

    Raises
    ------
    BadRows
        If any value is no category of its attribute, or a row is too short or too long.
    InvalidParameter
        If the header lacks an attribute, or has a column that is none, or the file is no UTF-8
        text.
    OSError
        If the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            return _read(path, csv.reader(stream), attributes, frozenset(ignored))
    except UnicodeDecodeError as error:
        raise InvalidParameter(
            f"{path} is no UTF-8 text ({error.reason} at byte {error.start}); save it as UTF-8",
            field="data",
        ) from None
    except csv.Error as error:
        raise InvalidParameter(f"{path} is no CSV file: {error}", field="data") from None


def _read(
    path: Path,
    reader: Any,
    attributes: Sequence[Attribute],
    ignored: frozenset[str],
) -> SimulatedRespondents:
    header = next(reader, None)
    if header is None:
        raise InvalidParameter(
            f"{path} is empty; give a header of attribute names and one row per respondent",
            field="data",
        )
    header = [unescaped(column) for column in header]
    positions = _columns(path, header, attributes, ignored)
    # A lookup per cell; the slower check words the remedy of the few that fail.
    known: list[Mapping[str, int]] = [
        {
            cell: code
            for spelled in (str, escaped)
            for code, cell in enumerate(map(spelled, attribute.domain))
        }
        for attribute in attributes
    ]
    rows: list[tuple[int, ...]] = []
    bad: list[BadValue] = []
    number = 0
    for cells in reader:
        if not cells:
            continue
        number += 1
        line = reader.line_num
        if len(cells) != len(header):
            remedy = f"the header names {len(header)} columns: give as many values"
            bad.append(BadValue(number, line, _ROW_LENGTH, f"{len(cells)} values", remedy))
            continue
        codes = []
        for attribute, position, lookup in zip(attributes, positions, known, strict=True):
            text = "" if position is None else cells[position]
            code = lookup.get(text)
            if code is None:
                try:
                    code = attribute.code(text or None)
                except InvalidParameter as error:
                    _, _, remedy = str(error).rpartition("; ")
                    bad.append(BadValue(number, line, attribute.name, text, remedy))
                    continue
            codes.append(code)
        rows.append(tuple(codes))
    if bad:
        raise BadRows(path, bad)
    return SimulatedRespondents.of_rows(attributes, rows)


def _columns(
    path: Path, header: list[str], attributes: Sequence[Attribute], ignored: frozenset[str]
) -> list[int | None]:
    names = [attribute.name for attribute in attributes]
    for column in header:
        if header.count(column) > 1:
            raise InvalidParameter(
                f"{path} has the column {show(column)} twice; remove one", field="data"
            )
        if column not in names and column not in ignored:
            raise InvalidParameter(
                f"{path} has the column {show(column)}, which the survey does not ask; remove it, "
                f"or pass --ignore {column}. The survey's attributes are {', '.join(names)}",
                field="data",
            )
    for name in sorted(ignored):
        if name in names:
            raise InvalidParameter(
                f"--ignore names {name!r}, an attribute of the survey; leave it out", field="ignore"
            )
    positions: list[int | None] = []
    for attribute in attributes:
        if attribute.name in header:
            positions.append(header.index(attribute.name))
        elif attribute.missing is not None:
            positions.append(None)
        else:
            raise InvalidParameter(
                f"{path} has no column {attribute.name!r}, and the survey gives it no category "
                f"for a missing answer; add the column. The file's columns are {', '.join(header)}",
                field="data",
            )
    return positions
