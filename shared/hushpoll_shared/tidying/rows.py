"""The rows of a result in the tidy table: the same columns for all statistics.

What a row's statistic, question, category and group are is read from the sections of a result: from
what a section tells of them (:class:`~hushpoll_shared.qualifying.telling.Tells`), else from its
labels and rows, by the names that all statistics have.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any, Final

from hushpoll_shared.qualifying.domains import where_words
from hushpoll_shared.qualifying.verdict import INFORMATIVE, TOO_NOISY
from hushpoll_shared.querying.documents import to_json
from hushpoll_shared.querying.query import NAMING
from hushpoll_shared.querying.result import Line, Result, Section
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.tables.result_table import columns

TIDY: Final = columns(
    statistic="text",
    question="text",
    category="text",
    group="text",
    estimate="number",
    standard_error="number",
    lower="number",
    upper="number",
    n="whole",
    verdict="text",
)
"""The columns; an empty cell has no meaning for its statistic, or has no bound."""

_AND: Final = " & "


def tidy_rows(result: Result) -> Iterator[JsonMembers]:
    """Yield the rows of a result, each with a value for every column of `TIDY`."""
    for section in result.sections():
        for line in section.lines():
            yield from _rows_of(result, section, line)


def _rows_of(result: Result, section: Section, line: Line) -> Iterator[JsonMembers]:
    row = line.row
    noisy = result.too_noisy(section.part_of(row))
    about = {
        "question": _question(result, section, row),
        "category": _category(section, row),
        "group": _group(result, section, row),
        "verdict": None if result.verdict is None else TOO_NOISY if noisy else INFORMATIVE,
    }
    statistic = _statistic(result, section, line)
    n = _first(getattr(row, "n", None), section.tells.n, getattr(result, "n", None))
    empty = dict.fromkeys(("standard_error", "lower", "upper"))
    if section.tells.numbers:
        for member, name in section.tells.numbers.items():
            number = {"statistic": name, "estimate": getattr(row, member), "n": n}
            yield {**about, **empty, **number}
        return
    if hasattr(row, "lower"):
        yield {**about, "statistic": statistic, "n": n, **_numbers(row)}
        return
    for one in fields(row):
        estimate = getattr(row, one.name)
        if is_dataclass(estimate) and hasattr(estimate, "lower"):
            side = getattr(getattr(result, one.name, None), "n", None)
            told = {"statistic": f"{statistic}, {one.name}", "n": _first(side, n)}
            yield {**about, **told, **_numbers(estimate)}


def _numbers(row: Any) -> JsonMembers:
    value = row.frequency if hasattr(row, "frequency") else row.value
    error = getattr(row, "standard_error", None)
    numbers = {"estimate": value, "standard_error": error, "lower": row.lower, "upper": row.upper}
    return {name: to_json(number) for name, number in numbers.items()}


def _first(*values: Any) -> Any:
    return next((value for value in values if value is not None), None)


def _statistic(result: Result, section: Section, line: Line) -> str:
    if section.tells.statistic:
        return section.tells.statistic
    if line.words and "statistic" in section.labels:
        return line.words[0]
    return str(section.fixed.get("statistic") or result.title)


def _question(result: Result, section: Section, row: Any) -> str:
    if section.tells.question:
        return section.tells.question
    named = section.fixed.get("attribute") or getattr(row, "attribute", None)
    if named is None:
        whose = row if hasattr(row, "a") else result
        found = [getattr(whose, name, None) for name in NAMING]
        named = _AND.join(one for one in found if isinstance(one, str))
    return str(named or section.title)


def _category(section: Section, row: Any) -> str | None:
    found = [getattr(row, name, None) for name in section.tells.category]
    return _AND.join(str(one) for one in found if one is not None) or None


def _group(result: Result, section: Section, row: Any) -> str | None:
    group = getattr(row, "group", None) or section.fixed.get("group")
    parts = [] if result.where is None else [where_words(result.where)]
    if group is not None:
        of = f"{section.tells.group}={group}" if section.tells.group else str(group)
        less = section.tells.reference
        parts.append(of if less is None else f"{of} minus {less}")
    return "; ".join(parts) or None
