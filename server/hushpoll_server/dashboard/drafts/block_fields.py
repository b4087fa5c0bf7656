"""The blocks of a draft as the lines of one field, and back.

A line is the block's name, a colon, its questions with commas between them and, after a bar, the
protocol where it names one: ``habits: smokes, drinks | SS``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from hushpoll_server.dashboard.drafts.fields import Fields, lines

_MEMBERS: Final = frozenset({"name", "attributes", "protocol"})
_MARKS: Final = frozenset(",|:\n\r")


def take_blocks(rest: dict[str, object], survey: Fields) -> None:
    """Move the blocks of a manifest into the field, if it can show each of them."""
    blocks = rest.get("together")
    if not isinstance(blocks, list) or not blocks:
        return
    told = [_line_of(block) for block in blocks]
    if all(
        line is not None and block_of(line) == block
        for line, block in zip(told, blocks, strict=True)
    ):
        survey.texts["together"] = "\n".join(map(str, told))
        del rest["together"]


def blocks_of(text: str) -> list[dict[str, object]]:
    """Return the blocks that the lines of the field give."""
    return [block_of(line) for line in lines(text)]


def block_of(line: str) -> dict[str, object]:
    """Return the block that a line gives; what it lacks is empty, and refused as in YAML."""
    rest, _, protocol = line.partition("|")
    name, _, questions = rest.partition(":")
    names = [one.strip() for one in questions.split(",")]
    block: dict[str, object] = {
        "name": name.strip(),
        "attributes": [one for one in names if one],
    }
    if protocol.strip():
        block["protocol"] = protocol.strip()
    return block


def _line_of(block: object) -> str | None:
    """Return a block as a line; None where it is none, or has members or marks of its own."""
    if not isinstance(block, Mapping) or not set(block) <= _MEMBERS:
        return None
    names, protocol = block.get("attributes"), block.get("protocol")
    words = [block.get("name") or "-", *(names if isinstance(names, list) else [None])]
    words += [] if protocol is None else [protocol]
    if not all(isinstance(word, str) and word and not _MARKS & set(word) for word in words):
        return None
    end = "" if protocol is None else f" | {protocol}"
    return f"{block['name']}: {', '.join(block['attributes'])}{end}"
