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
    """A section as texts."""

    title: str
    """Empty where it has none."""
    names: tuple[str, ...]
    """Headings of what names a row."""
    columns: tuple[str, ...]
    """Headings of its numbers. Without any heading, only `below` is shown."""
    lines: list[tuple[str, ...]]
    """A text per heading, of rows that can be told."""
    folded: list[tuple[str, ...]]
    """The same of those that are too noisy."""
    below: tuple[str, ...]
    """Sentences."""
    cut: bool = False
    """Whether an interval of a line is cut to what is possible."""
    folded_cut: bool = False
    """Whether one of a folded line is."""
    possible: Possible | None = None
    """What its numbers can be, by which a page knows shares and their differences."""


def shown_sections(result: Result) -> Iterator[ShownSection]:
    """Yield what is shown of a result; a section of table files alone has no lines."""
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
    """Return the sentence that intervals are cut, or none; `folded` ones count if they are seen."""
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
