"""The table of a result: the rows of all its sections, a column for each label and each number."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import cache
from operator import attrgetter
from typing import Any, Final, get_origin, get_type_hints

from hushpoll_shared.qualifying.domains import COLUMN, where_words
from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY
from hushpoll_shared.querying.documents import alternatives
from hushpoll_shared.querying.result import Result, Section
from hushpoll_shared.tables.result_table import Column, Kind, ResultTable, in_words

_KINDS: Final[Mapping[Any, Kind]] = {float: "number", int: "whole number"}
_VALUE: Final = "value"
"""Member of an estimate within a row that has the estimate's own name as its column."""

_VERDICT: Final = "verdict"
"""The first column: whether the part of the result that a row belongs to can be told."""


def table_of_result(result: Result) -> ResultTable:
    """Return the rows of a result, with lines about its methods."""
    sections, kinds = list(result.sections()), dict[str, Kind]()
    for row in [row for one in sections for row in (one.of, one.also) if row is not None]:
        kinds |= {name: cell for name, (_, cell) in _flat(row).items()}
    members = {label: member for one in sections for label, member in one.labels.items()}
    taken = {*members, *members.values(), *(name for one in sections for name in one.hidden)}
    columns = [Column(name, kinds.get(member, "text")) for name, member in members.items()]
    columns += [Column(name, kind) for name, kind in kinds.items() if name not in taken]
    names = [column.name for column in columns]
    # A file of a part of the reports says so in each row.
    first = {_VERDICT: result.verdict, COLUMN: result.where}
    columns = [Column(name, "text") for name, there in first.items() if there is not None] + columns
    entries = (entry for section in sections for entry in _entries(result, section, names))
    return ResultTable.of(result.title, tuple(columns), entries, result.about_and_how())


def _entries(result: Result, section: Section, names: Sequence[str]) -> Iterator[dict[str, object]]:
    where = None if result.where is None else where_words(result.where)
    empty = {**dict.fromkeys(names), **section.fixed, COLUMN: where}
    wanted = {**{name: name for name in names}, **section.labels}
    for line in section.lines():
        kind: Any = type(line.row)
        take, row = _cells(kind), line.row
        found = {name: in_words(take[one](row)) for name, one in wanted.items() if one in take}
        says = TOO_NOISY if result.too_noisy(section.part_of(row)) else INFORMATIVE
        yield {**empty, **found, **line.labels, _VERDICT: says}


@cache
def _cells(kind: type) -> dict[str, Callable[[Any], Any]]:
    """Return for each column of a row what takes its cell from the row."""
    return {name: attrgetter(path) for name, (path, _) in _flat(kind).items()}


@cache
def _flat(kind: type) -> dict[str, tuple[str, Kind]]:
    """Return the columns of a row with their paths and kinds; an estimate within it has several."""
    hints, found = get_type_hints(kind), {}
    # A result may be a row itself, but for what all results have.
    shared = {one.name for one in fields(Result)} if issubclass(kind, Result) else set()
    for one in fields(kind):
        if one.name in shared:
            continue
        (inner, *others), _ = alternatives(hints[one.name])
        if is_dataclass(inner) and isinstance(inner, type) and not others:
            for name, (path, cell) in _flat(inner).items():
                column = one.name if name == _VALUE else f"{one.name}_{name}"
                found[column] = f"{one.name}.{path}", cell
        elif get_origin(inner) is not tuple and not others:
            found[one.name] = one.name, _KINDS.get(inner, "text")
    return found
