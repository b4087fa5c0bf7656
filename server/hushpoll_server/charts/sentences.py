"""The sentence under a chart: its largest estimate, and what the intervals leave open.

What is largest among estimates need not be largest among the people: of many noisy estimates the
largest is one that noise has raised. The sentences therefore speak of estimates, and count the
intervals that reach into the largest one's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from hushpoll_server.charts.figures import level, percent, points
from hushpoll_server.charts.rows import BoundedShare, Share
from hushpoll_shared.querying.possible import DIFFERENCES, SHARES, cut_ends
from hushpoll_shared.spelling.text import isolated

if TYPE_CHECKING:
    from hushpoll_server.charts.specifications import TableFacts

TOO_NOISY_WORDS: Final = "These estimates are too noisy to tell anything."
"""The sentence under numbers of which none may be named."""


def quoted(question: str) -> str:
    """Return what a question is called within a sentence: its text in quotes, its name as it is."""
    return f"“{isolated(question)}”" if " " in question or question.endswith("?") else question


def of_estimates(attribute: str, rows: Sequence[Share], confidence: float) -> str:
    """Return the sentence under the shares of one question's categories."""
    attribute = quoted(attribute)
    largest = max(row["frequency"] for row in rows)
    tied = [row for row in rows if row["frequency"] == largest]
    top = tied[0]
    if len(tied) > 3:
        words = f"{len(tied)} categories of {attribute} have the same largest estimate"
        return f"{words}, {percent(largest)}.{_widest(rows)}"
    if len(tied) > 1:
        names = [isolated(row["category"]) for row in tied]
        both = f"{', '.join(names[:-1])} and {names[-1]}"
        words = f"The largest estimates of {attribute} are equal, those of {both}"
        return f"{words}: {percent(largest)}.{_widest(rows)}"
    name = isolated(top["category"])
    words = f"The largest estimate of {attribute} is that of {name}: {percent(largest)}"
    if top["lower"] is None or top["upper"] is None:
        return f"{words}. This estimate has no interval."
    lower, upper = cut_ends(top["lower"], top["upper"], SHARES)
    others = [row for row in rows if row is not top]
    low = top["lower"]
    reach = sum(row["upper"] is not None and row["upper"] >= low for row in others)
    if reach:
        interval, verb = ("interval", "reaches") if reach == 1 else ("intervals", "reach")
        left_open = (
            f" The {interval} of {reach} of the {len(others)} others {verb} into it, so these "
            "intervals do not tell which share is the largest."
        )
        if len(others) == 1:
            left_open = (
                " The other interval reaches into it, so these intervals do not tell which share "
                "is the larger."
            )
    else:
        left_open = " No other interval reaches so high." if others else ""
    return (
        f"{words}, with a {level(confidence)} interval from {percent(lower)} to "
        f"{percent(upper)}.{left_open}{_widest(rows)}"
    )


def of_cells(
    names: tuple[str, str],
    facts: TableFacts,
    confidence: float,
    *,
    within: str | None,
    drawn: tuple[Collection[str], Collection[str]],
) -> str:
    """Return the sentence under a heat map, whose picture has the `drawn` rows and columns."""
    top = facts.top
    within = within and quoted(within)
    names = quoted(names[0]), quoted(names[1])
    if top is None:
        return f"These reports cannot tell any share within a category of {within}."
    estimate = "estimate" if within is None else f"estimate within a category of {within}"
    unknown = facts.rows * facts.columns - facts.known
    rest = f" Of {unknown} the reports cannot tell the share." if unknown else ""
    hidden = "" if top["a"] in drawn[0] and top["b"] in drawn[1] else ", which is not drawn"
    lower, upper = cut_ends(top["lower"], top["upper"], SHARES)
    row, column = isolated(top["a"]), isolated(top["b"])
    return (
        f"The largest {estimate} is that of {names[0]} {row} and {names[1]} {column}"
        f"{hidden}: {percent(top['frequency'])}, with a {level(confidence)} interval from "
        f"{percent(lower)} to {percent(upper)}. {facts.above} of {facts.known} "
        f"intervals {'lies' if facts.above == 1 else 'lie'} above zero; of those of shares that "
        f"are zero, about 1 in {round(2 / (1 - confidence))} does.{rest}"
    )


def of_differences(
    rows: Sequence[BoundedShare], minuend: str, subtrahend: str, confidence: float
) -> str:
    """Return the sentence under differences, each with both ends of its interval."""
    apart = sum(row["lower"] > 0 or row["upper"] < 0 for row in rows)
    size = max(abs(row["frequency"]) for row in rows)
    tied = [row for row in rows if math.isclose(abs(row["frequency"]), size, abs_tol=1e-12)]
    top, name = tied[0], isolated(tied[0]["category"])
    lower, upper = cut_ends(top["lower"], top["upper"], DIFFERENCES)
    largest = "The largest estimated difference is that of"
    if len(tied) > 1:
        largest = f"{len(tied)} estimated differences are equally large, among them that of"
    return (
        f"{isolated(minuend)} minus {isolated(subtrahend)}: {apart} of {len(rows)} intervals "
        f"{'does' if apart == 1 else 'do'} not contain zero. {largest} {name}: "
        f"{points(top['frequency'])} percentage points, with a {level(confidence)} interval from "
        f"{points(lower)} to {points(upper)}."
    )


def _widest(rows: Sequence[Share]) -> str:
    """Return how wide the widest interval is, rounded up; nothing where there are none."""
    halves = [
        (row["upper"] - row["lower"]) / 2
        for row in rows
        if row["lower"] is not None and row["upper"] is not None
    ]
    if len(halves) < len(rows):
        return ""
    widest = max(halves)
    widest_points = math.ceil(round(1000 * widest, 6)) / 10
    return f" No interval is wider than ±{widest_points:.1f} points."
