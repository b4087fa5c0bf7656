"""Headers of every answer. A view that needs others sets them itself, and keeps what it set."""

from __future__ import annotations

from flask import Flask, Response, g

from hushpoll_server.answering import SECURITY, STRICT_TRANSPORT


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
