"""Headers of every answer. A view that needs others sets them itself, and keeps what it set."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flask import Flask, Response, g

SECURITY: Final[Mapping[str, str]] = {
    "X-Content-Type-Options": "nosniff",
    # What this server answers is data. Where a browser shows it, nothing of it may run.
    "Content-Security-Policy": "default-src 'none'; frame-ancestors 'none'",
    "Referrer-Policy": "no-referrer",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}
STRICT_TRANSPORT: Final = "max-age=31536000"


def register(app: Flask, *, behind_tls: bool) -> None:
    """Give every answer of an app its headers.

    Parameters
    ----------
    app : Flask
        The application.
    behind_tls : bool
        Whether browsers reach the server over TLS alone, and shall keep to that for a year.
    """

    def finish(answer: Response) -> Response:
        answer.headers["X-Request-Id"] = g.get("request_id", "")
        for name, value in SECURITY.items():
            answer.headers.setdefault(name, value)
        if behind_tls:
            answer.headers["Strict-Transport-Security"] = STRICT_TRANSPORT
        return answer

    app.after_request(finish)
