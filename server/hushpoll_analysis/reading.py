"""How the intervals of a result are to be read, said beside each result."""

from __future__ import annotations


def how_to_read(intervals: int, confidence: float) -> str:
    """Return what many intervals and many looks do to their coverage, in words.

    Parameters
    ----------
    intervals : int
        Shown together, at least 1.
    confidence : float
        Of each, in (0, 1).
    """
    missed = intervals * (1 - confidence)
    many = f"{missed:.1f}" if missed >= 0.1 else f"{missed:.2g}"
    return (
        f"Each interval holds by itself: of these {intervals:,} at {100 * confidence:g} %, {many} "
        "are expected to miss. It holds for one look, decided on beforehand: who looks again and "
        "again while reports arrive, or stops when a result pleases, sees more of them miss; the "
        "test of the reports' shape is broken likewise."
    )
