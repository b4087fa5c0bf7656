"""The pairs of questions that a draft marks, as the lines of one field, and back.

A line has the two questions with a comma between them: ``smokes, gender``.
"""

from __future__ import annotations

from typing import Final

from hushpoll_server.dashboard.drafts.fields import Fields, lines

PAIRS: Final = "pairs"
_MARKS: Final = frozenset(",\n\r")


def take_pairs(rest: dict[str, object], survey: Fields) -> None:
    """Move the pairs of a manifest into the field, if it can show each of them."""
    pairs = rest.get(PAIRS)
    if not isinstance(pairs, list):
        return
    told = [", ".join(pair) if _is_shown(pair) else None for pair in pairs]
    if all(
        line is not None and [pair] == pairs_of(line)
        for line, pair in zip(told, pairs, strict=True)
    ):
        survey.texts[PAIRS] = "\n".join(map(str, told))
        del rest[PAIRS]


def pairs_of(text: str) -> list[list[str]]:
    """Return the pairs that the lines of the field give; a wrong one is refused as in YAML."""
    return [[one.strip() for one in line.split(",")] for line in lines(text)]


def _is_shown(pair: object) -> bool:
    return isinstance(pair, list) and all(
        isinstance(name, str) and name and not _MARKS & set(name) for name in pair
    )
