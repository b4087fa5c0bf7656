"""How to read many intervals: what many of them, and many looks, do to their coverage, in words.

Results say it of all their intervals. A command that shows only some of them says it of those.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Final

HOLD_TOGETHER: Final = (
    "All of these intervals hold together with this confidence. They hold for one look at the "
    "results, decided on beforehand."
)

DIFFERENCES_HOLD_TOGETHER: Final = (
    "All of the differences hold together with this confidence. Each interval of one of the two "
    "sides holds by itself. They hold for one look at the results, decided on beforehand."
)
"""What is said of two sides and their differences, where only these share the level."""

CANNOT_CONCLUDE: Final = (
    "“Cannot conclude” means that there are too few reports for their noise. Either nobody may "
    "have answered, or be in the group, as far as they tell, so that there is no estimate; or the "
    "interval holds every value that there can be. More respondents, larger groups or a larger "
    "epsilon help."
)


def cannot_conclude(rows: Iterable[Mapping[str, object] | None]) -> bool:
    """Return whether one of the estimates, each as JSON, is none or says nothing."""
    return any(
        row is not None and (row["value"] is None or row.get("says_nothing", False)) for row in rows
    )


_SHAPE: Final = " The test of the reports' shape then goes wrong more often in the same way."


def how_to_read(intervals: int, confidence: float, *, shape: bool = False) -> str:
    """Return what many intervals and many looks do to their coverage, in words.

    The test of the reports' shape, where it stands beside them, holds for one look as well.
    """
    missed = intervals * (1 - confidence)
    many = f"{missed:.1f}" if missed >= 0.1 else f"{missed:.2g}"
    return (
        f"Each interval holds by itself: of these {intervals:,} at {100 * confidence:g} %, {many} "
        "are expected to miss. They hold for one look at the results, decided on beforehand: if "
        "you look again and again while data arrive, or stop when a result pleases you, more of "
        "them miss." + (_SHAPE if shape else "")
    )
