"""The joint table of two or three attributes as text (extra ``cli``).

The text is made from the JSON of the machine that computes from a file, or of the client that asked
a server. A server's answer is made printable before it comes here.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rich.table import Table

from hushpoll_shared.cli.result_text import NO_QUESTIONS, Questions, asked_lines, with_three_digits
from hushpoll_shared.cli.terminal import rendered
from hushpoll_shared.qualifying.possible import Ends, cut_words, shown_share
from hushpoll_shared.qualifying.subject import heading
from hushpoll_shared.qualifying.verdict import not_shown, part_is_noisy


def joint_table_text(answer: Mapping[str, Any], questions: Questions = NO_QUESTIONS) -> str:
    """Return the joint table with a line per cell where it can tell, and the verdict.

    Raises
    ------
    KeyError, TypeError, ValueError
        If it is no such answer.
    """
    verdict, likely = answer.get("verdict"), answer["likelihood"]
    told = [] if verdict is None else [str(verdict["sentence"])]
    about = [heading(answer), *asked_lines(map(str, answer["attributes"]), questions)]
    if part_is_noisy(verdict, "cells"):
        return rendered(*told, "", *about, *not_shown(len(answer["cells"])))
    shown = Table(title_justify="left")
    for name in answer["attributes"]:
        shown.add_column(str(name), overflow="fold")
    level = f"{100 * float(answer['confidence']):g} % interval"
    for column in ("estimate", "std. error", level, *(["likelihood"] if likely else [])):
        shown.add_column(column, justify="right", no_wrap=True)
    for cell in answer["cells"]:
        shown.add_row(
            *map(str, cell["categories"]),
            with_three_digits(cell["frequency"]),
            with_three_digits(cell["standard_error"]),
            _limits(cell),
            *([with_three_digits(cell["likelihood"])] if likely else []),
        )
    parts: list[Table | str] = [*about, shown, *told, str(answer["intervals"])]
    if likely:
        parts.append(str(likely["interval"]))
    return rendered(*parts, *filter(None, [cut_words(answer["cells"])]))


def _limits(cell: Ends) -> str:
    shown = shown_share(cell)
    return f"{with_three_digits(shown['lower'])} to {with_three_digits(shown['upper'])}"
