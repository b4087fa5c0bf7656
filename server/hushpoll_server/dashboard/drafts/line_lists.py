"""Lists of a draft as the lines of one field, and back: blocks, draws and pairs of questions.

A block's line is its name, a colon, its questions with commas between them and, after a bar, the
protocol where it names one: ``habits: smokes, drinks | SS``. A draw's has its blocks and how many
of them a device sends: ``rota: smokes, drinks, debts | 1``; a pair's, ``smokes, gender``.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeGuard

from hushpoll_server.dashboard.drafts.fields import Fields, lines

_MARKS: Final = frozenset(",|:\n\r")


@dataclass(frozen=True)
class LineList:
    """A list of the manifest that a form shows a line an entry.

    What a line lacks is empty in the entry that it gives, and refused as in YAML.
    """

    member: str
    entry: Callable[[str], object]
    line: Callable[[object], str | None]

    def take(self, rest: dict[str, object], survey: Fields) -> None:
        """Move the list from a manifest into the field, if it can show each entry."""
        entries = rest.get(self.member)
        if not isinstance(entries, list):
            return
        told = [line for line in map(self.line, entries) if line is not None and "\n" not in line]
        if list(map(self.entry, told)) == entries:
            survey.texts[self.member] = "\n".join(told)
            del rest[self.member]

    def given(self, text: str) -> list[object]:
        """Return the list that the lines of the field give."""
        return list(map(self.entry, lines(text)))


def _names(text: str) -> list[str]:
    return [name for name in (part.strip() for part in text.split(",")) if name]


def _are_words(words: object) -> TypeGuard[list[str]]:
    return isinstance(words, list) and all(
        isinstance(word, str) and word and not _MARKS & set(word) for word in words
    )


def _named_line(entry: object, listed: str, end: str) -> str | None:
    if not isinstance(entry, Mapping):
        return None
    name, words, last = entry.get("name"), entry.get(listed), entry.get(end)
    # an entry without a name is shown, and refused at its field
    if not _are_words([name or "-"]) or not _are_words(words):
        return None
    return f"{name}: {', '.join(words)}" + ("" if last in (None, "") else f" | {last}")


def _block(line: str) -> dict[str, object]:
    rest, _, protocol = line.partition("|")
    name, _, questions = rest.partition(":")
    block: dict[str, object] = {"name": name.strip(), "attributes": _names(questions)}
    return block | ({"protocol": protocol.strip()} if protocol.strip() else {})


def _draw(line: str) -> dict[str, object]:
    rest, _, answer = line.partition("|")
    name, _, blocks = rest.partition(":")
    text = answer.strip()
    number = int(text) if text.isascii() and text.isdigit() else text
    return {"name": name.strip(), "blocks": _names(blocks), "answer": number}


LINE_LISTS: Final = (
    LineList("together", _block, lambda block: _named_line(block, "attributes", "protocol")),
    LineList("draws", _draw, lambda draw: _named_line(draw, "blocks", "answer")),
    LineList(
        "pairs",
        lambda line: [name.strip() for name in line.split(",")],
        lambda pair: ", ".join(pair) if _are_words(pair) else None,
    ),
)
