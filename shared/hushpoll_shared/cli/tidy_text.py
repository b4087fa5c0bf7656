"""The tidy table of results as text (extra ``cli``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from rich.table import Table

from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, asked_lines, with_three_digits
from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.qualifying.subject import heading
from hushpoll_shared.qualifying.verdict import TOO_NOISY
from hushpoll_shared.queries.parts.rows import ERROR
from hushpoll_shared.tables.result_table import Cell
from hushpoll_shared.tidying.results import tidy_table
from hushpoll_shared.tidying.rows import TIDY

_ABOUT: Final = ("question", "category", "group")
_NOT_SHOWN: Final = (
    "n and the verdict of each row are in --json and --out, and so are numbers that are too noisy "
    "to tell."
)


def tidy_text(answer: Mapping[str, Any], questions: Questions = NO_QUESTIONS) -> str:
    """Return the rows as a table, and what was left out; raises as `tidy_table`."""
    found = tidy_table(answer)
    names = [column.name for column in TIDY]
    shown = Table()
    for name in ("statistic", "about"):
        shown.add_column(name, overflow="fold")
    for name in ("estimate", ERROR, "interval"):
        shown.add_column(name, justify="right", no_wrap=True)
    for cells in found.rows:
        row = dict(zip(names, cells, strict=True))
        about = ", ".join(str(row[name]) for name in _ABOUT if row[name] is not None)
        shown.add_row(str(row["statistic"]), about, *_numbers(row))
    left_out = [f"{name} is left out: {reason}." for name, reason in answer["left_out"].items()]
    about = heading({**answer, "n": f"{len(found.rows)} rows about its"})
    asked = asked_lines((str(row[names.index("question")]) for row in found.rows), questions)
    return rendered(about, shown, *asked, _NOT_SHOWN, *left_out)


def _numbers(row: Mapping[str, Cell]) -> tuple[str, str, str]:
    """Return estimate, error and interval of a row as texts."""
    if row["verdict"] == TOO_NOISY:
        return TOO_NOISY, "", ""
    ends = [_number(row[name]) for name in ("lower", "upper")]
    return (
        _number(row["estimate"]),
        _number(row["standard_error"]),
        " to ".join(end or "no bound" for end in ends) if any(ends) else "",
    )


def _number(cell: Cell) -> str:
    if isinstance(cell, float):
        return with_three_digits(cell)
    return "" if cell is None else str(cell)
