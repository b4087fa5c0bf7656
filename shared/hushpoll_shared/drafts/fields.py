"""One field of a manifest: its form, default, example and reason, for parser, schema and docs.

`Manifest.from_dict` takes the names of the fields that may stand in a draft from here,
:mod:`hushpoll_shared.survey.manifest_schema` makes the JSON Schema of it, and the manifest's
reference page is made of it too. A field that is added here without a sentence, an example or a
reason cannot be built.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from hushpoll_protocols import PROTOCOLS, InvalidParameter
from hushpoll_shared.spelling.decimals import LARGEST_WEIGHT
from hushpoll_shared.spelling.json_values import JsonObject
from hushpoll_shared.spelling.labels import UNSEEN, VARIANTS, WHITE
from hushpoll_shared.spelling.text import (
    NAME_LENGTH,
)

Form = JsonObject
"""A JSON Schema (draft 7) of a field's values."""


@dataclass(frozen=True)
class Place:
    """Where a form shows an input: in a part of it, a row of the part, and a column of the row."""

    part: str
    row: int
    column: int = 0
    narrow: bool = False
    """Whether its row has as many columns as fit short words."""


@dataclass(frozen=True, kw_only=True)
class FormInput:
    """One input of a form: its words and its place; what it has not is as usual for its values."""

    label: str = ""
    """What the form calls it."""
    hint: str = ""
    """What the form says beside it."""
    hint_where: tuple[str, bool] | None = None
    """An input, and whether it has a text where the hint is said; None: it is always said."""
    called: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What a form calls the words of its values, if not what they are; an empty one stands for no
    value, or for false."""
    kind: str = ""
    """Of what is typed, of one of several: ``"numeric"`` or ``"decimal"``; empty for a text."""
    lines: int = 0
    """Shown of a text of several; 0 for one of a single line."""
    placeholder: str = ""
    place: Place | None = None
    """None: after all others."""
    key: str = ""
    """Where it is in the value that is shown by several, if not under its own name."""
    subject: str = ""
    """What a sentence about a problem calls it, if not by the field's title."""


@dataclass(frozen=True, kw_only=True)
class ManifestField(FormInput):
    """One field that an author may write; refuses a text that is empty.

    With a label it is an input of a form by itself.
    """

    name: str
    form: Form = field(hash=False)
    """JSON Schema of its values; null is added to those of a field that is not required."""
    allowed: str
    """The allowed values in words."""
    meaning: str
    """What the field says."""
    reason: str
    """Why it exists, or why it has this default."""
    example: Any = field(hash=False)
    """A value that a draft may have."""
    required: bool = False
    default: Any = field(default=None, hash=False)
    """What holds where it is absent; None if nothing does."""
    published: bool = True
    """Whether the published form has it too."""
    parts: Mapping[str, FormInput] = field(default_factory=dict, hash=False)
    """The inputs of a value that a form shows by several, by their names; a problem of the value is
    told beside the first."""
    beside: str = ""
    """The input of another field with which a form shows it, and beside which its problems are."""
    title: str = ""
    """What a list of problems calls it, if not as its label."""

    def __post_init__(self) -> None:
        for key in ("name", "allowed", "meaning", "reason", "form", "example"):
            if getattr(self, key) in (None, "", {}):
                raise InvalidParameter(
                    f"the manifest's field {self.name} has no {key}; write it into the table",
                    field=key,
                )

    @property
    def has_lines(self) -> bool:
        """Whether it is a text that may have several lines."""
        return bool(self.form.get("pattern") == text(0, lines=True)["pattern"])


# What a text must not have: controls, line separators and directional overrides.
_FORBIDDEN: Final = r"\u0000-\u001f\u007f-\u009f\u2028\u2029\u202a-\u202e\u2066-\u2069"
TIME: Final = r"^[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}Z$"
NAME: Final[Form] = {"type": "string", "pattern": f"^[a-z0-9_-]{{1,{NAME_LENGTH}}}$"}
LANGUAGE: Final[Form] = {
    "type": "string",
    "pattern": "^[a-z]{2,3}(-[A-Z][a-z]{3})?(-([A-Z]{2}|[0-9]{3}))?$",
}
PROTOCOL: Final[Form] = {"type": "string", "enum": list(PROTOCOLS)}
WEIGHT: Final[Form] = {
    "anyOf": [
        {"type": "number", "exclusiveMinimum": 0, "maximum": LARGEST_WEIGHT},
        {"type": "string", "pattern": r"^[0-9]{1,20}(\.[0-9]{1,40})?([eE][-+]?[0-9]{1,2})?$"},
    ]
}


def text(longest: int, *, lines: bool = False) -> Form:
    """Return the form of a text of 1 to `longest` characters without unseen ones at its ends."""
    forbidden = _FORBIDDEN.replace(r"\u0000-\u001f", r"\u0000-\u0009\u000b-\u001f")
    inside = forbidden if lines else _FORBIDDEN
    around = r"\n*" if lines else ""
    first, last = f"[^{WHITE}{UNSEEN}{VARIANTS}{inside}]", f"[^{WHITE}{UNSEEN}{inside}]"
    return {
        "type": "string",
        "maxLength": longest,
        "pattern": f"^{around}{first}([^{inside}]*{last})?{around}$",
    }


def list_of(items: Form, least: int = 0, most: int = 0, *, unique: bool = False) -> Form:
    """Return the form of a list; 0 is no limit."""
    limits = {"minItems": least, "maxItems": most, "uniqueItems": unique}
    return {"type": "array", "items": items, **{key: one for key, one in limits.items() if one}}


def mapping_of(properties: JsonObject, *required: str) -> Form:
    """Return the form of a mapping with these keys and no others."""
    needed: Form = {"required": list(required)} if required else {}
    return {"type": "object", "properties": properties, **needed, "additionalProperties": False}


def keyed_by(keys: Form, values: Form, least: int = 0, most: int = 0) -> Form:
    """Return the form of a mapping with any keys of a form; 0 is no limit."""
    limits = {"minProperties": least, "maxProperties": most}
    form: Form = {"type": "object", "propertyNames": keys, "additionalProperties": values}
    return {**form, **{key: one for key, one in limits.items() if one}}


def names(fields: tuple[ManifestField, ...]) -> frozenset[str]:
    """Return the keys that may stand in a mapping with these fields."""
    return frozenset(entry.name for entry in fields)


def required(fields: tuple[ManifestField, ...]) -> tuple[str, ...]:
    """Return the keys that must stand in a mapping with these fields."""
    return tuple(entry.name for entry in fields if entry.required)
