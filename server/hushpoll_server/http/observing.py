"""What is observed of each request: its method, its route's template, its status and its time.

Never its path, its query, its headers, its body or where it came from.
"""

from __future__ import annotations

import time
from typing import Final

from flask import Flask, Response, g, request

from hushpoll_server.logs import get_logger
from hushpoll_server.metrics import Metrics

log = get_logger(__name__)

METHODS: Final = frozenset({"DELETE", "GET", "HEAD", "OPTIONS", "PATCH", "POST", "PUT"})
NO_ROUTE: Final = "none"


def register(app: Flask, *, metrics: Metrics | None, log_requests: bool) -> None:
    """Observe an app's requests, if anybody wants to know.

    Parameters
    ----------
    app : Flask
        The application.
    metrics : Metrics or None
        Told every request.
    log_requests : bool
        Whether to log a line for each request.
    """
    if metrics is None and not log_requests:
        return

    def begin() -> None:
        g.observed_from = time.perf_counter()

    def end(answer: Response) -> Response:
        seconds = time.perf_counter() - g.get("observed_from", time.perf_counter())
        method = request.method if request.method in METHODS else "other"
        route = request.url_rule.rule if request.url_rule else NO_ROUTE
        if metrics is not None:
            metrics.request(method, route, answer.status_code, seconds)
        if log_requests:
            log.info(
                "request",
                method=method,
                route=route,
                status=answer.status_code,
                seconds=round(seconds, 4),
            )
        return answer

    app.before_request(begin)
    app.after_request(end)
