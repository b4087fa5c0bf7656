"""A result as text (extra ``cli``): a line about what it is of, its sections, its sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Line, Result, Section
from hushpoll_shared.tables.top_rows import top_rows


def text_of_query(query: type[Query[Any]]) -> Callable[[Mapping[str, Any]], str]:
    """Return what makes lines of text of the JSON of a query's result; it raises as `read`."""
    return lambda document: text_of_result(query.result_of(document))


def text_of_result(result: Result) -> str:
    """Return the sections of a result as tables, and its sentences."""
    level = f"{100 * getattr(result, 'confidence', 0.95):g}"
    parts: list[Table | str] = [result.of_what()]
    for section in result.sections():
        if section.shown:
            parts.append(_table(section, level))
        parts += section.below
    return rendered(*parts, *result.notes())


def _table(section: Section, level: str) -> Table:
    table = Table(title=section.title or None, title_justify="left")
    for name in section.words:
        table.add_column(name, overflow="fold")
    for column in section.shown:
        table.add_column(column.heading.format(level=level), justify="right", no_wrap=True)
    lines = list(section.rows)
    # Of shares the largest are shown; of other long tables `rendered` shows the first rows.
    shares = [
        {"line": line, "frequency": line.frequency} for line in lines if hasattr(line, "frequency")
    ]
    top = top_rows(shares, "frequency")
    for line in [share["line"] for share in top.rows] if shares else lines:
        if isinstance(line, Line):
            row, words = line.row, line.words
        else:
            row, words = line, tuple(str(getattr(line, one)) for one in section.words.values())
        table.add_row(*words, *(column.cell(row) for column in section.shown))
    if top.left:
        none = [""] * (len(section.words) - 1)
        table.add_row(top.words, *none, f"{top.together:.4f}")
    return table
