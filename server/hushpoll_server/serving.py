"""gunicorn with worker processes of many threads, under the name ``hushpoll serve``."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

from flask import Flask
from gunicorn.app.base import BaseApplication  # type: ignore[import-untyped]  # none exist

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server import descriptors, metrics
from hushpoll_server.crowding import ROUTE
from hushpoll_server.gunicorn_log import PrivateLogger
from hushpoll_server.http.application import build
from hushpoll_server.http.rate_limits import RateLimits, storage_of
from hushpoll_server.http_worker import HttpWorker
from hushpoll_server.services.collector import EXTENSION, Collector
from hushpoll_server.settings import Settings
from hushpoll_server.store.database import backend_of, parse_url

# Together under the 15 seconds in which a supervisor wants an answer to SIGTERM: the worker's time
# for requests in flight, then its own clean-up, before the arbiter ends it by force.
REQUEST_SECONDS = 7
ARBITER_SECONDS = 12
KEEPALIVE_SECONDS = 15


class Server(BaseApplication):  # type: ignore[misc]  # its base has no types
    """The application on a listening socket.

    Parameters
    ----------
    settings : Settings
        The whole configuration.
    listener : socket.socket
        Bound and listening; handed over to gunicorn.
    ready : callable
        Told the URL once the socket listens.
    """

    def __init__(
        self,
        settings: Settings,
        *,
        listener: socket.socket,
        ready: Callable[[str], None],
    ) -> None:
        self._settings = settings
        # gunicorn closes the descriptor once it has its own.
        self._bind = f"fd://{listener.detach()}"
        self._ready = ready
        # Made before the workers are forked, so that they count together.
        self._rate_limits = RateLimits(settings)
        self._app: Flask | None = None
        # Of the workers as well, which are forked.
        self._connections = descriptors.connections(
            pool_size=settings.pool_size, threads=settings.threads
        )
        super().__init__()

    @property
    def queue_requests(self) -> int:
        """Requests that may wait for a thread."""
        return self._settings.queue_requests

    def count_crowded(self, refusals: int) -> None:
        """Count reports that were refused because too many requests waited."""
        if (found := self._collector().metrics) is not None:
            found.requests("POST", ROUTE, 503, refusals)

    def load_config(self) -> None:
        """Give gunicorn its settings; no file, environment or command line is read."""
        for name, value in {
            "bind": self._bind,
            "workers": self._settings.workers,
            "worker_class": HttpWorker,
            "threads": self._settings.threads,
            "worker_connections": self._connections,
            "keepalive": KEEPALIVE_SECONDS,
            # From a proxy, SCRIPT_NAME would come through from anybody: it moves a path out of what
            # the proxy's own rules are about.
            "forwarder_headers": "",
            "header_map": "drop",
            "graceful_timeout": ARBITER_SECONDS,
            "accesslog": None,
            "loglevel": "warning",
            "logger_class": PrivateLogger,
            "control_socket_disable": True,
            "when_ready": self._when_ready,
            "post_fork": self._post_fork,
            "post_worker_init": self._post_worker_init,
            "worker_exit": self._worker_exit,
            "child_exit": self._child_exit,
        }.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Build the application, in the worker process."""
        self._app = build(self._settings, rate_limits=self._rate_limits)
        return self._app

    def _when_ready(self, arbiter: Any) -> None:
        host, port = arbiter.LISTENERS[0].sock.getsockname()[:2]
        self._ready(f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}")

    def _post_fork(self, _arbiter: Any, worker: Any) -> None:
        # In the worker's copy of the configuration alone.
        worker.cfg.set("graceful_timeout", REQUEST_SECONDS)

    def _post_worker_init(self, _worker: Any) -> None:
        self._collector().start()

    def _worker_exit(self, _arbiter: Any, _worker: Any) -> None:
        if self._app is None:
            return
        self._collector().stop()
        # All is stored. Taking the interpreter down takes a second or more, and it would wait for
        # threads that a stuck client holds.
        sys.stdout.flush()
        sys.stderr.flush()
        os._exit(0)

    def _child_exit(self, _arbiter: Any, worker: Any) -> None:
        metrics.process_ended(worker.pid)

    def _collector(self) -> Collector:
        if self._app is None:
            raise RuntimeError("the worker has not loaded the application")
        found: Collector = self._app.extensions[EXTENSION]
        return found


def check_workers(settings: Settings) -> None:
    """Refuse worker processes that would only wait for each other.

    Raises
    ------
    InvalidParameter
        Several workers, and a database with one writer at a time.
    """
    if settings.workers > 1 and backend_of(parse_url(settings.database_url)).ONE_WRITER:
        raise InvalidParameter(
            f"WORKERS is {settings.workers}, and SQLite takes one writer at a time: group commit "
            "and folding work within one process; set it to 1, or name a PostgreSQL in "
            "DATABASE_URL",
            field="WORKERS",
        )


def prepare(settings: Settings) -> str | None:
    """Bring the database up to date before any worker starts.

    Returns
    -------
    str or None
        The admin token, if this is the first start.

    Raises
    ------
    InvalidParameter, NotDurable, SchemaRefused
        The database cannot be used.
    """
    storage_of(settings)  # refused before there is a token
    # Nothing of it runs on, so it has nothing to measure.
    collector = Collector(replace(settings, metrics_token=None))
    try:
        return collector.access.first_admin()
    finally:
        collector.stop()
