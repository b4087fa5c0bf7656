"""The OpenAPI document: what in it does not follow from annotations and declarations."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from flask_openapi3.models.info import Info
from pydantic import BaseModel

from hushpoll_server.answering import JSON_MEDIA_TYPE
from hushpoll_server.http.tables import table_contents
from hushpoll_shared.wire.problems import PROBLEM_MEDIA_TYPE, PROBLEMS

VERSION = "1"
REF = "#/components/schemas/{model}"
INFO = Info(
    title="hushpoll",
    version=VERSION,
    description="Collects survey answers under local differential privacy.",
)
BINARY = {"type": "string", "format": "binary"}
SECURITY_SCHEMES: dict[str, Any] = {"bearer": {"type": "http", "scheme": "bearer"}}


class ProblemModel(BaseModel):
    """A problem (RFC 9457)."""

    type: str
    title: str
    status: int
    detail: str
    code: str
    remedy: str
    retryable: bool
    field: str | None = None


def problems(*statuses: int) -> dict[str | int, Any]:
    """Return the problem answers of a view, by status."""
    return {
        status: {
            "description": "; ".join(
                problem.title for problem in PROBLEMS.values() if problem.status == status
            ),
            "content": {
                PROBLEM_MEDIA_TYPE: {"schema": {"$ref": "#/components/schemas/ProblemModel"}}
            },
        }
        for status in statuses
    }


def document(generated: dict[str, Any]) -> dict[str, Any]:
    """Return the generated document with the problems that many operations have in common.

    flask-openapi3 adds a 422 of its own form to every operation that documents none; no view of
    ours gives it. Problems that no view has to name are added by what the operation takes.
    """
    for path, operations in generated["paths"].items():
        for operation in operations.values():
            answers = operation["responses"]
            if any(_names_tables(item) for item in operation.get("parameters", ())):
                answers["200"]["content"] |= table_contents()
            if PROBLEM_MEDIA_TYPE not in answers.get("422", {}).get("content", {}):
                answers.pop("422", None)
            for status, answer in problems(*_common(path, operation)).items():
                answers.setdefault(str(status), answer)
    return generated


def _common(path: str, operation: dict[str, Any]) -> set[int]:
    statuses = set()
    if path.startswith("/api/"):
        statuses |= {429}
    if operation.get("security"):
        statuses |= {401, 403}
    if "{" in path:
        statuses |= {404}
    if any(_constrained(item["schema"]) for item in operation.get("parameters", ())):
        statuses |= {422}
    if "requestBody" in operation:
        statuses |= {400, 408, 413, 415, 422}
    return statuses


def _names_tables(parameter: dict[str, Any]) -> bool:
    """Return whether a parameter lets a request ask for a table in place of JSON."""
    return parameter["name"] == "format" and "xlsx" in str(parameter["schema"])


def _constrained(schema: dict[str, Any]) -> bool:
    return schema.get("type") != "string" or "pattern" in schema


def body_of(content: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the request body of a view that reads its body itself."""
    return {
        "requestBody": {
            "required": True,
            "content": {media_type: {"schema": schema} for media_type, schema in content.items()},
        }
    }


def file_of(description: str, media_types: Iterable[str]) -> dict[str, Any]:
    """Return the answer of a view that gives a file, in one of some media types."""
    json: dict[str, str] = {"type": "object"}
    schemas = {name: json if name == JSON_MEDIA_TYPE else BINARY for name in media_types}
    return {
        "description": description,
        "content": {media_type: {"schema": schema} for media_type, schema in schemas.items()},
    }
