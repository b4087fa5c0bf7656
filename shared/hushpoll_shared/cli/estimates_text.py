"""Estimates and cross-tables as text (extra ``cli``).

The text is made from the JSON of the machine that estimates from a file, or of the client that
asked a server. A server's answer is made printable before it comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.estimators import ESTIMATOR_TERMS, UNBIASED
from hushpoll_shared.querying.headings import heading
from hushpoll_shared.spelling.intervals import how_to_read
from hushpoll_shared.spelling.text import printable


def estimates_text(answer: Mapping[str, Any]) -> str:
    """Return the estimates of every attribute as tables.

    Parameters
    ----------
    answer : mapping
        As a server gives it: ``survey``, ``version``, ``n``, ``attributes`` and so on.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such answer.
    """
    parts: list[str | Table] = [heading(answer)]
    with_interval = not _without_interval(answer)
    for attribute in attribute_entries(answer):
        how = "in clear"
        if attribute.get("protocol"):
            how = f"{attribute['protocol']}, epsilon {attribute.get('epsilon')}"
        table = Table(title=f"{attribute.get('name')} ({how})", title_justify="left")
        table.add_column("category", overflow="fold")
        headings = ("estimate", "std. error", _level(answer)) if with_interval else ("estimate",)
        for name in headings:
            table.add_column(name, justify="right", no_wrap=True)
        for row in attribute.get("categories", []):
            table.add_row(str(row["category"]), *_numbers(row, with_interval=with_interval))
        parts += [table, _fakes(attribute)]
    if answer.get("intervals"):
        parts.append(str(answer["intervals"]))
    shape = "\n\n" + shape_text(answer["shape"]) if "shape" in answer else ""
    return rendered(*parts) + shape


def cross_table_text(answer: Mapping[str, Any]) -> str:
    """Return a cross-table as a table with a line per cell, row by row.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such answer.
    """
    table = Table()
    for attribute in (answer["a"], answer["b"]):
        table.add_column(str(attribute), overflow="fold")
    for name in ("estimate", "std. error", _level(answer)):
        table.add_column(name, justify="right", no_wrap=True)
    for cell in answer["cells"]:
        table.add_row(str(cell["a"]), str(cell["b"]), *_numbers(cell, with_interval=True))
    parts: list[str | Table] = [heading(answer), table, _fakes(answer)]
    if answer.get("intervals"):
        parts.append(str(answer["intervals"]))
    return rendered(*parts)


def shape_text(tested: Mapping[str, Any]) -> str:
    """Return a test of the reports' shape as lines of text.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such result.
    """
    p_value, alpha = tested["p_value"], float(tested["alpha"])
    if p_value is None:
        head = "Shape of the reports: nothing to test."
    elif tested["flagged"]:
        head = (
            f"Shape of the reports: FLAGGED, p = {float(p_value):.2g}. Some were not made by "
            f"devices: at most {alpha:.3g} of honest surveys are flagged."
        )
    else:
        head = (
            f"Shape of the reports: like those of devices, p = {float(p_value):.2g} (flagged at "
            f"{alpha:g}). Fakes that were made with care look like this too."
        )
    lines = [head]
    for attribute in tested["attributes"]:
        chance = attribute["p_value"]
        words = "not tested" if chance is None else f"p = {float(chance):.2g}"
        lines.append(
            f"  {printable(attribute['name'])}: {words}; {printable(attribute['finding'])}"
        )
    return rendered(*lines)


def read_again(answer: dict[str, Any]) -> None:
    """Say anew how to read the intervals of an answer whose attributes, or shape, were changed."""
    confidence = answer.get("confidence")
    if _without_interval(answer) or not isinstance(confidence, float) or not 0 < confidence < 1:
        return
    lists = (attribute.get("categories") for attribute in attribute_entries(answer))
    shown = sum(len(rows) for rows in lists if isinstance(rows, list))
    answer["intervals"] = how_to_read(shown, confidence, shape="shape" in answer)


def attribute_entries(answer: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the attributes of an answer, leaving out what is none."""
    entries = answer.get("attributes")
    if not isinstance(entries, list):
        return []
    return [entry for entry in entries if isinstance(entry, dict)]


def _numbers(row: Mapping[str, Any], *, with_interval: bool) -> tuple[str, ...]:
    value = f"{row['frequency']:.4f}"
    if not with_interval:
        return (value,)
    return value, f"{row['standard_error']:.4f}", f"{row['lower']:.4f} to {row['upper']:.4f}"


def _without_interval(answer: Mapping[str, Any]) -> bool:
    terms = ESTIMATOR_TERMS.get(str(answer.get("estimator", UNBIASED)))
    return terms is not None and terms.no_interval is not None


def _level(answer: Mapping[str, Any]) -> str:
    return f"{100 * float(answer.get('confidence', 0.95)):g} % interval"


def _fakes(attribute: Mapping[str, Any]) -> str:
    """Say what fake reports could do, which no interval takes into account."""
    effect = attribute.get("poisoning")
    if not isinstance(effect, dict):
        return ""
    return (
        f"If {effect['fake_share']:.0%} of the reports were fake, an estimate could be up to "
        f"{effect['raised_by']:.3f} too high or {abs(effect['lowered_by']):.3f} too low.\n"
    )
