"""The draws of a draft as the lines of one field, and back.

A line is the draw's name, a colon, its blocks with commas between them and, after a bar, how many
of them a device sends: ``rota: smokes, drinks, debts | 1``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hushpoll_server.dashboard.drafts.fields import Fields, lines

_MEMBERS: Final = frozenset({"name", "blocks", "answer"})
_MARKS: Final = frozenset(",|:\n\r")


def take_draws(rest: dict[str, object], survey: Fields) -> None:
    """Move the draws of a manifest into the field, if it can show each of them."""
    draws = rest.get("draws")
    if not isinstance(draws, list) or not draws:
        return
    told = [_line_of(draw) for draw in draws]
    if all(
        line is not None and draw_of(line) == draw for line, draw in zip(told, draws, strict=True)
    ):
        survey.texts["draws"] = "\n".join(map(str, told))
        del rest["draws"]


def draws_of(text: str) -> list[dict[str, object]]:
    """Return the draws that the lines of the field give."""
    return [draw_of(line) for line in lines(text)]


def draw_of(line: str) -> dict[str, object]:
    """Return the draw that a line gives; what it lacks is empty, and refused as in YAML."""
    rest, _, answer = line.partition("|")
    name, _, blocks = rest.partition(":")
    number = answer.strip()
    return {
        "name": name.strip(),
        "blocks": [one for one in (block.strip() for block in blocks.split(",")) if one],
        "answer": int(number) if number.isascii() and number.isdigit() else number,
    }


def _line_of(draw: object) -> str | None:
    """Return a draw as a line; None where it is none, or has members or marks of its own."""
    if not isinstance(draw, Mapping) or set(draw) != _MEMBERS:
        return None
    answer = draw["answer"]
    if type(answer) is not int and (not isinstance(answer, str) or _MARKS & set(answer)):
        return None
    names = draw["blocks"]
    words = [draw["name"] or "-", *(names if isinstance(names, list) else [None])]
    if not all(isinstance(word, str) and word and not _MARKS & set(word) for word in words):
        return None
    end = "" if answer == "" else f" | {answer}"
    return f"{draw['name']}: {', '.join(draw['blocks'])}{end}"
