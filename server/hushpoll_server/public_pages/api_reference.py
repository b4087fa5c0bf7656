"""The page ``/docs``: every operation of the API in words, made of its OpenAPI document.

It needs no script and loads nothing but the style sheet and the icon of this server.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from flask import Response, render_template, request

from hushpoll_server.http.encodings import encoded
from hushpoll_server.pages.rendering import RenderedPages, asset_root
from hushpoll_shared.wire.paths import API_PREFIX

Json = Mapping[str, Any]
_PREFIX = "#/components/schemas/"
_POLICY = (
    "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; "
    "frame-ancestors 'none'"
)
_LIMITS = {
    "minimum": "at least",
    "exclusiveMinimum": "above",
    "maximum": "at most",
    "exclusiveMaximum": "below",
    "maxLength": "characters at most",
    "maxItems": "entries at most",
    "pattern": "matches",
}


@dataclass(frozen=True)
class Value:
    """A parameter, or a member of a JSON form: its name, where it stands, and what it may be."""

    name: str
    place: str
    needed: bool
    kind: str
    meaning: str


@dataclass(frozen=True)
class Operation:
    """One operation: its method and path, what it does, what it takes and what it answers."""

    anchor: str
    method: str
    path: str
    summary: str
    description: str
    authorised: bool
    parameters: tuple[Value, ...]
    bodies: tuple[tuple[str, str], ...]
    answers: tuple[tuple[str, str, str], ...]


@dataclass(frozen=True)
class Form:
    """A JSON form that several operations take or give."""

    name: str
    description: str
    members: tuple[Value, ...]


def page(document: Callable[[], Json], kept: RenderedPages) -> Response:
    """Return the page of an OpenAPI document, rendered once for each address that leads to it."""
    reference = kept.get(asset_root(), lambda: _rendered(document()))
    answer = encoded(reference.body, reference.compressed, "text/html", etag=reference.etag)
    answer.headers["Cache-Control"] = "no-cache"
    answer.headers["Content-Security-Policy"] = _POLICY
    return answer


def _rendered(document: Json) -> str:
    return render_template(
        "api_reference.html",
        sections=sections(document),
        forms=forms(document),
        root=asset_root(),
        document=f"{request.script_root}{API_PREFIX}/openapi.json",
    )


def sections(document: Json) -> dict[str, list[Operation]]:
    """Return the operations by their tag, in the document's order."""
    found: dict[str, list[Operation]] = {tag["name"]: [] for tag in document["tags"]}
    for path, operations in document["paths"].items():
        for method, operation in operations.items():
            found[operation["tags"][0]].append(_operation(path, method, operation))
    return {tag: operations for tag, operations in found.items() if operations}


def forms(document: Json) -> list[Form]:
    """Return the JSON forms by name."""
    return [
        Form(
            name,
            _words(schema.get("description", "")),
            tuple(
                Value(
                    member,
                    "",
                    member in schema.get("required", ()),
                    kind(value),
                    _words(value.get("description", "")),
                )
                for member, value in schema.get("properties", {}).items()
            ),
        )
        for name, schema in sorted(document["components"]["schemas"].items())
    ]


def kind(schema: Json) -> str:
    """Return in words what a value may be."""
    if "$ref" in schema:
        return str(schema["$ref"]).removeprefix(_PREFIX)
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return " or ".join(dict.fromkeys(kind(part) for part in schema[key]))
    if "enum" in schema:
        return ", ".join(map(str, schema["enum"]))
    if "const" in schema:
        return str(schema["const"])
    if schema.get("type") == "array":
        return f"list of {kind(schema.get('items', {}))}{_limits(schema)}"
    if isinstance(schema.get("additionalProperties"), Mapping):
        return f"mapping to {kind(schema['additionalProperties'])}"
    return f"{schema.get('type', 'any JSON')}{_limits(schema)}"


def _limits(schema: Json) -> str:
    limits = [f"{words} {_plain(schema[key])}" for key, words in _LIMITS.items() if key in schema]
    if schema.get("default") is not None:
        limits.append(f"by default {schema['default']}")
    return f" ({', '.join(limits)})" if limits else ""


def _plain(limit: object) -> object:
    """Return a limit without the decimals of a whole number."""
    return int(limit) if isinstance(limit, float) and limit.is_integer() else limit


def _operation(path: str, method: str, operation: Json) -> Operation:
    content = operation.get("requestBody", {}).get("content", {})
    return Operation(
        operation["operationId"],
        method.upper(),
        path,
        _words(operation["summary"]),
        _words(operation.get("description", "")),
        bool(operation.get("security")),
        tuple(
            Value(
                item["name"],
                item["in"],
                item.get("required", False),
                kind(item["schema"]),
                _words(item.get("description", "")),
            )
            for item in operation.get("parameters", ())
        ),
        tuple((media_type, kind(body["schema"])) for media_type, body in content.items()),
        tuple(_answers(operation["responses"])),
    )


def _answers(responses: Json) -> Iterator[tuple[str, str, str]]:
    for status, answer in sorted(responses.items()):
        forms_given = [
            f"{media_type}: {kind(body['schema'])}" if "schema" in body else media_type
            for media_type, body in answer.get("content", {}).items()
        ]
        yield status, ", ".join(forms_given), _words(answer.get("description", ""))


def _words(text: str) -> str:
    """Return a description in one line; flask-openapi3 marks its line breaks as HTML."""
    return " ".join(text.replace("<br/>", " ").replace("`", "").split())
