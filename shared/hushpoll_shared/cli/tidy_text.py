"""The tidy table of results as text (extra ``cli``)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.querying.result import heading
from hushpoll_shared.querying.tidy import TIDY, tidy_table
from hushpoll_shared.tables.result_table import Cell

_TEXTS = ("statistic", "question", "category", "group")


def tidy_text(answer: Mapping[str, Any]) -> str:
    """Return the rows as a table, and what was left out; raises as `tidy_table`."""
    found = tidy_table(answer)
    shown = Table()
    for column in TIDY:
        if column.name in _TEXTS:
            shown.add_column(column.name, overflow="fold")
        else:
            shown.add_column(column.name.replace("_", " "), justify="right", no_wrap=True)
    for row in found.rows:
        shown.add_row(*map(_shown, row))
    left_out = [f"{name} is left out: {reason}." for name, reason in answer["left_out"].items()]
    about = heading({**answer, "n": f"{len(found.rows)} rows about its"})
    return rendered(about, shown, *left_out)


def _shown(cell: Cell) -> str:
    return "" if cell is None else f"{cell:.4f}" if isinstance(cell, float) else str(cell)
