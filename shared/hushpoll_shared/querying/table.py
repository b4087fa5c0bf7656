"""The table of a result: the rows of all its sections, a column for each label and each number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Final, get_origin, get_type_hints

from hushpoll_shared.querying.documents import alternatives
from hushpoll_shared.querying.result import Line, Result, Section
from hushpoll_shared.tables.result_table import Column, Kind, ResultTable

_KINDS: Final[Mapping[Any, Kind]] = {float: "number", int: "whole number"}
_VALUE: Final = "value"
"""Member of an estimate within a row that has the estimate's own name as its column."""


def table_of_result(result: Result) -> ResultTable:
    """Return the rows of a result, with lines about its methods.

    Raises
    ------
    TypeError, ValueError
        If a cell is of another kind than its column.
    """
    sections = list(result.sections())
    kinds: dict[str, Kind] = {}
    for section in sections:
        kinds |= _kinds(section.of)
    names = dict.fromkeys(label for section in sections for label in section.labels)
    members = {label: member for one in sections for label, member in one.labels.items()}
    columns = [Column(name, kinds.get(members[name], "text")) for name in names]
    for section in sections:
        taken = {*names, *section.labels.values(), *section.hidden}
        for name in _cells(section.of):
            if name not in taken:
                names[name] = None
                columns.append(Column(name, kinds[name]))
    entries = (entry for section in sections for entry in _entries(section, names))
    return ResultTable.of(result.title, tuple(columns), entries, result.about_and_how())


def _entries(section: Section, names: Mapping[str, None]) -> Iterator[dict[str, Any]]:
    cells = _cells(section.of)
    own = [(name, cells[name]) for name in names if name in cells and name not in section.labels]
    labels = [(name, cells[one]) for name, one in section.labels.items() if one in cells]
    empty = {**dict.fromkeys(names), **section.fixed}
    for line in section.rows:
        row, more = (line.row, line.labels) if isinstance(line, Line) else (line, {})
        yield {**empty, **{name: _cell(get(row)) for name, get in (*own, *labels)}, **more}


def _cell(value: Any) -> Any:
    return ("yes" if value else "no") if isinstance(value, bool) else value


@cache
def _cells(kind: type) -> dict[str, Callable[[Any], Any]]:
    """Return for each column of a row what takes its cell from the row."""
    return {name: attrgetter(path) for name, (path, _) in _flat(kind).items()}


@cache
def _kinds(kind: type) -> dict[str, Kind]:
    return {name: cell for name, (_, cell) in _flat(kind).items()}


def _flat(kind: type) -> dict[str, tuple[str, Kind]]:
    """Return the columns of a row with their paths and kinds; an estimate within it has several."""
    hints, found = get_type_hints(kind), {}
    for one in fields(kind):
        (inner, *others), _ = alternatives(hints[one.name])
        if is_dataclass(inner) and isinstance(inner, type) and not others:
            for name, (path, cell) in _flat(inner).items():
                column = one.name if name == _VALUE else f"{one.name}_{name}"
                found[column] = f"{one.name}.{path}", cell
        elif get_origin(inner) is not tuple and not others:
            found[one.name] = one.name, _KINDS.get(inner, "text")
    return found
