"""The fields of one part of a form: how members of a manifest become texts, and texts members.

What a form cannot show travels with it unchanged, as JSON: members that it does not know, and
members of another type than its fields have.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hushpoll_shared.spelling.labels import trimmed

MOST_LINES: Final = 500
"""Entries of a list that a form shows; a longer list is written as YAML."""

Read = Callable[[str], str]
"""Returns the text of a field by its name; a field that was not sent is empty."""

_WHOLE: Final = re.compile(r"-?(0|[1-9][0-9]{0,17})", re.ASCII)


@dataclass
class Fields:
    """The texts of a form's fields by name, and the members that it cannot show."""

    texts: dict[str, str] = field(default_factory=dict)
    kept: dict[str, object] = field(default_factory=dict)

    @property
    def kept_text(self) -> str:
        """The members that the form cannot show, as JSON."""
        return json.dumps(self.kept) if self.kept else ""


def shown(value: object) -> str | None:
    """Return a value as the text of a field; None where a field would give another value back."""
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return None
    return str(value)


def shown_lines(values: object, most: int) -> str | None:
    """Return a list as lines; None where these would give another list back."""
    if not isinstance(values, list) or len(values) > most:
        return None
    texts = [shown(value) for value in values]
    if any(text is None or "\n" in text for text in texts):
        return None
    return "\n".join(map(str, texts))


def take_texts(rest: dict[str, object], fields: Fields, names: Iterable[str]) -> None:
    """Move members that a field can show as texts from a document into fields."""
    for name in names:
        told = shown(rest.get(name))
        if told is not None:
            fields.texts[name] = told
            del rest[name]


def reader(given: Mapping[str, str], prefix: str) -> Read:
    """Return what reads the fields of one part of a form that was sent."""

    def read(name: str) -> str:
        text = given.get(prefix + name, "")
        if name == "kept":
            return text
        text = text.replace("\r\n", "\n")
        # Lines stand beside those of another list, also where the first are empty.
        return text.rstrip() if name.endswith("-answers") else trimmed(text)

    return read


def number_of_parts(given: Mapping[str, str], name: str) -> int:
    """Return how many parts of a kind a form says that it has, below 10,000.

    They may be more than a survey has: what was written is kept, and its number refused by name.
    """
    text = given.get(name, "")
    return int(text) if text.isdecimal() and len(text) < 5 else 0


def number(text: str) -> int | str:
    """Return a text that is a whole number as one."""
    return int(text) if _WHOLE.fullmatch(text) else text


def lines(text: str) -> list[str]:
    """Return the lines of a text that are not empty."""
    return [line for line in map(trimmed, text.split("\n")) if line]


def kept_members(text: str) -> dict[str, object]:
    """Return the members that a form could not show; none where it was tampered with."""
    document = json_of(text)
    return document if isinstance(document, dict) else {}


def json_text(value: object) -> str:
    """Return a value as JSON, as short as it gets."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_of(text: str) -> Any:
    """Return the JSON of a hidden field; None where it is not as a page gave it."""
    try:
        document = json.loads(text) if text else None
        # Halves of surrogate pairs can be stored and not shown; nan is no JSON.
        json.dumps(document, ensure_ascii=False, allow_nan=False).encode()
    except (ValueError, RecursionError):
        return None
    return document
