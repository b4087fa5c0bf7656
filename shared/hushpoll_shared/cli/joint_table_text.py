"""The joint table of two or three attributes as text (extra ``cli``).

The text is made from the JSON of the machine that computes from a file, or of the client that asked
a server. A server's answer is made printable before it comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.qualifying.possible import Ends, cut_words, shown_share
from hushpoll_shared.qualifying.subject import heading
from hushpoll_shared.qualifying.verdict import not_shown, part_is_noisy


def joint_table_text(answer: Mapping[str, Any]) -> str:
    """Return the verdict, and the joint table as a table with a line per cell where it can tell.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such answer.
    """
    verdict, likely = answer.get("verdict"), answer["likelihood"]
    begin = [] if verdict is None else [f"{verdict['sentence']}\n"]
    if part_is_noisy(verdict, "cells"):
        return rendered(*begin, heading(answer), *not_shown(len(answer["cells"])))
    shown = Table(title_justify="left")
    for name in answer["attributes"]:
        shown.add_column(str(name), overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("estimate", "std. error", level, *(["likelihood"] if likely else [])):
        shown.add_column(column, justify="right", no_wrap=True)
    for cell in answer["cells"]:
        shown.add_row(
            *map(str, cell["categories"]),
            f"{cell['frequency']:.4f}",
            f"{cell['standard_error']:.4f}",
            _limits(cell),
            *([f"{cell['likelihood']:.4f}"] if likely else []),
        )
    parts: list[Table | str] = [*begin, heading(answer), shown, str(answer["intervals"])]
    if likely:
        parts.append(str(likely["interval"]))
    return rendered(*parts, *filter(None, [cut_words(answer["cells"])]))


def _limits(cell: Ends) -> str:
    shown = shown_share(cell)
    return f"{shown['lower']:.4f} to {shown['upper']:.4f}"
