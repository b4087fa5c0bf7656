"""What the OpenAPI document says beside the views' annotations."""

from __future__ import annotations

from typing import Any

from flask_openapi3.models.info import Info

from hushpoll_shared.problems import PROBLEM_MEDIA_TYPE, PROBLEMS

VERSION = "1"
REF = "#/components/schemas/{model}"
INFO = Info(
    title="hushpoll",
    version=VERSION,
    description="Collects survey answers under local differential privacy.",
)
SECURITY_SCHEMES: dict[str, Any] = {"bearer": {"type": "http", "scheme": "bearer"}}
BEARER: list[dict[str, list[Any]]] = [{"bearer": []}]


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
    """Return the generated document without the 422 answers that no view of ours gives.

    flask-openapi3 adds one of its own form to every operation that documents none.
    """
    for operations in generated["paths"].values():
        for operation in operations.values():
            answer = operation["responses"].get("422", {})
            if PROBLEM_MEDIA_TYPE not in answer.get("content", {PROBLEM_MEDIA_TYPE: None}):
                del operation["responses"]["422"]
    return generated


def body_of(content: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """Return the request body of a view that reads its body itself."""
    return {
        "requestBody": {
            "required": True,
            "content": {media_type: {"schema": schema} for media_type, schema in content.items()},
        }
    }
