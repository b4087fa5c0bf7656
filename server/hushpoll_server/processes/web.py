"""The web process of ``hushpoll serve``: it answers analysts, serves pages and seals."""

from __future__ import annotations

import gc
import socket
from typing import Final

import waitress

from hushpoll_server.logs import get_logger
from hushpoll_server.pages.assets import assets
from hushpoll_server.processes import children
from hushpoll_server.services.maintenance.sealing import Maintenance
from hushpoll_server.services.results.analysis import prepare
from hushpoll_server.services.services import Services
from hushpoll_server.store.lock import adopt
from hushpoll_server.web_application import build

log = get_logger(__name__)

BACKLOG: Final = 1024
# An answer is held in memory up to this, and the thread that makes it waits; nothing of it is
# written to a file.
HELD_ANSWER_BYTES: Final = 2**20
NO_FILE_BYTES: Final = 2**31 - 1


def run() -> None:
    """Serve until SIGTERM or SIGINT."""
    orders, settings = children.begin()
    lock = adopt(settings.database_url, orders.lock)
    services = Services(settings, upgrade=False)
    app = build(settings, services)
    server = waitress.create_server(
        app,
        sockets=[socket.socket(fileno=orders.listener)],
        threads=settings.threads,
        connection_limit=settings.threads + settings.queue_requests + 1,
        backlog=BACKLOG,
        max_request_body_size=settings.max_body_bytes + 1,
        inbuf_overflow=NO_FILE_BYTES,
        outbuf_overflow=NO_FILE_BYTES,
        outbuf_high_watermark=HELD_ANSWER_BYTES,
        # select() takes no descriptor from 1,024 on.
        asyncore_use_poll=True,
        clear_untrusted_proxy_headers=True,
        ident=None,
    )
    maintenance = None
    if settings.sealing == "server":
        maintenance = Maintenance(services.sealing, prepare=_prepare)
    if services.sampler is not None:
        services.sampler.start()
    if maintenance is not None:
        maintenance.start()
    if settings.invitation_seed is not None and (packages := assets().unbundled):
        log.warning("page-not-bundled", packages=packages)
    settle()
    children.end_on_signal()
    children.ready()
    try:
        server.run()
    finally:
        if maintenance is not None:
            maintenance.stop()
        if services.sampler is not None:
            services.sampler.stop()
        services.stop()
        lock.close()
        children.end()


def settle() -> None:
    """Take what is loaded by now out of the passes of the garbage collector.

    A large answer makes so many objects that every few dozen of them start a full pass, which would
    go through all modules: 80 ms and more, several times what the answer takes.
    """
    gc.collect()
    gc.freeze()


def _prepare() -> None:
    prepare()
    settle()
