"""Rows that several results have: estimates with intervals, and how they are shown in a text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final, Literal

from hushpoll_shared.querying.result import Shown, told

Bound = Literal["bounded", "no lower bound", "no upper bound", "no bound"]

HOW_TO_READ: Final = (
    "How many of the intervals are expected to miss, and what looking at results again and again "
    "does to them; or that they hold together."
)
UNKNOWN: Final = "cannot conclude"


@dataclass(frozen=True, kw_only=True, slots=True)
class BoundedEstimate:
    """An estimate with its confidence set."""

    value: float | None = told(
        "May fall outside [0, 1]; null where the set has no bound: cannot conclude."
    )
    standard_error: float | None
    lower: float | None
    upper: float | None
    bound: Bound


def says_nothing(rows: Iterable[Any]) -> bool:
    """Return whether one of the estimates is none, or has a set that holds everything."""
    return any(
        row is not None and (row.value is None or getattr(row, "says_nothing", False))
        for row in rows
    )


def estimate_cell(row: Any) -> str:
    """Return an estimate as text; empty where there is none."""
    return "" if row.value is None else f"{row.value:.4f}"


def error_cell(row: Any) -> str:
    """Return a standard error as text; empty where there is none."""
    return "" if row.value is None else f"{row.standard_error:.4f}"


def limits_cell(row: Any) -> str:
    """Return an interval as text, or that nothing can be concluded."""
    if row.value is None:
        return UNKNOWN
    nothing = f", {UNKNOWN}" if getattr(row, "says_nothing", False) else ""
    return f"{row.lower:.4f} to {row.upper:.4f}{nothing}"


LEVEL: Final = "{level} % interval"
ERROR: Final = "std. error"

ESTIMATE: Final = (
    Shown("estimate", estimate_cell),
    Shown(ERROR, error_cell),
    Shown(LEVEL, limits_cell),
)
