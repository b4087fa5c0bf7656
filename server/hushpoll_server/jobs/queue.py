"""The queue that tells workers of new jobs: Huey on SQLite or Redis.

What is queued is a job's id, as JSON. Huey hands a task to one worker and then forgets it; that a
job of a dead worker is run again, and yields one result, is the business of the table of jobs.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from typing import Any, Final

from huey import Huey, MemoryHuey, SqliteHuey
from huey.registry import Message
from huey.serializer import Serializer
from sqlalchemy import make_url
from sqlalchemy.engine import URL
from sqlalchemy.exc import ArgumentError

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_server.config.settings import Settings
from hushpoll_server.store import sqlite
from hushpoll_server.store.database import parse_url

NAME: Final = "hushpoll"
TASK: Final = "run"
# Longer than Huey's consumer waits for a job by one request.
ANSWER_SECONDS: Final = 5.0
CONNECT_SECONDS: Final = 2.0
SCHEMES: Final = ("sqlite", "redis", "rediss", "unix")


class JsonSerializer(Serializer):  # type: ignore[misc]  # its base has no types
    """Messages as JSON: what comes out of a queue must not be able to run code, as a pickle can."""

    def _serialize(self, data: Any) -> bytes:
        return json.dumps(data).encode()

    def _deserialize(self, data: bytes) -> Any:
        found = json.loads(bytes(data))
        return Message(*found) if isinstance(found, list) else found


class JobQueue:
    """Announces jobs; the connection is made with the first one.

    Parameters
    ----------
    settings : Settings
        ``jobs_url``, and ``database_url``, beside whose file the queue is by default.
    """

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self._lock = threading.Lock()
        self._announce: Callable[[str], object] | None = None

    def announce(self, job_id: str) -> None:
        """Tell a worker of a job, where there is a queue that both see."""
        if not _is_shared(self._settings):
            return
        with self._lock:
            if self._announce is None:
                _, self._announce = open_queue(self._settings, _run_elsewhere)
        self._announce(job_id)


def open_queue(
    settings: Settings, run: Callable[[str], object]
) -> tuple[Huey, Callable[[str], object]]:
    """Open the queue.

    Parameters
    ----------
    settings : Settings
        See :class:`JobQueue`.
    run : callable
        Told the id of each job that this process takes out of the queue.

    Returns
    -------
    huey : Huey
        For a consumer.
    announce : callable
        Puts a job's id into the queue.

    Raises
    ------
    InvalidParameter
        ``JOBS_URL`` cannot be used.
    MissingExtra
        It names Redis, and the extra ``redis`` is missing.
    """
    huey = _huey(settings)

    # Both sides know the task by this module's name and its own.
    @huey.task(name=TASK)  # type: ignore[untyped-decorator]  # it has no types
    def call(job_id: str) -> None:
        run(job_id)

    return huey, call


def _huey(settings: Settings) -> Huey:
    options: dict[str, Any] = {"results": False, "serializer": JsonSerializer()}
    url = settings.jobs_url
    if url is None:
        if not _is_shared(settings):
            return MemoryHuey(NAME, **options)
        return _on_sqlite(sqlite.path_of(parse_url(settings.database_url)) + "-jobs", options)
    parsed = check_jobs_url(url)
    if parsed.get_backend_name() == "sqlite":
        return _on_sqlite(str(parsed.database), options)
    try:
        from huey import RedisHuey
        from redis import ConnectionPool
    except ImportError as error:
        raise MissingExtra("redis", "a queue of jobs on Redis") from error
    # A server that does not answer must not hold up whoever adds a job, nor sealing.
    pool = ConnectionPool.from_url(
        url, socket_connect_timeout=CONNECT_SECONDS, socket_timeout=ANSWER_SECONDS
    )
    return RedisHuey(NAME, connection_pool=pool, **options)


def _is_shared(settings: Settings) -> bool:
    """Whether there is a queue outside the process; without one, workers look into the table."""
    if settings.jobs_url is not None:
        return True
    return parse_url(settings.database_url).get_backend_name() == "sqlite"


def _on_sqlite(path: str, options: dict[str, Any]) -> Huey:
    sqlite.make_ready(URL.create("sqlite", database=path))
    return SqliteHuey(NAME, filename=path, **options)


def check_jobs_url(url: str) -> URL:
    """Return the parsed URL of a queue.

    Raises
    ------
    InvalidParameter
        It is none, or of something that cannot be a queue.
    """
    remedy = "write sqlite:///path.sqlite or redis://host:6379/0"
    try:
        parsed = make_url(url)
    except ArgumentError:
        raise InvalidParameter(
            f"JOBS_URL is a text (not shown: it may hold a password) and no URL; {remedy}",
            field="JOBS_URL",
        ) from None
    if parsed.drivername not in SCHEMES:
        raise InvalidParameter(
            f"JOBS_URL names {parsed.drivername!r}; the queue is on SQLite or Redis: {remedy}",
            field="JOBS_URL",
        )
    if parsed.drivername == "sqlite" and (
        not parsed.database or ":memory:" in str(parsed.database)
    ):
        raise InvalidParameter(
            f"JOBS_URL names an SQLite database in memory, which no other process sees; {remedy}",
            field="JOBS_URL",
        )
    return parsed


def _run_elsewhere(_job_id: str) -> None:
    """Stand for the worker's function in a process that only announces."""
