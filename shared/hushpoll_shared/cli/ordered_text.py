"""Ordered answers, and shares among those who answered, as text (extra ``cli``).

The text is made from the JSON of the machine that estimates from a file, or of the client that
asked a server. A server's answer is made printable before it comes here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Final

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.querying.headings import heading
from hushpoll_shared.spelling.intervals import (
    CANNOT_CONCLUDE,
    cannot_conclude,
    how_to_read,
)

UNKNOWN: Final = "cannot conclude"


_STATISTICS: Final = ("mean", "least", "greatest", "at_least", "nps")
_WORDS: Final = {
    "mean": "mean",
    "least": "mean, if all lie at the lower ends",
    "greatest": "mean, if all lie at the upper ends",
    "nps": "net promoter score",
}
_SIDES: Final = ("before", "after", "difference")
_DIFFERENCES: Final = {
    **_WORDS,
    "least": "mean, least (its lower ends, the other's upper ends)",
    "greatest": "mean, greatest (its upper ends, the other's lower ends)",
}


def ordered_text(answer: Mapping[str, Any]) -> str:
    """Return mean, quantiles, share at a threshold and NPS; raises as `estimates_text`."""
    parts: list[str | Table] = [heading(answer)]
    intervals = _has_intervals(answer["scale"])
    for group in answer["groups"]:
        title = str(answer["attribute"])
        if answer["given"] is not None:
            title += f", given {answer['given']} {group['group']}"
        table = _statistics(title, "of those who answered", answer, group, _WORDS)
        for quantile in group["quantiles"]:
            words = "median" if quantile["q"] == 0.5 else f"quantile {quantile['q']:g}"
            table.add_row(words, *_quantile(quantile))
        parts.append(table)
    for group in answer["differences"] or ():
        title = f"{answer['attribute']}: {group['group']} minus {answer['reference']}"
        parts.append(_statistics(title, "difference", answer, group, _DIFFERENCES))
    numbers = [
        row
        for group in (*answer["groups"], *(answer["differences"] or ()))
        for row in (*(group[name] for name in _STATISTICS), *group.get("quantiles", ()))
    ]
    parts += [*_unknown(numbers), str(answer["intervals"])]
    if answer["differences"] is not None and any(one["quantiles"] for one in answer["groups"]):
        parts.append("Quantiles have no difference with an interval.")
    if intervals:
        parts.append(
            "The interval of the mean is about who was asked, and about noise. Where answers lie "
            "within their intervals is not known: the true mean lies between the two other means."
        )
    return rendered(*parts)


def _statistics(
    title: str,
    what: str,
    answer: Mapping[str, Any],
    group: Mapping[str, Any],
    words: Mapping[str, str],
) -> Table:
    table = Table(title=title, title_justify="left")
    table.add_column(what, overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("estimate", "std. error", level):
        table.add_column(column, justify="right", no_wrap=True)
    for name in _STATISTICS:
        if group[name] is not None:
            table.add_row(_name(name, answer, words), *_numbers(group[name]))
    return table


def _name(statistic: str, answer: Mapping[str, Any], words: Mapping[str, str]) -> str:
    if statistic == "at_least":
        return f"share at or above {answer['threshold']:g}"
    scale = answer.get("scale", ())
    middle = ", intervals by their middle" if statistic == "mean" and _has_intervals(scale) else ""
    return words[statistic] + middle


def _has_intervals(scale: Sequence[Mapping[str, Any]]) -> bool:
    return any(row["low"] != row["high"] for row in scale)


def ordered_change_text(answer: Mapping[str, Any]) -> str:
    """Return a change of ordered answers, a line per statistic; raises as `estimates_text`."""
    shown = Table(title_justify="left")
    shown.add_column("of those who answered", overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("before", "after", "change", level):
        shown.add_column(column, justify="right", no_wrap=True)
    for row in answer["changes"]:
        before, after = (_numbers(row[side])[0] or UNKNOWN for side in ("before", "after"))
        difference = row["difference"]
        value, _, limits = _numbers(difference)
        name = _name(str(row["statistic"]), answer, _DIFFERENCES)
        shown.add_row(name, before, after, value and f"{difference['value']:+.4f}", limits)
    spent = answer["epsilon_of_both"]
    return rendered(
        heading(answer["after"]) + ", since " + heading(answer["before"]),
        shown,
        *_unknown([row[side] for row in answer["changes"] for side in _SIDES]),
        str(answer["intervals"])
        if answer["simultaneous"]
        else how_to_read(len(answer["changes"]), float(answer["confidence"])),
        str(answer["assumption"]),
        f"A person who answered both has spent epsilon {spent['surveys']}, of which "
        f"{spent['attribute']} on this attribute.",
    )


def means_text(answer: Mapping[str, Any]) -> str:
    """Return means whose intervals hold together as a table; raises as `estimates_text`."""
    shown = Table(title_justify="left")
    grouped = answer["given"] is not None
    for column in ("attribute", *([str(answer["given"])] if grouped else [])):
        shown.add_column(column, overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % together"
    for column in ("mean", "std. error", level):
        shown.add_column(column, justify="right", no_wrap=True)
    for row in answer["means"]:
        group = [str(row["group"])] if grouped else []
        shown.add_row(str(row["attribute"]), *group, *_numbers(row))
    parts: list[str | Table] = [heading(answer), shown, *_unknown(answer["means"])]
    parts.append(str(answer["intervals"]))
    if any(_has_intervals(one["scale"]) for one in answer["scales"]):
        parts.append("Answers that are intervals of numbers count with their middle.")
    return rendered(*parts)


def answered_text(answer: Mapping[str, Any]) -> str:
    """Return the shares among those who answered as tables; raises as `estimates_text`."""
    level = f"{100 * float(answer['confidence']):g} % interval"
    parts: list[str | Table] = [heading(answer)]
    for attribute in answer["attributes"]:
        table = Table(title=f"{attribute['name']}, of those who answered", title_justify="left")
        table.add_column("category", overflow="fold")
        for column in ("estimate", "std. error", level):
            table.add_column(column, justify="right", no_wrap=True)
        for row in attribute["categories"]:
            table.add_row(str(row["category"]), *_numbers(row))
        value, error, limits = _numbers(attribute["answered"])
        parts += [table, f"Share who answered: {value} (std. error {error}, {level} {limits}).\n"]
    rows = [row for attribute in answer["attributes"] for row in attribute["categories"]]
    rows += [attribute["answered"] for attribute in answer["attributes"]]
    parts += _unknown(rows)
    return rendered(*parts, str(answer["intervals"]), str(answer["assumption"]))


def _unknown(rows: Sequence[Mapping[str, Any] | None]) -> list[str]:
    return [CANNOT_CONCLUDE] if cannot_conclude(rows) else []


def _numbers(row: Mapping[str, Any]) -> tuple[str, str, str]:
    if row["value"] is None:
        return "", "", UNKNOWN
    limits = f"{row['lower']:.4f} to {row['upper']:.4f}"
    nothing = f", {UNKNOWN}" if row["says_nothing"] else ""
    return f"{row['value']:.4f}", f"{row['standard_error']:.4f}", limits + nothing


def _quantile(row: Mapping[str, Any]) -> tuple[str, str, str]:
    if row["value"] is None:
        return "", "", UNKNOWN
    return f"{row['value']:g}", "", f"{row['lower']:g} to {row['upper']:g}"
