"""A table of a result: typed columns, rows, and lines that say how the numbers were made.

It is made from the JSON form of a result, which may come from a server: a value of another kind
than its column's is refused.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal, get_args

Kind = Literal["text", "number", "whole number"]
Cell = str | float | int | None


@dataclass(frozen=True, slots=True)
class Column:
    """A column of a table; any cell may also be None."""

    name: str
    kind: Kind

    def cell(self, value: object) -> Cell:
        """Return a value as a cell; refuses another kind, nan and infinity."""
        if value is None:
            return None
        if self.kind == "text":
            if isinstance(value, str):
                return value
        elif isinstance(value, int) and not isinstance(value, bool):
            return value if self.kind == "whole number" else float(value)
        elif isinstance(value, float) and self.kind == "number":
            if not math.isfinite(value):
                raise ValueError(f"{self.name} is {value}, which is no number of a table")
            return value
        raise TypeError(f"{self.name} is a {type(value).__name__}, and its column has {self.kind}s")


def in_words(value: object) -> object:
    """Return yes or no for a switch, and any other value as it is."""
    return ("yes" if value else "no") if isinstance(value, bool) else value


def columns(**kinds: str) -> tuple[Column, ...]:
    """Return columns by name and kind, ``whole`` standing for ``whole number``."""
    spelled: dict[str, Kind] = {kind: kind for kind in get_args(Kind)} | {"whole": "whole number"}
    return tuple(Column(name, spelled[kind]) for name, kind in kinds.items())


@dataclass(frozen=True, slots=True)
class ResultTable:
    """A result as rows, a cell per column."""

    title: str
    columns: tuple[Column, ...]
    rows: tuple[tuple[Cell, ...], ...]
    methods: tuple[tuple[str, str | float | int], ...] = ()
    """What was asked, of which survey and release, by which estimator, and how to read it."""

    @classmethod
    def of(
        cls,
        title: str,
        columns: tuple[Column, ...],
        entries: Iterable[Mapping[str, object]],
        methods: Mapping[str, object],
    ) -> ResultTable:
        """Return the table of entries; refuses one that lacks a column or has another kind."""
        rows = tuple(tuple(column.cell(entry[column.name]) for column in columns)
                     for entry in entries)  # fmt: skip
        return cls(title, columns, rows, tuple(_line(*line) for line in methods.items()
                                               if line[1] is not None))  # fmt: skip

    def with_methods(self, more: Mapping[str, str]) -> ResultTable:
        """Return the same table with more lines about its methods."""
        return ResultTable(self.title, self.columns, self.rows, (*self.methods, *more.items()))


def _line(name: str, value: object) -> tuple[str, str | float | int]:
    value = in_words(value)
    if isinstance(value, str | int | float):
        return name, value
    raise TypeError(f"{name} is a {type(value).__name__}, which is no text and no number")
