"""Respondents from a CSV file: one row each, columns named by attribute, values by category.

The whole file is checked before anything is sent, since sent reports cannot be taken back.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.table_reader import Row, TableReader, columns_named, open_table
from hushpoll_shared.reading.text_files import named
from hushpoll_shared.spelling.text import show
from hushpoll_shared.survey.questions.attributes import Attribute
from hushpoll_shared.survey.questions.follow_ups import code_answer, routes_of
from hushpoll_shared.survey.questions.selects import Selection

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
        Line of the file on which the row begins, from 1.
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
            f"{named(path)} has {len(values)} bad values in {rows} rows ({counts}); nothing was "
            "sent. Correct them, or write them all to a file with --bad-rows:",
            *(f"  {value}" for value in values[:_SHOWN]),
        ]
        if len(values) > _SHOWN:
            lines.append(f"  … and {len(values) - _SHOWN} more")
        super().__init__("\n".join(lines), field="data")
        self.values = tuple(values)


def read_respondents(
    path: Path,
    attributes: Sequence[Attribute],
    *,
    ignored: Iterable[str] = (),
    selects: Sequence[Selection] = (),
) -> SimulatedRespondents:
    """Read and check a CSV file with a header (UTF-8, comma-separated).

    Parameters
    ----------
    attributes : sequence of Attribute
        The survey's attributes. One with a ``missing`` category may lack its column, unless it is a
        follow-up; an empty value means missing, or not asked.
    ignored : iterable of str
        Columns to leave out.
    selects : sequence of Selection
        Which attributes are one select-all: each has a column of `OPTION`, within the limits.

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
    with open_table(path, field="data") as table:
        return _read(path, table, attributes, frozenset(ignored), selects)


def _read(
    path: Path,
    table: TableReader,
    attributes: Sequence[Attribute],
    ignored: frozenset[str],
    selects: Sequence[Selection],
) -> SimulatedRespondents:
    positions = _columns(table, attributes, ignored)
    # A lookup per cell; the slower check words the remedy of the few that fail.
    known: list[Mapping[str, int]] = [
        {}
        if attribute.number is not None
        else {category: code for code, category in enumerate(attribute.domain)}
        for attribute in attributes
    ]
    routes = routes_of(attributes)
    rows: list[tuple[int, ...]] = []
    bad: list[BadValue] = []

    def add(row: Row, column: str, value: str, remedy: str) -> None:
        bad.append(BadValue(row.number, row.line or 0, column, value, remedy))

    def add_length(row: Row, remedy: str) -> None:
        add(row, _ROW_LENGTH, f"{len(row.cells)} values", remedy)

    for row in table.rows(add_length):
        codes: dict[str, int] = {}
        for attribute, position, lookup in zip(attributes, positions, known, strict=True):
            text = "" if position is None else row.cells[position]
            code = lookup.get(text) if attribute.ask_if is None else None
            if code is None:
                if routes.get(attribute.name, ("", frozenset()))[0] not in {"", *codes}:
                    continue  # the router's value is bad, and is told
                try:
                    code = code_answer(attribute, text or None, codes, routes)
                except InvalidParameter as error:
                    _, _, remedy = str(error).rpartition("; ")
                    add(row, attribute.name, text, remedy)
                    continue
            codes[attribute.name] = code
        for select in selects:
            count = sum(codes.get(name, 0) for name in select.attributes)
            if not select.at_least <= count <= select.at_most and codes.keys() >= set(
                select.attributes
            ):
                add(
                    row,
                    f"{select.attributes[0]} to {select.attributes[-1]}",
                    f"{count} options selected",
                    f"select {select.limits()}",
                )
        rows.append(tuple(codes.values()))
    if bad:
        raise BadRows(path, bad)
    return SimulatedRespondents.of_rows(attributes, rows)


def _columns(
    table: TableReader, attributes: Sequence[Attribute], ignored: frozenset[str]
) -> list[int | None]:
    names, header = [attribute.name for attribute in attributes], table.header
    for column in header:
        if column not in names and column not in ignored:
            raise InvalidParameter(
                f"{table.name} has the column {show(column)}, which the survey does not ask; "
                f"remove it, or pass --ignore {named(column)}. The survey's attributes are "
                f"{', '.join(names)}",
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
        elif attribute.missing is not None and attribute.ask_if is None:
            positions.append(None)
        else:
            raise InvalidParameter(
                f"{table.name} has no column {attribute.name!r}, "
                + (
                    "and the survey gives it no category for a missing answer"
                    if attribute.ask_if is None
                    else "a follow-up, whose values are empty where it is not asked"
                )
                + f"; add the column. The file's columns are {columns_named(header)}",
                field="data",
            )
    return positions
