"""A section of a result as texts: what a terminal, a page and a report show of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from hushpoll_shared.qualifying.possible import CUT, Possible, cut_row, is_cut
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
        lines: dict[bool, list[Line]] = {False: [], True: []}
        cut = dict.fromkeys(lines, False)
        for line in section.lines():
            noisy = result.too_noisy(section.part_of(line.row))
            lines[noisy].append(line)
            # Of a section without `shown`, too: a sentence may tell of it.
            cut[noisy] = cut[noisy] or _is_cut(section, line)
        yield ShownSection(
            title=section.title,
            names=tuple(section.words),
            columns=tuple(column.heading.format(level=level) for column in section.shown),
            lines=list(_lines(section, lines[False])),
            folded=list(_lines(section, lines[True])),
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
    return (CUT,) if any(one.cut or (folded and one.folded_cut) for one in sections) else ()


def _is_cut(section: Section, line: Line) -> bool:
    row = getattr(line.row, section.interval_of) if section.interval_of else line.row
    possible = line.possible or section.possible
    return possible is not None and is_cut(row.lower, row.upper, possible)


def _lines(section: Section, lines: Sequence[Line]) -> Iterator[tuple[str, ...]]:
    if not section.shown:
        return
    # The largest shares are shown; other long tables are cut by what shows them.
    shares = [
        {"line": line, "frequency": line.row.frequency}
        for line in lines
        if not line.words and hasattr(line.row, "frequency")
    ]
    top = top_rows(shares, "frequency")
    kept: Iterable[Any] = [share["line"] for share in top.rows] if shares else lines
    for line in kept:
        row, _ = cut_row(line.row, line.possible or section.possible, section.interval_of)
        own = (str(getattr(row, one)) for one in section.words.values())
        yield (*(line.words or own), *(column.cell(row) for column in section.shown))
    if top.left:
        gap, rest = len(section.words) - 1, len(section.shown) - 1
        yield (top.words, *[""] * gap, f"{top.together:.4f}", *[""] * rest)
