"""What pages and terminals show of a long list: the largest, in their order, and what is left.

Files and JSON have every row.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from hushpoll_shared.spelling.json_values import JsonObject

MOST_ROWS: Final = 200
"""Rows of a table on a page or a terminal, at most."""


@dataclass(frozen=True)
class TopRows:
    """The rows that are shown, in the order in which they came."""

    rows: list[JsonObject]
    left: int
    """How many are not shown."""
    together: float
    """The sum of their numbers that are known."""

    @property
    def words(self) -> str:
        """What the line says that stands in for the rows that are not shown."""
        return f"the {self.left:,} others, with smaller estimates, together"


def top_rows(
    rows: Sequence[JsonObject], key: str, *, most: int = MOST_ROWS, size: bool = False
) -> TopRows:
    """Return the rows with the largest numbers, or sizes, in the order in which they came.

    `key` is where a row has its number, such as ``difference.value``; None or nothing is the
    smallest.
    """
    if len(rows) <= most:
        return TopRows(list(rows), 0, 0.0)
    numbers = [_number(row, key) for row in rows]
    # those that are not known come last; of equal ones the first is shown
    ranks = [math.inf if one is None else -abs(one) if size else -one for one in numbers]
    shown = set(sorted(range(len(rows)), key=ranks.__getitem__)[:most])
    rest = [number for place, number in enumerate(numbers) if place not in shown]
    return TopRows(
        [row for place, row in enumerate(rows) if place in shown],
        len(rest),
        sum(number for number in rest if number is not None),
    )


def _number(row: Any, key: str) -> float | None:
    if type(row) is dict and type(found := row.get(key)) is float:  # of many rows nearly all
        return found
    for name in key.split("."):
        row = row.get(name) if isinstance(row, Mapping) else None
    return row if isinstance(row, int | float) else None
