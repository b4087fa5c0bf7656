"""The sentence under a chart: its largest estimate, and what the intervals leave open.

What is largest among estimates need not be largest among the people: of many noisy estimates the
largest is one that noise has raised. The sentences therefore speak of estimates, and count the
intervals that reach into the largest one's.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from typing import TYPE_CHECKING, Final

from hushpoll_server.charts.figures import level, percent, points, share_figure
from hushpoll_server.charts.rows import BoundedShare, Share
from hushpoll_server.translations.speech import counted, in_marks, say, whole
from hushpoll_shared.qualifying.possible import DIFFERENCES, SHARES, cut_ends
from hushpoll_shared.spelling.text import isolated

if TYPE_CHECKING:
    from hushpoll_server.charts.specifications import TableFacts

TOO_NOISY_WORDS: Final = "These estimates are too noisy to tell anything."
"""The sentence under numbers of which none may be named."""


def quoted(question: str) -> str:
    """Return what a question is called within a sentence: its text in quotes, its name as it is."""
    if " " in question or question.endswith("?"):
        return say("“{question}”", question=isolated(question))
    return question


def of_estimates(attribute: str, rows: Sequence[Share], confidence: float) -> str:
    """Return the sentence under the shares of one question's categories."""
    question = quoted(attribute)
    largest = max(row["frequency"] for row in rows)
    tied = [row for row in rows if row["frequency"] == largest]
    # An estimate that no share can have is told as elsewhere; the table has it exactly.
    share = percent(largest) if 0 <= largest <= 1 else share_figure(largest, None, None)
    top = tied[0]
    if len(tied) > 3:
        words = say(
            "{number} categories of {question} have the same largest estimate, {share}.",
            number=whole(len(tied)),
            question=question,
            share=share,
        )
        return f"{words}{_widest(rows)}"
    if len(tied) > 1:
        names = [isolated(row["category"]) for row in tied]
        words = say(
            "The largest estimates of {question} are equal, those of {first} and {last}: {share}.",
            question=question,
            first=", ".join(names[:-1]),
            last=names[-1],
            share=share,
        )
        return f"{words}{_widest(rows)}"
    name = isolated(top["category"])
    if top["lower"] is None or top["upper"] is None:
        return say(
            "The largest estimate of {question} is that of {answer}: {share}. This estimate has no "
            "interval.",
            question=question,
            answer=name,
            share=share,
        )
    lower, upper = cut_ends(top["lower"], top["upper"], SHARES)
    others = [row for row in rows if row is not top]
    low = top["lower"]
    reach = sum(row["upper"] is not None and row["upper"] >= low for row in others)
    words = say(
        "The largest estimate of {question} is that of {answer}: {share}, with a {level} interval "
        "from {low} to {high}.",
        question=question,
        answer=name,
        share=share,
        level=level(confidence),
        low=percent(lower),
        high=percent(upper),
    )
    return f"{words}{_left_open(reach, len(others))}{_widest(rows)}"


def _left_open(reach: int, others: int) -> str:
    """Return how many other intervals reach into that of the largest estimate."""
    if not others:
        return ""
    if not reach:
        return " " + say("No other interval reaches so high.")
    if others == 1:
        return " " + say(
            "The other interval reaches into it, so these intervals do not tell which share is the "
            "larger."
        )
    return " " + counted(
        reach,
        "The interval of {number} of the {others} others reaches into it, so these intervals do "
        "not tell which share is the largest.",
        "The intervals of {number} of the {others} others reach into it, so these intervals do not "
        "tell which share is the largest.",
        others=whole(others),
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
        return say(
            "These reports cannot tell any share within a category of {question}.", question=within
        )
    hidden = top["a"] not in drawn[0] or top["b"] not in drawn[1]
    lower, upper = cut_ends(top["lower"], top["upper"], SHARES)
    largest = say(
        "The largest estimate is that of {row} and {column}: {share}, with a {level} interval from "
        "{low} to {high}."
        if within is None
        else "The largest estimate within a category of {question} is that of {row} and {column}: "
        "{share}, with a {level} interval from {low} to {high}.",
        question=within,
        row=f"{names[0]} {isolated(top['a'])}",
        column=f"{names[1]} {isolated(top['b'])}",
        share=percent(top["frequency"]),
        level=level(confidence),
        low=percent(lower),
        high=percent(upper),
    )
    parts = [largest]
    if hidden:
        parts.append(say("It is not drawn."))
    parts.append(
        counted(
            facts.above,
            "{number} of {known} intervals lies above zero; of those of shares that are zero, "
            "about 1 in {chance} does.",
            "{number} of {known} intervals lie above zero; of those of shares that are zero, about "
            "1 in {chance} does.",
            known=whole(facts.known),
            chance=whole(round(2 / (1 - confidence))),
        )
    )
    unknown = facts.rows * facts.columns - facts.known
    if unknown:
        parts.append(say("Of {number} the reports cannot tell the share.", number=whole(unknown)))
    return " ".join(parts)


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
    which = "this difference" if len(rows) == 1 else f"{apart or 'none'} of {len(rows)} differences"
    told = f"the intervals show {which} to be above or below zero"
    if len(rows) == 1 and not apart:
        told = "the interval does not show whether this difference is above or below zero"
    return (
        f"{isolated(minuend)} minus {isolated(subtrahend)}: {told}. {largest} {name}: "
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
    return " " + say(
        "No interval is wider than ±{figure} points.", figure=in_marks(f"{widest_points:.1f}")
    )
