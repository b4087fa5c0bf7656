"""The manifest's reference page, made of the tables that the parser and the JSON Schema read."""

from __future__ import annotations

import json
from typing import Any

from directives.markdown import cell, table, target
from hushpoll_shared.drafts.attribute_fields import (
    ATTRIBUTE,
    PROTECTED,
    TRANSLATED_ATTRIBUTE,
    TRANSLATION,
)
from hushpoll_shared.drafts.fields import ManifestField
from hushpoll_shared.drafts.schema import BEYOND_THE_SCHEMA
from hushpoll_shared.drafts.survey_fields import BLOCK, DRAW, SURVEY

PARTS: tuple[tuple[str, str, tuple[ManifestField, ...]], ...] = (
    ("survey", "Fields of a survey", SURVEY),
    ("attribute", "Fields of an attribute", ATTRIBUTE),
    ("block", "Fields of a block in `together`", BLOCK),
    ("draw", "Fields of a draw in `draws`", DRAW),
    ("protected", "Fields of `protected`", PROTECTED),
    ("translation", "Fields of a translation", TRANSLATION),
    (
        "translated-attribute",
        "Fields of an attribute's words in a translation",
        TRANSLATED_ATTRIBUTE,
    ),
)


def text() -> str:
    """Return an overview and every field of a manifest."""
    parts = [part for name, title, fields in PARTS for part in _part(name, title, fields)]
    rules = "\n".join(f"- {rule}" for rule in BEYOND_THE_SCHEMA)
    return "\n".join([*parts, "## Rules between fields", "", rules, ""])


def _part(name: str, title: str, fields: tuple[ManifestField, ...]) -> list[str]:
    rows = [
        (
            f"[`{entry.name}`](#manifest-{name}-{entry.name.replace('_', '-')})",
            "yes" if entry.required else "",
            _default(entry),
            entry.meaning,
        )
        for entry in fields
    ]
    overview = table(("field", "needed", "default", "what it says"), rows)
    return [f"## {title}", "", overview, *(_entry(name, entry) for entry in fields)]


def _entry(part: str, entry: ManifestField) -> str:
    facts = [
        ("allowed", entry.allowed),
        ("needed", "yes" if entry.required else "no"),
        ("default", _default(entry) or "none"),
        ("example", f"`{entry.name}: {_flow(entry.example)}`"),
    ]
    if not entry.published:
        facts.append(("published", "no: it is the author's shorthand or for simulation alone"))
    lines = "\n".join(f"- **{name}:** {cell(value)}" for name, value in facts)
    anchor = target(f"manifest-{part}-{entry.name.replace('_', '-')}")
    return f"{anchor}### `{entry.name}`\n\n{entry.meaning} {entry.reason}\n\n{lines}\n"


def _default(entry: ManifestField) -> str:
    return "" if entry.default is None else f"`{_flow(entry.default)}`"


def _flow(value: Any) -> str:
    """Return a value as JSON, which is YAML too."""
    return json.dumps(value, ensure_ascii=False)
