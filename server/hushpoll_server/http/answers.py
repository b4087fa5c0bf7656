"""Answers: JSON, and the one function that renders a problem."""

from __future__ import annotations

import json
import traceback
from collections.abc import Mapping
from typing import Any

from flask import Flask, Response, request
from gunicorn.http.errors import ParseException  # type: ignore[import-untyped]  # none exist
from pydantic import BaseModel, ValidationError
from werkzeug.exceptions import HTTPException

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.deadline_socket import READ_BYTES_PER_SECOND, READ_SECONDS, SlowRequest
from hushpoll_server.errors import Refused
from hushpoll_server.http.compression import CODINGS
from hushpoll_server.logs import get_logger
from hushpoll_shared.problems import PROBLEM_MEDIA_TYPE, problem_document, problem_from
from hushpoll_shared.text import show

log = get_logger(__name__)

# What Flask and Werkzeug refuse by themselves, in the terms of the problem table.
CODE_OF_STATUS: Mapping[int, str] = {
    400: "invalid-request",
    404: "not-found",
    405: "method-not-allowed",
    413: "payload-too-large",
    415: "unsupported-media-type",
}


def json_answer(
    body: Mapping[str, Any] | BaseModel, status: int = 200, headers: Mapping[str, str] | None = None
) -> Response:
    """Render a body as JSON that no cache keeps, unless `headers` say otherwise."""
    value = body.model_dump(exclude_none=True) if isinstance(body, BaseModel) else body
    answer = Response(json.dumps(value), status=status, mimetype="application/json")
    answer.headers["Cache-Control"] = "no-store"
    answer.headers.update(headers or {})
    return answer


def problem_answer(error: Exception) -> Response:
    """Render any exception as problem+json (RFC 9457); the only place that does.

    What is not one of ours is logged by type and place, never by message: a message can quote a
    payload.
    """
    headers: dict[str, str] = {}
    # While the body was read. gunicorn then closes the connection: nobody knows where the next
    # request would begin.
    if isinstance(error, ParseException | SlowRequest):
        error = malformed_request(error) if isinstance(error, ParseException) else slow_request()
    match error:
        case Refused():
            document = problem_document(
                error.code, detail=error.detail, field=error.field, **error.extra
            )
            if error.retry_after is not None:
                headers["Retry-After"] = str(error.retry_after)
        case HTTPException(code=int(status)) if status in CODE_OF_STATUS:
            document = problem_document(
                CODE_OF_STATUS[status],
                detail=_words(error, status),
                field="body" if status == 413 else None,
            )
            headers.update((name, value) for name, value in error.get_headers() if name == "Allow")
        case HTTPException(code=int(status)) if status < 500:
            document = problem_document("invalid-request", detail=error.name)
        case HushpollError():
            document = problem_from(error)
        case _:
            document = problem_document(
                "internal", detail="the server failed; its log has the request id"
            )
    if document["status"] == 415:
        headers["Accept-Encoding"] = ", ".join(CODINGS)  # RFC 9110, section 12.5.3
    if document["status"] == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if document["status"] >= 500 and not isinstance(error, Refused):
        log.error("internal-error", error=type(error).__name__, where=_where(error))
    answer = json_answer(document, document["status"], headers)
    answer.mimetype = PROBLEM_MEDIA_TYPE
    return answer


def malformed_request(error: ParseException) -> Refused:
    """Return the refusal of what gunicorn cannot read; its words may quote the request."""
    return Refused(
        "malformed-request", f"the server cannot read the request ({type(error).__name__})"
    )


def slow_request() -> Refused:
    """Return the refusal of a request that takes too long."""
    return Refused(
        "request-timeout",
        f"the request did not arrive within {READ_SECONDS:g} s, or at less than "
        f"{READ_BYTES_PER_SECOND} bytes a second",
    )


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


def _words(error: HTTPException, status: int) -> str:
    if status == 404:
        return "nothing is at this address"
    if status == 405:
        return f"{request.method} is not allowed here"
    if status == 413:
        return (
            f"the body is larger than {request.max_content_length} bytes, the most that is taken "
            "here, compressed or not; send less in one request"
        )
    return error.description or error.name


def _where(error: Exception) -> list[str]:
    return [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)[-6:]
    ]
