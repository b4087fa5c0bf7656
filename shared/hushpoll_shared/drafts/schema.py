"""The JSON Schema of a manifest, made of its table of fields: what editors check and complete with.

Draft 7 of JSON Schema, which every editor knows. The schema refuses no draft that
`Manifest.from_dict` takes. `BEYOND_THE_SCHEMA` has the rules between fields that a schema cannot
say; the parser refuses what breaks them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from hushpoll_shared.drafts.attribute_fields import (
    ATTRIBUTE,
    PROTECTED,
    TRANSLATED_ATTRIBUTE,
    TRANSLATION,
)
from hushpoll_shared.drafts.fields import ManifestField, required
from hushpoll_shared.drafts.survey_fields import BLOCK, DRAW, SURVEY
from hushpoll_shared.spelling.json_values import JsonMembers

SCHEMA_FILE: Final = "manifest.schema.json"
"""The schema's file, beside this module."""

BEYOND_THE_SCHEMA: Final = (
    "Names of attributes differ, and a survey has at most one `target`.",
    "`missing` is none of the `categories`, and `positive` is one of them.",
    "A `range` [a, b] has a < b and at most 65536 numbers.",
    "`split.weights` names each perturbed attribute and each block that is in no block and no "
    "draw, each draw, and nothing else; `k-based` is refused with blocks and draws.",
    "Names of blocks and attributes differ; the attributes of a block are declared, perturbed, and "
    "in no other block; a block has at most 65536 combinations of answers and one protocol.",
    "Names of draws differ from those of attributes and blocks; a draw has blocks or perturbed "
    "attributes that are in no block, none of them in two draws, and answers fewer than it has. "
    "`answer` stands for one draw, so `always` needs it and `draws` excludes it.",
    "With `together`, `draws` or `ask_if` a record has at most 1024 bytes.",
    "`ask_if` names an attribute that stands before, and some of its categories, not all; a "
    "follow-up is no target, has no category `not asked`, and is in clear only if its router is.",
    "`protected.attribute` is declared and is not the target; both groups name its categories and "
    "share none.",
    "`closes` is after `opens`, and both are days of the calendar.",
    "Names of items differ from those of other attributes, and no other field of the survey names "
    "a matrix; in a translation its answers stand at the matrix.",
    "The questions of a `section` stand next to each other, and `scale: nps` has the scores 0 to "
    "10.",
    "A translation has each text that the survey has, and no other; its language is not the "
    "survey's own, which is stated.",
    "Every part of the budget is at least 0.000001, and `epsilon` has at most 12 decimals.",
    "The protocol of each perturbed attribute can work with its number of categories and its part "
    "of epsilon.",
    "Two texts are compared in Unicode normal form C.",
    "The answers to a question look different: they do not differ in white space, characters "
    "without a shape, widths or alphabets alone.",
)
"""The rules that only the parser checks, in words."""

_NAMES_PROTOCOL: Final = {"properties": {"protocol": {"type": "string"}}, "required": ["protocol"]}
_HAS_BLOCKS: Final = {
    "properties": {"together": {"type": "array", "minItems": 1}},
    "required": ["together"],
}
_SENSITIVE: Final = {"properties": {"role": {"const": "sensitive"}}, "required": ["role"]}
_PLAIN: Final = {"properties": {"role": {"const": "plain"}}, "required": ["role"]}
_TARGET: Final = {"properties": {"role": {"const": "target"}}, "required": ["role"]}


def manifest_schema() -> dict[str, Any]:
    """Return the schema as JSON."""
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "title": "A manifest of hushpoll",
        "description": "What a survey asks, which answers exist, what is perturbed, and how much "
        "privacy a respondent spends.",
        **_mapping(SURVEY),
        # At least one attribute is perturbed, and a sensitive one finds its protocol.
        "allOf": [
            {
                "properties": {
                    "attributes": {
                        "contains": {"anyOf": [_SENSITIVE, {"allOf": [_TARGET, _NAMES_PROTOCOL]}]}
                    }
                }
            },
            {
                "if": {"not": {"anyOf": [_NAMES_PROTOCOL, _HAS_BLOCKS]}},
                "then": {
                    "properties": {
                        "attributes": {"items": {"if": _SENSITIVE, "then": _NAMES_PROTOCOL}}
                    }
                },
            },
        ],
        "definitions": {
            "attribute": _mapping(ATTRIBUTE)
            | {
                "allOf": [
                    {
                        "oneOf": [
                            _stated("categories", "array", "range", "number"),
                            _stated("range", "array", "categories", "number"),
                            _stated("number", "object", "categories", "range"),
                        ]
                    },
                    {
                        "if": {"not": _stated("missing", "string")},
                        "then": {"properties": {"categories": {"minItems": 2}}},
                    },
                    {
                        "if": _PLAIN,
                        "then": {"properties": {"protocol": {"type": "null"}}},
                    },
                    {
                        "if": {"not": _TARGET},
                        "then": {"properties": {"positive": {"type": "null"}}},
                    },
                ]
            },
            "block": _mapping(BLOCK),
            "draw": _mapping(DRAW),
            "protected": _mapping(PROTECTED),
            "translation": _mapping(TRANSLATION),
            "translated_attribute": _mapping(TRANSLATED_ATTRIBUTE) | {"minProperties": 1},
        },
    }


def schema_text() -> str:
    """Return the schema as its file has it."""
    return json.dumps(manifest_schema(), indent=2, ensure_ascii=True) + "\n"


def _mapping(fields: tuple[ManifestField, ...]) -> JsonMembers:
    return {
        "type": "object",
        "properties": {entry.name: _property(entry) for entry in fields},
        "required": list(required(fields)),
        "additionalProperties": False,
    }


def _property(entry: ManifestField) -> JsonMembers:
    described: JsonMembers = {
        "description": f"{entry.meaning} Allowed: {entry.allowed}. {entry.reason}",
        "examples": [entry.example],
    }
    if entry.default is not None:
        described["default"] = entry.default
    return described | dict(entry.form if entry.required else _or_null(entry.form))


def _or_null(form: Mapping[str, Any]) -> Mapping[str, Any]:
    """Let null stand for an absent field, as the parser does."""
    if "enum" in form:
        return {**form, "type": [form["type"], "null"], "enum": [*form["enum"], None]}
    if "anyOf" in form:
        return {**form, "anyOf": [*form["anyOf"], {"type": "null"}]}
    return {**form, "type": [form["type"], "null"]}


def _stated(name: str, kind: str, *others: str) -> JsonMembers:
    """Return the schema of a mapping that states one field, and no other of these."""
    properties: JsonMembers = {name: {"type": kind}}
    properties |= {other: {"type": "null"} for other in others}
    return {"properties": properties, "required": [name]}
