"""Answers without a web framework: JSON bodies, problems, and the headers of every answer."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, NamedTuple

from hushpoll_protocols.errors import HushpollError
from hushpoll_server.errors import Refused
from hushpoll_server.logs import get_logger, where
from hushpoll_shared.wire.problems import PROBLEM_MEDIA_TYPE, problem_document, problem_from

log = get_logger(__name__)

JSON_MEDIA_TYPE: Final = "application/json"
# Content codings of request bodies that the server expands.
CODINGS: Final = ("gzip", "zstd")

SECURITY: Final[Mapping[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    # Answers are data. Where a browser shows one, nothing of it may run.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STRICT_TRANSPORT: Final = "max-age=31536000"

# A keyed hash of the client's address, whose key only the ingest process has; by it the web process
# counts failures. It goes with requests that sign in, and with no other.
CLIENT_HEADER: Final = "X-Hushpoll-Client"
SIGN_IN_PATH: Final = "/dashboard/sign-in"
# To which the OpenID Connect provider sends the browser back.
PROVIDER_RETURN_PATH: Final = f"{SIGN_IN_PATH}/return"
# It marks a form whose body was refused, which the web process answers with a page; no client can
# send it.
REFUSED_BODY_HEADER: Final = "X-Hushpoll-Refused-Body"
DASHBOARD_PATH: Final = "/dashboard/"


class Answer(NamedTuple):
    """One answer: its status, its body (empty for 204 and 304), and its own headers.

    Length, request id and the headers of every answer are added when it is sent.
    """

    status: int
    body: bytes
    headers: Mapping[str, str]


def json_answer(
    body: Mapping[str, object], status: int = 200, headers: Mapping[str, str] | None = None
) -> Answer:
    """Render a body as JSON."""
    return Answer(
        status, json.dumps(body).encode(), {"Content-Type": JSON_MEDIA_TYPE, **(headers or {})}
    )


def problem_answer(error: Exception) -> Answer:
    """Render an exception as problem+json (RFC 9457); the only place that does.

    An exception of another library is logged by type and place, never by message: a message can
    quote a payload.
    """
    headers = {"Content-Type": PROBLEM_MEDIA_TYPE}
    match error:
        case Refused():
            document = problem_document(
                error.code, detail=error.detail, field=error.field, **error.extra
            )
            if error.retry_after is not None:
                headers["Retry-After"] = str(error.retry_after)
            headers.update(error.headers)
        case HushpollError():
            document = problem_from(error)
        case _:
            document = problem_document(
                "internal", detail="the server failed; its log has the request id"
            )
    status: int = document["status"]
    if status == 415:
        headers["Accept-Encoding"] = ", ".join(CODINGS)  # RFC 9110, section 12.5.3
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if status >= 500 and not isinstance(error, Refused):
        log.error("internal-error", error=type(error).__name__, where=where(error))
    return Answer(status, json.dumps(document).encode(), headers)


def too_large(most: int) -> Refused:
    """Return the refusal of a body of more than `most` bytes."""
    return Refused(
        "payload-too-large",
        f"the body is larger than {most} bytes, the most that is taken here, compressed or not; "
        "send less in one request",
        field="body",
    )


def unsupported_type(media_type: str, *accepted: str) -> Refused:
    """Return the refusal of a body in another media type."""
    return Refused(
        "unsupported-media-type",
        f"the body's media type is {media_type[:100] or 'none'!r}; send {' or '.join(accepted)}",
        field="Content-Type",
    )


def not_allowed(method: str, allowed: str) -> Refused:
    """Return the refusal of a method; `allowed` is the value of the ``Allow`` header."""
    return Refused(
        "method-not-allowed", f"{method} is not allowed here", headers={"Allow": allowed}
    )


def coding_of(header: str) -> str | None:
    """Return a body's content coding by its header, None if the body is as it is; refuse others."""
    coding = header.strip().lower()
    if coding in ("", "identity"):
        return None
    if coding in CODINGS:
        return coding
    raise Refused(
        "unsupported-media-type",
        f"the body's Content-Encoding is {header[:100]!r}; compress it once, with "
        f"{' or '.join(CODINGS)}, or send it as it is, without Content-Encoding",
        field="Content-Encoding",
    )
