"""The HTTP reference: every operation of openapi.json with its parameters, bodies and answers."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from directives.markdown import cell, table, target

DOCUMENT = Path(__file__).parents[1] / "reference" / "openapi.json"
_PREFIX = "#/components/schemas/"
Json = Mapping[str, Any]


def text() -> str:
    """Return all operations by tag, and the JSON forms that they take and give."""
    document: Json = json.loads(DOCUMENT.read_text(encoding="utf-8"))
    parts = []
    for tag in document["tags"]:
        parts += [f"## {tag['name'].capitalize()}", ""]
        for path, method, operation in _operations(document):
            if tag["name"] in operation["tags"]:
                parts.append(_operation(path, method, operation))
    parts += ["## JSON forms", ""]
    for name, schema in sorted(document["components"]["schemas"].items()):
        parts.append(_schema(name, schema))
    return "\n".join(parts)


def _operations(document: Json) -> Iterator[tuple[str, str, Json]]:
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            yield path, method.upper(), operation


def _operation(path: str, method: str, operation: Json) -> str:
    parts = [
        target(operation["operationId"].replace("_", "-")) + f"### {method} {path}",
        "",
        _sentences(operation["summary"]),
        "",
        _sentences(operation.get("description", "")),
        "",
    ]
    if operation.get("security"):
        parts += ["Needs a bearer token.", ""]
    parts.append(
        table(
            ("parameter", "in", "type", "default", "what it means"),
            (
                (
                    f"`{item['name']}`" + (" (needed)" if item.get("required") else ""),
                    item["in"],
                    _type(item["schema"]),
                    _default(item["schema"]),
                    _sentences(item.get("description") or item["schema"].get("description", "")),
                )
                for item in operation.get("parameters", ())
            ),
        )
    )
    body = operation.get("requestBody", {}).get("content", {})
    for media_type, content in body.items():
        parts += [f"**Body:** `{media_type}`, {_type(content['schema'])}", ""]
    parts.append(table(("status", "answer", "when"), _answers(operation["responses"])))
    return "\n".join(parts)


def _answers(responses: Json) -> Iterator[tuple[str, str, str]]:
    for status, answer in sorted(responses.items()):
        kinds = [
            f"`{media_type}`" + (f": {_type(content['schema'])}" if "schema" in content else "")
            for media_type, content in answer.get("content", {}).items()
        ]
        yield status, ", ".join(kinds) or "none", _sentences(answer.get("description", ""))


def _schema(name: str, schema: Json) -> str:
    needed = schema.get("required", ())
    rows = [
        (
            f"`{member}`" + (" (always)" if member in needed else ""),
            _type(form),
            _default(form),
            _sentences(form.get("description", "")),
        )
        for member, form in schema.get("properties", {}).items()
    ]
    return "\n".join(
        [
            target(f"json-{name.lower()}") + f"### {name}",
            "",
            _sentences(schema.get("description", "")),
            "",
            table(("member", "type", "default", "what it means"), rows),
            "" if rows else f"Type: {_type(schema)}.\n",
        ]
    )


def _type(schema: Json) -> str:
    """Return the type of a value in words, with a link to the form of a mapping."""
    if "$ref" in schema:
        name = schema["$ref"].removeprefix(_PREFIX)
        return f"[{name}](#json-{name.lower()})"
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(_type(part) for part in schema[key]))
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    if "const" in schema:
        return f"`{schema['const']}`"
    kind = schema.get("type", "any JSON")
    if kind == "array":
        return f"list of {_type(schema.get('items', {}))}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"mapping to {_type(schema['additionalProperties'])}"
    return f"{kind}{_limits(schema)}"


def _limits(schema: Json) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "above",
        "maximum": "at most",
        "exclusiveMaximum": "below",
        "maxLength": "at most this many characters:",
        "pattern": "matches",
    }
    limits = [
        f"{words[key]} `{cell(schema[key])}`" if key == "pattern" else f"{words[key]} {schema[key]}"
        for key in words
        if key in schema
    ]
    return f" ({', '.join(limits)})" if limits else ""


def _default(schema: Json) -> str:
    return f"`{json.dumps(schema['default'])}`" if schema.get("default") is not None else ""


def _sentences(words: str) -> str:
    """Return a description in one line; flask-openapi3 marks its line breaks as HTML."""
    plain = " ".join(words.replace("<br/>", " ").split())
    # Outside of code, signs of Markdown and placeholders are meant as they stand.
    parts = re.split(r"(`[^`]*`)", plain)
    return "".join(
        part if part.startswith("`") else re.sub(r"([*_<{\[\]#])", r"\\\1", part) for part in parts
    )
