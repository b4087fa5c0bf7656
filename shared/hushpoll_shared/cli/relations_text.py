"""Answers to several questions together as text (extra ``cli``): shares, tests, changes, tables.

The text is made from the JSON of the machine that computes from a file, or of the client that asked
a server. A server's answer is made printable before it comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.querying.headings import heading
from hushpoll_shared.spelling.intervals import (
    how_to_read,
)
from hushpoll_shared.spelling.text import printable


def change_text(answer: Mapping[str, Any]) -> str:
    """Return a change as a table with a line per label; raises as `estimates_text`."""
    shown = Table(title_justify="left")
    shown.add_column("category", overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("before", "after", "change", level):
        shown.add_column(column, justify="right", no_wrap=True)
    for row in answer["changes"]:
        before, after, difference = (row[name] for name in ("before", "after", "difference"))
        shown.add_row(
            str(row["label"]),
            f"{before['value']:.4f}",
            f"{after['value']:.4f}",
            f"{difference['value']:+.4f}",
            f"{difference['lower']:+.4f} to {difference['upper']:+.4f}",
        )
    spent = answer["epsilon_of_both"]
    return rendered(
        heading(answer["after"]) + ", since " + heading(answer["before"]),
        shown,
        str(answer["intervals"])
        if answer["simultaneous"]
        else how_to_read(len(answer["changes"]), float(answer["confidence"])),
        str(answer["assumption"]),
        f"A person who answered both has spent epsilon {spent['surveys']}, of which "
        f"{spent['attribute']} on this attribute.",
    )


def joint_table_text(answer: Mapping[str, Any]) -> str:
    """Return the joint table as a table with a line per cell; raises as `estimates_text`."""
    likely = answer["likelihood"]
    shown = Table(title_justify="left")
    for name in answer["attributes"]:
        shown.add_column(str(name), overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("estimate", "std. error", level, *(["likelihood"] if likely else [])):
        shown.add_column(column, justify="right", no_wrap=True)
    for cell in answer["cells"]:
        shown.add_row(
            *map(str, cell["categories"]),
            f"{cell['frequency']:.4f}",
            f"{cell['standard_error']:.4f}",
            f"{cell['lower']:.4f} to {cell['upper']:.4f}",
            *([f"{cell['likelihood']:.4f}"] if likely else []),
        )
    parts: list[Table | str] = [heading(answer), shown, str(answer["intervals"])]
    if likely:
        parts.append(str(likely["interval"]))
    return rendered(*parts)


def independence_text(answer: Mapping[str, Any]) -> str:
    """Return a test of independence as lines of text; raises as `estimates_text`."""
    degrees = f"{answer['degrees']} degree{'' if answer['degrees'] == 1 else 's'} of freedom"
    words = (
        f"{printable(answer['a'])} and {printable(answer['b'])}: {answer['conclusion']}, "
        f"p = {float(answer['p_value']):.2g} (chi-square {float(answer['statistic']):.2f} with "
        f"{degrees}, level {float(answer['alpha']):g}). "
        "A test has no interval."
    )
    if answer["degrees"]:
        words += f" {_found(answer)}"
    least = answer["smallest_expected"]
    if least is not None and float(least) < 5:
        words += f" The emptiest cell expects {float(least):.2g} people: the p-value is rough."
    return rendered(heading(answer), words)


def _found(answer: Mapping[str, Any]) -> str:
    """Return which dependence a test finds; none is stronger than the largest possible phi."""
    chance = f"with a chance of {float(answer['power']):g}"
    easy, hard = answer["smallest_detectable"], answer["largest_detectable"]
    most = f"(phi is at most {float(answer['largest_possible']):.3f})"
    if easy is None:
        return f"No dependence between these two, however strong {most}, would be found {chance}."
    found = f"W{chance[1:]} it finds a dependence of phi = {float(easy):.3f} of the easiest kind"
    if hard is None:
        return f"{found}, but none of the hardest kind, however strong {most}."
    return f"{found} and of {float(hard):.3f} of the hardest."


def together_text(answer: Mapping[str, Any]) -> str:
    """Return estimates whose intervals hold together as tables; raises as `estimates_text`."""
    parts: list[Table | str] = [heading(answer)]
    level = f"{100 * float(answer['confidence']):g} % together"
    for attribute in answer["attributes"]:
        shown = Table(title=str(attribute["name"]), title_justify="left")
        shown.add_column("category", overflow="fold")
        for column in ("estimate", "std. error", level):
            shown.add_column(column, justify="right", no_wrap=True)
        for row in attribute["categories"]:
            shown.add_row(
                str(row["category"]),
                f"{row['frequency']:.4f}",
                f"{row['standard_error']:.4f}",
                f"{row['lower']:.4f} to {row['upper']:.4f}",
            )
        parts.append(shown)
    return rendered(*parts, str(answer["intervals"]))


def dependencies_text(answer: Mapping[str, Any]) -> str:
    """Return tests of all pairs as a table; raises as `estimates_text`."""
    shown = Table(title_justify="left")
    for column in ("a", "b"):
        shown.add_column(column, overflow="fold")
    for column in ("p", "adjusted p", "conclusion"):
        shown.add_column(column, justify="right", no_wrap=True)
    for row in answer["pairs"]:
        shown.add_row(
            str(row["a"]),
            str(row["b"]),
            f"{row['p_value']:.2g}",
            f"{row['adjusted_p_value']:.2g}",
            str(row["conclusion"]),
        )
    reading = str(answer["reading"]).replace("`rate`", f"{float(answer['rate']):g}")
    return rendered(heading(answer), shown, reading)
