"""Answers of the Flask application: JSON, and problems by ``hushpoll_server.answering``."""

from __future__ import annotations

import json
from collections.abc import Mapping

from flask import Flask, Response, request
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException

from hushpoll_server import answering
from hushpoll_server.errors import Refused
from hushpoll_shared.spelling.text import show

# What Flask and Werkzeug refuse by themselves, in the terms of the problem table.
CODE_OF_STATUS: Mapping[int, str] = {
    400: "invalid-request",
    404: "not-found",
    405: "method-not-allowed",
    413: "payload-too-large",
    415: "unsupported-media-type",
}


def json_answer(
    answer_model: BaseModel,
    status: int = 200,
    headers: Mapping[str, str] | None = None,
    *,
    nulls: bool = False,
) -> Response:
    """Render an answer as JSON that no cache keeps, unless `headers` say otherwise.

    Members that are None are left out, unless `nulls`: then those that were given are null.
    """
    value = answer_model.model_dump(exclude_none=not nulls, exclude_unset=nulls)
    return json_response(value, status, headers)


def json_response(
    value: object, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Render a value that no answer model describes, such as the document of the API itself."""
    answer = Response(json.dumps(value), status=status, mimetype="application/json")
    answer.headers["Cache-Control"] = "no-store"
    answer.headers.update(headers or {})
    return answer


def problem_answer(error: Exception) -> Response:
    """Render any exception as problem+json."""
    if isinstance(error, HTTPException):
        error = _refusal(error)
    status, body, headers = answering.problem_answer(error)
    answer = Response(body, status=status, headers=dict(headers))
    answer.headers["Cache-Control"] = "no-store"
    return answer


def invalid_answer(error: ValidationError) -> Response:
    """Render what pydantic refuses as ``invalid-request``, naming the field."""
    first = error.errors(include_url=False, include_context=False)[0]
    field = ".".join(str(part) for part in first["loc"]) or "body"
    # Reports are not read by models, so what is shown here is never an answer.
    value = "missing" if first["type"] == "missing" else show(first["input"])
    return problem_answer(
        Refused("invalid-request", f"{field} is {value}: {first['msg']}; correct it", field=field)
    )


def register(app: Flask) -> None:
    """Answer every exception of an app with a problem."""
    app.register_error_handler(Exception, problem_answer)


def _refusal(error: HTTPException) -> Exception:
    status = error.code or 500
    match status:
        case 404:
            return Refused("not-found", "nothing is at this address")
        case 405:
            allowed = next((value for name, value in error.get_headers() if name == "Allow"), "")
            return answering.not_allowed(request.method, allowed)
        case 413:
            return answering.too_large(request.max_content_length or 0)
        case _ if status in CODE_OF_STATUS:
            return Refused(CODE_OF_STATUS[status], error.description or error.name)
        case _ if status < 500:
            return Refused("invalid-request", error.name)
        case _:
            return error
