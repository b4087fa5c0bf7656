"""Structured logs: one JSON object a line, with the request's id and never a payload.

Records go through the standard library's logging under the package's name, so that an embedding
application keeps control; ``to_stderr`` is what ``hushpoll serve`` uses.
"""

from __future__ import annotations

import logging
from typing import cast

import structlog

ROOT = "hushpoll_server"
LEVELS = ("debug", "info", "warning", "error")


def get_logger(name: str) -> structlog.stdlib.BoundLogger:
    """Return the structured logger of a module."""
    return cast(
        "structlog.stdlib.BoundLogger",
        structlog.wrap_logger(
            logging.getLogger(name),
            processors=[
                structlog.stdlib.filter_by_level,
                structlog.contextvars.merge_contextvars,
                structlog.stdlib.add_log_level,
                structlog.processors.TimeStamper(fmt="iso", utc=True),
                structlog.processors.JSONRenderer(),
            ],
            wrapper_class=structlog.stdlib.BoundLogger,
        ),
    )


def to_stderr(level: str) -> None:
    """Write the package's log to standard error, from `level` (one of ``LEVELS``) on."""
    root = logging.getLogger(ROOT)
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    root.handlers[:] = [handler]
    root.setLevel(level.upper())
    root.propagate = False
