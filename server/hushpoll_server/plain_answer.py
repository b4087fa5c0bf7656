"""Refusals as bytes, where no request reaches the application."""

from __future__ import annotations

import json
from http import HTTPStatus

from hushpoll_server.errors import Refused
from hushpoll_server.http.headers import SECURITY
from hushpoll_shared.problems import PROBLEM_MEDIA_TYPE, problem_document


def answer(refusal: Refused, **more: str) -> bytes:
    """Return a refusal as an HTTP/1.1 answer with the headers of every answer.

    Parameters
    ----------
    refusal : Refused
        What to say; its ``retry_after`` becomes a header.
    **more
        Further headers.
    """
    document = problem_document(refusal.code, detail=refusal.detail)
    body = json.dumps(document).encode()
    headers = {
        **SECURITY,
        "Content-Type": PROBLEM_MEDIA_TYPE,
        "Content-Length": str(len(body)),
        **more,
    }
    if refusal.retry_after is not None:
        headers["Retry-After"] = str(refusal.retry_after)
    status = HTTPStatus(document["status"])
    lines = [
        f"HTTP/1.1 {status.value} {status.phrase}",
        *(f"{name}: {value}" for name, value in headers.items()),
    ]
    return "\r\n".join([*lines, "", ""]).encode("ascii") + body
