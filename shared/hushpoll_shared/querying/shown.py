"""A section of a result as texts: what a terminal, a page and a report show of it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_shared.querying.result import Line, Result, Section
from hushpoll_shared.tables.top_rows import top_rows


@dataclass(frozen=True, slots=True)
class ShownSection:
    """A section as texts.

    Attributes
    ----------
    title : str
        Empty where it has none.
    names, columns : tuple of str
        Headings: of what names a row, and of its numbers. Without any, only `below` is shown.
    lines, folded : list of tuple of str
        A text per heading: of rows that can be told, and of those that are too noisy.
    below : tuple of str
        Sentences.
    """

    title: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    lines: list[tuple[str, ...]]
    folded: list[tuple[str, ...]]
    below: tuple[str, ...]


def shown_sections(result: Result) -> Iterator[ShownSection]:
    """Yield what is shown of a result; a section of table files alone has no lines."""
    level = f"{100 * getattr(result, 'confidence', 0.95):g}"
    for section in result.sections():
        told: list[Any] = []
        folded: list[Any] = []
        for line in section.rows if section.shown else ():
            row = line.row if isinstance(line, Line) else line
            (folded if result.too_noisy(section.part_of(row)) else told).append(line)
        yield ShownSection(
            title=section.title,
            names=tuple(section.words),
            columns=tuple(column.heading.format(level=level) for column in section.shown),
            lines=list(_lines(section, told)),
            folded=list(_lines(section, folded)),
            below=section.below,
        )


def rows_too_noisy(rows: int) -> str:
    """Return the subject and the verb of a sentence about rows that cannot be told."""
    return (
        "1 row that is too noisy to tell is"
        if rows == 1
        else (f"{rows} rows that are too noisy to tell are")
    )


def _lines(section: Section, lines: Sequence[Any]) -> Iterator[tuple[str, ...]]:
    # Of shares the largest are shown; other long tables are cut by what shows them.
    shares = [
        {"line": line, "frequency": line.frequency} for line in lines if hasattr(line, "frequency")
    ]
    top = top_rows(shares, "frequency")
    for line in [share["line"] for share in top.rows] if shares else lines:
        if isinstance(line, Line):
            row, words = line.row, line.words
        else:
            row, words = line, tuple(str(getattr(line, one)) for one in section.words.values())
        yield (*words, *(column.cell(row) for column in section.shown))
    if top.left:
        gap = len(section.words) - 1
        rest = len(section.shown) - 1
        yield (top.words, *[""] * gap, f"{top.together:.4f}", *[""] * rest)
