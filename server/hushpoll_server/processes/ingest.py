"""An ingest process of ``hushpoll serve``: uvicorn with the ASGI application of devices."""

from __future__ import annotations

import logging
import resource
import socket
from typing import Final

import httpx
import uvicorn

from hushpoll_server.ingest.application import IngestApplication
from hushpoll_server.ingest.connections import IDLE_SECONDS, Connections
from hushpoll_server.ingest.forwarding import share_of_web
from hushpoll_server.ingest.requests import DRAINED_BYTES
from hushpoll_server.logs import get_logger
from hushpoll_server.processes import children
from hushpoll_server.services.device_services import DeviceServices
from hushpoll_server.store.lock import adopt

log = get_logger(__name__)

# From SIGTERM on, for requests in flight. Reports that are stored later are not acknowledged.
GRACE_SECONDS: Final = 7
# Descriptors for other things than clients' connections: the database, the web process, logs.
RESERVED: Final = 256
BACKLOG: Final = 1024
MOST_CONNECTIONS: Final = 65_536
WEB_KEEPALIVE_SECONDS: Final = 30.0


def run() -> None:
    """Serve until SIGTERM or SIGINT."""
    orders, settings = children.begin()
    lock = adopt(settings.database_url, orders.lock)
    services = DeviceServices(settings, upgrade=False)
    transport = httpx.AsyncHTTPTransport(
        uds=orders.web_socket,
        limits=httpx.Limits(
            max_connections=share_of_web(settings),
            max_keepalive_connections=min(settings.threads, share_of_web(settings)),
            keepalive_expiry=WEB_KEEPALIVE_SECONDS,
        ),
    )
    application = IngestApplication(services, transport, ready=children.ready)
    connections = Connections(
        most=_most_connections(),
        head_seconds=settings.request_seconds,
        most_bytes=settings.max_body_bytes + DRAINED_BYTES,
    )

    server = uvicorn.Server(
        uvicorn.Config(
            application,
            http=connections.protocol,  # type: ignore[arg-type]  # called as a class is
            loop="uvloop",
            ws="none",
            lifespan="on",
            log_config=None,
            access_log=False,
            proxy_headers=False,
            server_header=False,
            backlog=BACKLOG,
            timeout_keep_alive=int(IDLE_SECONDS),
            timeout_graceful_shutdown=GRACE_SECONDS,
        )
    )
    logging.getLogger("uvicorn.error").addFilter(_is_of_the_server)
    listener = socket.socket(fileno=orders.listener)
    # uvicorn has handlers of its own meanwhile, and raises the signal again when it is done.
    children.end_on_signal()
    try:
        server.run(sockets=[listener])
    finally:
        services.stop()
        lock.close()
        children.end()


def _is_of_the_server(record: logging.LogRecord) -> bool:
    """Return whether a line of uvicorn's is about the server, and not about one request.

    A client can cause as many lines of the other kind as it likes, by requests that are none and by
    breaking off; they would fill the disk. The application logs its own failures.
    """
    of_request = ("ASGI callable", "Exception in ASGI application")
    return record.levelno >= logging.ERROR and not record.getMessage().startswith(of_request)


def _most_connections() -> int:
    limit, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit == resource.RLIM_INFINITY:
        return MOST_CONNECTIONS
    # With few descriptors, connections get a quarter of them at least.
    most = max(1, min(MOST_CONNECTIONS, max(limit - RESERVED, limit // 4)))
    if limit < 2 * RESERVED:
        log.warning("few-descriptors", descriptors=limit, connections=most)
    return most
