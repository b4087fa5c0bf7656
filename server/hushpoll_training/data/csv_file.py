"""CSV files of clear rows, read strictly: a cell that is not understood ends the reading.

Training on rows that were silently dropped or shifted gives numbers that nobody can trust, so every
mistake is named by file, row, column, value and remedy. The file is coded while it is read; its
texts are never held all at once.
"""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.csv_cells import unescaped
from hushpoll_shared.spelling.text import show

CHUNK = 65_536
"""Rows whose texts are held at a time."""


class _Codes(dict[str, int]):
    """Codes of the texts seen so far: each distinct text is checked once."""

    def __init__(self, code: Callable[[str], int]) -> None:
        super().__init__()
        self._code = code

    def __missing__(self, text: str) -> int:
        self[text] = found = self._code(text)
        return found


@dataclass(frozen=True, slots=True)
class Column:
    """A column to read.

    Attributes
    ----------
    name : str
        Name of the attribute that it gives.
    position : int
        Place in the header.
    code : callable
        From a cell's text to its code; raises `InvalidParameter` saying what is wrong with the
        text, and the remedy.
    """

    name: str
    position: int
    code: Callable[[str], int]


@dataclass(slots=True)
class _Chunk:
    first: int = 1
    rows: list[list[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def place(self, at: int) -> str:
        return f"row {self.first + at} (line {self.lines[at]})"


def read_coded(
    path: Path, option: str, columns_of: Callable[[Sequence[str]], Iterable[Column]]
) -> tuple[dict[str, npt.NDArray[np.int64]], int]:
    """Read a CSV file with a header (UTF-8, comma-separated).

    Parameters
    ----------
    path : Path
        The file.
    option : str
        What the file was given as, for the errors' field.
    columns_of : callable
        From the header, without repetitions, to the columns to read; it raises for a header that
        will not do.

    Returns
    -------
    codes : mapping of str to int64[n]
        By the columns' names.
    n : int
        Rows, at least 1.

    Raises
    ------
    InvalidParameter
        If the file is no UTF-8 text, no CSV, has no rows, a row of another length than the header,
        or a cell that its column refuses.
    OSError
        If the file cannot be read.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as stream:
            reader = csv.reader(stream, strict=True)
            header = _header(path, option, next(reader, []))
            columns = [(one, _Codes(one.code)) for one in columns_of(header)]
            parts: dict[str, list[npt.NDArray[np.int64]]] = {one.name: [] for one, _ in columns}
            chunk = _Chunk()
            for cells in reader:
                if not cells:
                    continue
                chunk.rows.append(cells)
                chunk.lines.append(reader.line_num)
                if len(cells) != len(header):
                    raise InvalidParameter(
                        f"{path} {chunk.place(len(chunk.rows) - 1)} has {len(cells)} values, and "
                        f"the header names {len(header)} columns; give one value per column",
                        field=option,
                    )
                if len(chunk.rows) == CHUNK:
                    chunk = _code(path, option, chunk, columns, parts)
            chunk = _code(path, option, chunk, columns, parts)
    except UnicodeDecodeError as error:
        raise InvalidParameter(
            f"{path} is no UTF-8 text ({error.reason} at byte {error.start}); give a CSV file, "
            "saved as UTF-8",
            field=option,
        ) from None
    except csv.Error as error:
        raise InvalidParameter(
            f"{path} line {reader.line_num} is no CSV: {error}; correct the quotes", field=option
        ) from None
    if chunk.first == 1:
        raise InvalidParameter(f"{path} has no rows; give a file with some", field=option)
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}, chunk.first - 1


def _header(path: Path, option: str, header: list[str]) -> list[str]:
    if not header:
        raise InvalidParameter(
            f"{path} is empty; give a header of attribute names and one row per person",
            field=option,
        )
    header = [unescaped(column) for column in header]
    for column in header:
        if header.count(column) > 1:
            raise InvalidParameter(
                f"{path} has the column {show(column)} twice; remove one", field=option
            )
    return header


def _code(
    path: Path,
    option: str,
    chunk: _Chunk,
    columns: Sequence[tuple[Column, _Codes]],
    parts: dict[str, list[npt.NDArray[np.int64]]],
) -> _Chunk:
    for column, codes in columns:
        texts = [cells[column.position] for cells in chunk.rows]
        try:
            coded = np.fromiter(map(codes.__getitem__, texts), np.int64, len(texts))
        except InvalidParameter as error:
            at = next(at for at, text in enumerate(texts) if text not in codes)
            raise InvalidParameter(
                f"{path} {chunk.place(at)}, column {column.name}: {error}", field=option
            ) from None
        parts[column.name].append(coded)
    return _Chunk(chunk.first + len(chunk.rows))
