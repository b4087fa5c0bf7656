"""Structured logs: one JSON object a line, with the request's id and never a payload.

Records go through the standard library's logging under the package's name, so that an embedding
application keeps control; the commands use ``to_stderr``. Of other libraries' lines the place and
the level are kept, and the words are not: they may quote a request, a row or an address.
"""

from __future__ import annotations

import json
import logging
import threading
import traceback
from datetime import UTC, datetime
from typing import cast

import structlog

ROOT = "hushpoll_server"


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


class _OursOnly(logging.Formatter):
    """The package's own lines, without the text of any exception."""

    def format(self, record: logging.LogRecord) -> str:
        return record.getMessage()


class _Foreign(logging.Formatter):
    """The place at which another library logged, and the type of its exception."""

    def format(self, record: logging.LogRecord) -> str:
        line = {
            "event": "library",
            "logger": record.name,
            "where": f"{record.pathname}:{record.lineno}",
            "level": record.levelname.lower(),
            "timestamp": datetime.fromtimestamp(record.created, UTC).isoformat(),
        }
        if record.exc_info and record.exc_info[0]:
            line["error"] = record.exc_info[0].__name__
        return json.dumps(line)


def to_stderr(level: str) -> None:
    """Write the package's log to standard error, from a level such as `"info"` on.

    Other libraries' warnings, and exceptions that end a thread, are lines of the same form.
    """
    ours = logging.getLogger(ROOT)
    _handle(ours, _OursOnly())
    ours.setLevel(level.upper())
    ours.propagate = False
    _handle(logging.getLogger(), _Foreign())
    logging.captureWarnings(True)
    threading.excepthook = _thread_ended


def where(error: BaseException) -> list[str]:
    """Return the innermost places of an exception; its message can quote a payload."""
    return [
        f"{frame.filename}:{frame.lineno} {frame.name}"
        for frame in traceback.extract_tb(error.__traceback__)[-6:]
    ]


def _handle(logger: logging.Logger, formatter: logging.Formatter) -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(formatter)
    logger.handlers[:] = [handler]


def _thread_ended(args: threading.ExceptHookArgs) -> None:
    if args.exc_value is not None:
        get_logger(__name__).error(
            "thread-ended",
            thread=args.thread.name if args.thread else None,
            error=args.exc_type.__name__,
            where=where(args.exc_value),
        )
