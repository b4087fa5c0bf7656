"""gunicorn's log without what it knows of a client: address, path, headers."""

from __future__ import annotations

from typing import Any, Final

from gunicorn.glogging import Logger  # type: ignore[import-untyped]  # none exist

from hushpoll_server.logs import get_logger

log = get_logger(__name__)

# What it says of its own processes. Anything else may quote a request and is withheld.
OF_PROCESSES: Final = (
    "Booting worker",
    "Handling signal",
    "Parent changed",
    "Shutting down",
    "Starting gunicorn",
    "Unhandled signal",
    "Using worker",
    "WORKER TIMEOUT",
    "Worker ",
)
# Told by their first words alone; the others hold an address or the malformed part.
CUT: Final = ("Error handling request", "Invalid request", "Listening at", "Socket error")


class PrivateLogger(Logger):  # type: ignore[misc]  # its base has no types
    """Lines of the package's own form, under the event ``gunicorn``."""

    def setup(self, cfg: Any) -> None:
        """Keep the handlers and the level that the package's log has."""
        del cfg

    def critical(self, msg: object, *args: Any, **_kwargs: Any) -> None:
        """Log what ends a worker."""
        log.critical("gunicorn", message=_words(msg, args))

    def error(self, msg: object, *args: Any, **_kwargs: Any) -> None:
        """Log an error."""
        log.error("gunicorn", message=_words(msg, args))

    def warning(self, msg: object, *args: Any, **_kwargs: Any) -> None:
        """Log a warning."""
        log.warning("gunicorn", message=_words(msg, args))

    def info(self, msg: object, *args: Any, **_kwargs: Any) -> None:
        """Log what happens to the processes."""
        log.info("gunicorn", message=_words(msg, args))

    def debug(self, *_args: Any, **_kwargs: Any) -> None:
        """Log nothing."""

    def exception(self, msg: object, *args: Any, **_kwargs: Any) -> None:
        """Log that something failed, without the exception's text."""
        log.error("gunicorn", message=_words(msg, args))

    def log(self, lvl: int, msg: object, *args: Any, **_kwargs: Any) -> None:
        """Log at a level given by number."""
        log.log(lvl, "gunicorn", message=_words(msg, args))

    def access(self, *_args: Any, **_kwargs: Any) -> None:
        """Log nothing: there is no access log."""

    def reopen_files(self) -> None:
        """Do nothing: standard error is not reopened."""

    def close_on_exec(self) -> None:
        """Do nothing: no file is open."""


def _words(message: object, args: tuple[Any, ...]) -> str:
    text = str(message)
    for start in CUT:
        if text.startswith(start):
            return start
    if not text.startswith(OF_PROCESSES):
        return "withheld"
    try:
        return text % args if args else text
    except (TypeError, ValueError):
        return text
