"""The items of a matrix as the lines of one field, and back.

A line is the item's name, a colon and what it says: ``wine: Red or white wine``. A line without a
colon is what it says, of which its name is made.
"""

from __future__ import annotations

from typing import Final, TypeGuard

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.dashboard.drafts.editing import name_of
from hushpoll_server.dashboard.drafts.fields import Fields, lines

ITEMS: Final = "items"
ROWS: Final = "rows"
"""The field that says how the items are randomised."""
APART: Final = ""
BLOCK: Final = "block"
_TOGETHER: Final = "together"


def take_items(rest: dict[str, object], fields: Fields) -> None:
    """Move the items of a matrix, and whether they are one block, into fields that can show it."""
    fields.texts[ROWS] = APART
    told = _lines_of(rest.get(ITEMS))
    if told is None or not isinstance(rest.get(_TOGETHER) or False, bool):
        return
    fields.texts[ITEMS] = told
    fields.texts[ROWS] = BLOCK if rest.pop(_TOGETHER, None) else APART
    del rest[ITEMS]


def _lines_of(items: object) -> str | None:
    """Return items as lines; None where these would give other items back."""
    if not isinstance(items, list) or not items:
        return None
    told = [f"{item['name']}: {item['question']}" for item in items if _is_item(item)]
    text = "\n".join(told)
    return text if items_of(text) == items else None


def _is_item(item: object) -> TypeGuard[dict[str, str]]:
    return isinstance(item, dict) and item.keys() == {"name", "question"}


def items_of(text: str) -> list[dict[str, str]]:
    """Return the items that the lines of the field give."""
    return [_item(line) for line in lines(text)]


def _item(line: str) -> dict[str, str]:
    name, colon, question = line.partition(":")
    if colon:
        return {"name": name.strip(), "question": question.strip()}
    try:
        return {"name": name_of(line), "question": line}
    except InvalidParameter:
        return {"name": "", "question": line}
