"""Clear rows in the manifest's terms, read strictly from CSV or Parquet: a bad cell ends it.

Training on rows that were silently dropped or shifted gives numbers that nobody can trust. So a
cell that is not understood ends the reading, and every mistake is named by file, row, column, value
and remedy. A file is coded while it is read; its texts are never held all at once.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.frames.parquet_cells import is_parquet, parquet_header, parquet_texts
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.table_reader import Row, columns_named, open_table
from hushpoll_shared.reading.text_files import word
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.published import Published
from hushpoll_shared.survey.questions.attributes import Attribute, PublishedAttribute
from hushpoll_shared.survey.questions.follow_ups import impossible

CHUNK = 65_536
"""Rows whose texts are held at a time."""


class _Codes(dict[str, int]):
    """Codes of the texts seen so far: each distinct text is checked once."""

    def __init__(self, code: Callable[[str], int]) -> None:
        super().__init__()
        self._code = code

    def __missing__(self, text: str) -> int:
        self[text] = code = self._code(text)
        return code


@dataclass(frozen=True, slots=True)
class Column:
    """A column to read."""

    name: str
    """Of the attribute that it gives."""
    position: int
    """Place in the header."""
    code: Callable[[str], int]
    """From a cell's text to its code; it raises `InvalidParameter` with what is wrong with the
    text, and the remedy."""


@dataclass(slots=True)
class _Chunk:
    """Rows that are held at a time; those of a Parquet file have no lines."""

    name: str
    option: str
    first: int = 1
    rows: list[Sequence[str]] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)

    def place(self, at: int) -> str:
        return Row(self.first + at, self.lines[at] if self.lines else None, []).place


def read_coded(
    path: Path, option: str, columns_of: Callable[[Sequence[str]], Iterable[Column]]
) -> tuple[dict[str, npt.NDArray[np.int64]], int]:
    """Read the codes, int64[n] by column, and n of a CSV (UTF-8, commas, a header) or Parquet file.

    `columns_of` gives the columns to read from the header, or raises; the option is what the file
    was given as, for the errors' field. Refuses a file without rows, with a row of another length
    than the header, or with a cell that its column refuses.
    """
    if is_parquet(path):
        return _read_parquet(path, option, columns_of)
    with open_table(path, field=option) as table:
        columns = [(column, _Codes(column.code)) for column in columns_of(table.header)]
        parts: dict[str, list[npt.NDArray[np.int64]]] = {column.name: [] for column, _ in columns}
        chunk = _Chunk(table.name, option)
        for row in table.rows():
            chunk.rows.append(row.cells)
            chunk.lines.append(row.line or 0)
            if len(chunk.rows) == CHUNK:
                chunk = _code(chunk, columns, parts)
        chunk = _code(chunk, columns, parts)
    return _joined(parts, chunk)


def table_header(path: Path, option: str) -> tuple[str, ...]:
    """Return the names of the columns of a CSV or Parquet file; raises as :func:`read_coded`."""
    if is_parquet(path):
        return parquet_header(path, option)
    with open_table(path, field=option) as table:
        return table.header


def _read_parquet(
    path: Path, option: str, columns_of: Callable[[Sequence[str]], Iterable[Column]]
) -> tuple[dict[str, npt.NDArray[np.int64]], int]:
    read = list(columns_of(parquet_header(path, option)))
    # Only these columns are read, in this order.
    columns = [
        (replace(column, position=place), _Codes(column.code)) for place, column in enumerate(read)
    ]
    parts: dict[str, list[npt.NDArray[np.int64]]] = {column.name: [] for column in read}
    chunk = _Chunk(word(path), option)
    for texts in parquet_texts(path, option, [column.position for column in read], CHUNK):
        chunk.rows = list(zip(*texts, strict=True))
        chunk = _code(chunk, columns, parts)
    return _joined(parts, chunk)


def _joined(
    parts: Mapping[str, list[npt.NDArray[np.int64]]], chunk: _Chunk
) -> tuple[dict[str, npt.NDArray[np.int64]], int]:
    if chunk.first == 1:
        raise InvalidParameter(
            f"{chunk.name} has no rows; give a file with some", field=chunk.option
        )
    return {name: np.concatenate(arrays) for name, arrays in parts.items()}, chunk.first - 1


def _code(
    chunk: _Chunk,
    columns: Sequence[tuple[Column, _Codes]],
    parts: Mapping[str, list[npt.NDArray[np.int64]]],
) -> _Chunk:
    for column, codes in columns:
        texts = [cells[column.position] for cells in chunk.rows]
        try:
            coded = np.fromiter(map(codes.__getitem__, texts), np.int64, len(texts))
        except InvalidParameter as error:
            at = next(at for at, text in enumerate(texts) if text not in codes)
            raise InvalidParameter(
                f"{chunk.name} {chunk.place(at)}, column {column.name}: {error}",
                field=chunk.option,
            ) from None
        parts[column.name].append(coded)
    return _Chunk(chunk.name, chunk.option, chunk.first + len(chunk.rows))


def read_rows(
    path: Path,
    published: Published,
    *,
    option: str = "data",
    optional: Collection[str] = (),
    ignored: Collection[str] = (),
) -> dict[str, npt.NDArray[np.int64]]:
    """Read a CSV or Parquet file of people who gave their answers in clear.

    Parameters
    ----------
    path : Path
        CSV: UTF-8, comma-separated, with a header. An empty cell, of Parquet a null, is the missing
        category.
    published : Published
        The survey.
    option : str
        What the file was given as, for the errors' field.
    optional : collection of str
        Attributes that are left out of the result where the file has no such column.
    ignored : collection of str
        Columns that are not read.

    Returns
    -------
    mapping of str to int64[n]
        Codes in [0, k) per attribute, in manifest order. An attribute with a missing category and
        no column is missing in every row.

    Raises
    ------
    InvalidParameter
        Naming file, row, column, value and remedy of the first cell that is no category; or for a
        column that is no attribute, and an attribute without a column.
    OSError
        If the file cannot be read.
    """
    names = [attribute.name for attribute in published.attributes]
    for column in ignored:
        if column in names:
            raise InvalidParameter(
                f"ignore names {show(column)}, an attribute of {published.name}; leave it out",
                field="ignore",
            )

    def columns(header: Sequence[str]) -> list[Column]:
        for column in header:
            if column not in names and column not in ignored:
                raise InvalidParameter(
                    f"{word(path)} has the column {show(column)}, which {published.name} does not "
                    f"ask; remove it, or ignore it. The attributes are {', '.join(names)}",
                    field=option,
                )
        for attribute in published.attributes:
            skippable = attribute.missing is not None and attribute.ask_if is None
            required = attribute.name not in optional and not skippable
            if required and attribute.name not in header:
                raise InvalidParameter(
                    f"{word(path)} has no column {attribute.name}, and {published.name} gives it "
                    "no category for a missing answer; add the column. The columns are "
                    f"{columns_named(header)}",
                    field=option,
                )
        return [
            Column(attribute.name, header.index(attribute.name), _coder(attribute))
            for attribute in published.attributes
            if attribute.name in header
        ]

    codes, n = read_coded(path, option, columns)
    for name, route in published.layout.routes.items():
        if name in codes and route[0] in codes:
            codes[name] = _where_asked(published.attribute(name), route, codes, path, option)
    return {
        attribute.name: codes.get(attribute.name, np.full(n, attribute.k - 1, dtype=np.int64))
        for attribute in published.attributes
        if attribute.name in codes or attribute.name not in optional
    }


def _where_asked(
    attribute: PublishedAttribute,
    route: tuple[str, frozenset[int]],
    codes: Mapping[str, npt.NDArray[np.int64]],
    path: Path,
    option: str,
) -> npt.NDArray[np.int64]:
    """Return the codes of a follow-up, where empty cells are not asked if its router says so."""
    own, unasked = codes[attribute.name], attribute.k - 1
    asked = np.isin(codes[route[0]], list(route[1]))
    empty = (own == unasked) | (own == attribute.missing_code)
    wrong = np.where(asked, own == unasked, ~empty)
    if wrong.any():
        raise InvalidParameter(
            f"{word(path)}, row {int(wrong.argmax()) + 1}, column {attribute.name}: "
            f"{impossible(attribute)}",
            field=option,
        )
    return np.where(asked, own, unasked)


def _coder(attribute: Attribute) -> Callable[[str], int]:
    if attribute.number is not None and attribute.perturbed:
        raise InvalidParameter(
            f"{attribute.name} is answered by a number, of which records have an anchor; rows in "
            "clear have its value, and models do not take it yet: leave the attribute out of the "
            "features, or ask for categories",
            field=attribute.name,
        )

    def code(text: str) -> int:
        if not text and attribute.not_asked_code is not None and attribute.missing is None:
            return attribute.not_asked_code
        try:
            return attribute.code(text or None)
        except InvalidParameter as error:
            # an attribute names no answer of a respondent; these are a file's cells, which may be
            _, _, remedy = str(error).partition("; ")
            wrong = f"{show(text)} is no category" if text else "the cell is empty"
            raise InvalidParameter(f"{wrong}; {remedy}", field=attribute.name) from None

    return code
