"""A section of a result as texts: what a terminal, a page and a report show of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from hushpoll_shared.querying.possible import CUT, Possible, cut_row
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
    cut, folded_cut : bool
        Whether an interval is cut to what is possible: of a line, and of one that is folded.
    possible : (float, float) or None
        What its numbers can be, by which a page knows shares and their differences.
    """

    title: str
    names: tuple[str, ...]
    columns: tuple[str, ...]
    lines: list[tuple[str, ...]]
    folded: list[tuple[str, ...]]
    below: tuple[str, ...]
    cut: bool = False
    folded_cut: bool = False
    possible: Possible | None = None


def shown_sections(result: Result) -> Iterator[ShownSection]:
    """Yield what is shown of a result; a section of table files alone has no lines.

    Intervals are cut to what is possible, of which `cut_notes` tells.
    """
    level = f"{100 * getattr(result, 'confidence', 0.95):g}"
    for section in result.sections():
        told: list[Any] = []
        folded: list[Any] = []
        cut = {False: False, True: False}
        for line in section.rows:
            row, possible = line, section.possible
            if isinstance(line, Line):
                row, possible = line.row, line.possible or possible
            noisy = result.too_noisy(section.part_of(row))
            within, was_cut = cut_row(row, possible, section.interval_of)
            cut[noisy] |= was_cut
            if section.shown:  # of another one a sentence may tell
                line = replace(line, row=within) if isinstance(line, Line) else within
                (folded if noisy else told).append(line)
        yield ShownSection(
            title=section.title,
            names=tuple(section.words),
            columns=tuple(column.heading.format(level=level) for column in section.shown),
            lines=list(_lines(section, told)),
            folded=list(_lines(section, folded)),
            below=section.below,
            cut=cut[False],
            folded_cut=cut[True],
            possible=section.possible,
        )


def cut_notes(sections: Iterable[ShownSection], *, folded: bool) -> tuple[str, ...]:
    """Return the sentence that says of sections that intervals are cut, or none.

    Parameters
    ----------
    sections : iterable of ShownSection
        All of a result.
    folded : bool
        Whether rows that are too noisy to tell can be seen, too.
    """
    cut = any(one.cut or (folded and one.folded_cut) for one in sections)
    return (CUT,) if cut else ()


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
