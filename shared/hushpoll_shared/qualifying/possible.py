"""An interval is cut to what is possible where it is shown: on a terminal, a page, in a report.

An unbiased estimate and its interval may reach beyond what can be: a share of -0.3 to 1.4. Files
and JSON have these numbers, which can be added and averaged. A reader is shown the part that can
be, and is told so.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any, Final, TypedDict, overload

Possible = tuple[float, float]
"""The least and the largest value that there can be."""

SHARES: Final[Possible] = (0.0, 1.0)
"""What a share can be."""
DIFFERENCES: Final[Possible] = (-1.0, 1.0)
"""What a difference of two shares can be."""

CUT: Final = (
    "An interval that reaches beyond what is possible, such as a share below 0 or above 1, is "
    "shown up to there. Estimates are not cut, nor is an interval that lies outside as a whole; "
    "files and JSON have the uncut ends."
)

_CLOSE: Final = 1e-9
"""Relative to the possible range: what is so near to an end is the end, and nothing was cut."""


class Ends(TypedDict):
    """The ends of an interval, as rows of JSON have them; None where there is no bound."""

    lower: float | None
    upper: float | None


class BoundedRow(Ends):
    """An estimate with its set, as rows of JSON have it; None where nothing is known."""

    value: float | None
    standard_error: float | None
    bound: str


@overload
def cut_ends(lower: float, upper: float, possible: Possible | None) -> tuple[float, float]: ...


@overload
def cut_ends(
    lower: float | None, upper: float | None, possible: Possible | None
) -> tuple[float | None, float | None]: ...


def cut_ends(
    lower: float | None, upper: float | None, possible: Possible | None
) -> tuple[float | None, float | None]:
    """Return the ends of an interval cut to what is possible, unless it lies outside as a whole.

    None stays None: there is no bound, or of `possible` anything can be.
    """
    if possible is None:
        return lower, upper
    least, most = possible
    if (lower is not None and lower > most) or (upper is not None and upper < least):
        return lower, upper
    return (
        None if lower is None else max(lower, least),
        None if upper is None else min(upper, most),
    )


def is_cut(lower: float | None, upper: float | None, possible: Possible | None) -> bool:
    """Return whether an interval is shown with another end than it has."""
    if possible is None:
        return False
    close = _CLOSE * min(possible[1] - possible[0], 1e9)
    ends = zip((lower, upper), cut_ends(lower, upper, possible), strict=True)
    return any(
        end is not None and shown is not None and abs(end - shown) > close for end, shown in ends
    )


def cut_row(row: Any, possible: Possible | None, member: str = "") -> tuple[Any, bool]:
    """Return a dataclass with its interval, or a member's, as shown; and whether that was cut."""
    if possible is None:
        return row, False
    if member:
        inner, cut = cut_row(getattr(row, member), possible)
        return (replace(row, **{member: inner}), True) if cut else (row, False)
    lower, upper = row.lower, row.upper
    if not is_cut(lower, upper, possible):
        return row, False
    lower, upper = cut_ends(lower, upper, possible)
    return replace(row, lower=lower, upper=upper), True


def shown_within(row: Ends, possible: Possible) -> Ends:
    """Return the ends of the interval of a row of JSON as they are shown."""
    lower, upper = cut_ends(row["lower"], row["upper"], possible)
    return {"lower": lower, "upper": upper}


def shown_share(row: Ends) -> Ends:
    """Return the ends of a share as :func:`shown_within` does."""
    return shown_within(row, SHARES)


def shown_difference(row: Ends) -> Ends:
    """Return the ends of a difference of shares as :func:`shown_within` does."""
    return shown_within(row, DIFFERENCES)


def cut_words(rows: Iterable[Ends], possible: Possible = SHARES) -> str:
    """Return the sentence about intervals of JSON, if one of them is shown cut; empty if none."""
    return CUT if any(is_cut(row["lower"], row["upper"], possible) for row in rows) else ""
