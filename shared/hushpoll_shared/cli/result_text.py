"""A result as text (extra ``cli``): a line about what it is of, its sections, its sentences."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.qualifying.domains import domain_line
from hushpoll_shared.qualifying.verdict import not_shown
from hushpoll_shared.querying.query import Query
from hushpoll_shared.querying.result import Result
from hushpoll_shared.querying.shown import ShownSection, cut_notes, shown_sections


def text_of_query(query: type[Query[Any]]) -> Callable[[Mapping[str, object]], str]:
    """Return what makes lines of text of the JSON of a query's result; it raises as `read`."""
    return lambda document: text_of_result(query.result_of(document))


def text_of_result(result: Result) -> str:
    """Return the sections of a result as tables, and its sentences."""
    parts: list[Table | str] = [] if result.verdict is None else [f"{result.verdict.sentence}\n"]
    parts.append(result.of_what())
    if result.where is not None:
        parts.append(domain_line(result.where))
    folded, more = 0, (*result.said_of_options(), *(result.small_groups or ()))
    sections = list(shown_sections(result))
    for section in sections:
        folded += len(section.folded)
        if section.columns and section.lines:
            parts.append(_table(section))
        if section.lines or not section.folded:
            parts += section.below
    if result.verdict is not None and result.verdict.noisy:
        return rendered(*parts, *not_shown(folded), *more)
    notes = (*result.notes(), *cut_notes(sections, folded=False), *more)
    return rendered(*parts, *not_shown(folded), *notes)


def _table(section: ShownSection) -> Table:
    table = Table(title=section.title or None, title_justify="left")
    for name in section.names:
        table.add_column(name, overflow="fold")
    for column in section.columns:
        table.add_column(column, justify="right", no_wrap=True)
    for line in section.lines:
        table.add_row(*line)
    return table
