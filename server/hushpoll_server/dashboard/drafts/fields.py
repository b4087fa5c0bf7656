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

from hushpoll_shared.drafts.fields import TIME, ManifestField, text
from hushpoll_shared.spelling.labels import trimmed

Read = Callable[[str], str]
"""Returns the text of a field by its name; a field that was not sent is empty."""

# As a browser's own field for a moment gives it, which leaves seconds of 0 out.
MOMENT: Final = re.compile(r"([0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2})(:[0-9]{2})?")
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


@dataclass(frozen=True, slots=True)
class Control:
    """How a form shows one field of the manifest's table, and what it gives back."""

    label: str
    hint: str
    kind: str
    """``choice``, ``switch``, ``moment``, ``lines``, ``decimal``, ``numeric`` or ``text``."""
    words: tuple[tuple[str, str], ...]
    """Of a choice or a switch: what may be chosen, and what it is called."""
    values: tuple[str, ...]
    """Words that a manifest has as they are; the first holds where it has none."""
    always: bool
    """Whether a manifest has it also where its word is the first."""
    lines: int = 0
    """Of a text of several lines, how many are shown; 0 for one of a single line."""

    @classmethod
    def of(cls, entry: ManifestField) -> Control:
        """Return the control of a field that has a label."""
        forms = [entry.form, *_list(entry.form.get("anyOf"))]
        listed = [str(word) for form in forms for word in _list(form.get("enum"))]
        values = (*(() if "" not in entry.called else ("",)), *listed)
        words = {**entry.called} | {word: word for word in values if word not in entry.called}
        types = [form.get("type") for form in forms]
        pattern = str(entry.form.get("pattern"))
        kinds = {
            "switch": "boolean" in types,
            "choice": bool(words),
            "moment": pattern == TIME,
            "numeric": "integer" in types,
            "decimal": "number" in types,
            "lines": pattern == text(0, lines=True)["pattern"],
        }
        kind = next((kind for kind, is_one in kinds.items() if is_one), "text")
        lines = 2 if kind == "lines" else 0
        choices = tuple(words.items())
        return cls(entry.label, entry.hint, kind, choices, values, entry.required, lines)

    def text(self, value: object) -> str | None:
        """Return a member of a manifest as the control's text; None where it cannot show it."""
        if self.kind in ("switch", "choice") and value is None:
            return self.words[0][0]
        if self.kind == "switch":
            return self.words[int(value)][0] if isinstance(value, bool) else None
        if self.kind == "choice":
            return value if isinstance(value, str) and value in self.values else None
        return shown(value)

    def member(self, text: str) -> object:
        """Return the member of a manifest that a text gives; None where it has none."""
        first = self.words[0][0] if self.words and not self.always else ""
        if text in ("", first):
            return None
        if self.kind == "switch":
            return True if text == self.words[-1][0] else None
        if self.kind == "moment":
            moment = MOMENT.fullmatch(text)
            return f"{moment[1]}{moment[2] or ':00'}Z" if moment else text
        return number(text) if self.kind == "numeric" else text


def controls_of(table: Iterable[ManifestField]) -> dict[str, Control]:
    """Return the controls of a table of the manifest, by the names of its fields."""
    return {entry.name: Control.of(entry) for entry in table if entry.label}


def parts_of(table: Iterable[ManifestField]) -> dict[str, Control]:
    """Return the controls of values that are shown by several, by the names of the parts."""
    return {
        name: Control(
            part.label, part.hint, part.kind, tuple(part.called.items()), (), False, part.lines
        )
        for entry in table
        for name, part in entry.parts.items()
    }


def first_parts(table: Iterable[ManifestField]) -> dict[str, str]:
    """Return the first part of each value that is shown by its parts alone, by the field's name."""
    return {
        entry.name: next(iter(entry.parts)) for entry in table if entry.parts and not entry.label
    }


def take(rest: dict[str, object], fields: Fields, controls: Mapping[str, Control]) -> None:
    """Move the members that controls can show from a document into fields."""
    for name, control in controls.items():
        told = control.text(rest.get(name))
        if told is not None:
            fields.texts.setdefault(name, told)
            rest.pop(name, None)


def given_members(read: Read, controls: Mapping[str, Control]) -> dict[str, object]:
    """Return the members that the fields of a form give."""
    members = {name: control.member(read(name)) for name, control in controls.items()}
    return {name: member for name, member in members.items() if member is not None}


def take_texts(rest: dict[str, object], fields: Fields, names: Iterable[str]) -> None:
    """Move members that a field can show as texts from a document into fields."""
    for name in names:
        told = shown(rest.get(name))
        if told is not None:
            fields.texts[name] = told
            del rest[name]


def _list(value: object) -> list[Any]:
    return value if isinstance(value, list) else []


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
