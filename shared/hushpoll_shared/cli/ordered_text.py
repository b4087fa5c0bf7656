"""Ordered answers, and shares among those who answered, as text (extra ``cli``).

The text is made from the JSON of the machine that estimates from a file, or of the client that
asked a server. A server's answer is made printable before it comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from hushpoll_shared.cli.estimates_text import heading
from hushpoll_shared.cli.terminal import rendered

UNKNOWN: Final = "cannot conclude"


def ordered_text(answer: Mapping[str, Any]) -> str:
    """Return mean, quantiles, share at a threshold and NPS; raises as `estimates_text`."""
    level = f"{100 * float(answer['confidence']):g} % interval"
    parts: list[str | Table] = [heading(answer)]
    scale = answer["scale"]
    intervals = any(row["low"] != row["high"] for row in scale)
    for group in answer["groups"]:
        title = str(answer["attribute"])
        if answer["given"] is not None:
            title += f", given {answer['given']} {group['group']}"
        table = Table(title=title, title_justify="left")
        table.add_column("of those who answered", overflow="fold")
        for column in ("estimate", "std. error", level):
            table.add_column(column, justify="right", overflow="fold")
        for name, words in (
            ("mean", "mean, intervals by their middle" if intervals else "mean"),
            ("least", "mean, if all lie at the lower ends"),
            ("greatest", "mean, if all lie at the upper ends"),
            ("at_least", f"share at or above {answer['threshold']}"),
            ("nps", "net promoter score"),
        ):
            if group[name] is not None:
                table.add_row(words, *_numbers(group[name]))
        for quantile in group["quantiles"]:
            words = "median" if quantile["q"] == 0.5 else f"quantile {quantile['q']:g}"
            table.add_row(words, *_quantile(quantile))
        parts.append(table)
    parts.append(str(answer["intervals"]))
    if intervals:
        parts.append(
            "The interval of the mean is about who was asked, and about noise. Where answers lie "
            "within their intervals is not known: the true mean lies between the two other means."
        )
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
    return rendered(*parts, str(answer["intervals"]), str(answer["assumption"]))


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
