"""The listening socket of ``hushpoll serve``, bound before anything else is done."""

from __future__ import annotations

import errno
import socket

from hushpoll_protocols.errors import InvalidParameter

BACKLOG = 1024


def listen(host: str, port: int) -> socket.socket:
    """Return a socket that listens, or say in one sentence why there is none.

    Parameters
    ----------
    host : str
        Address or name of this machine; an IPv6 address without brackets.
    port : int
        Port, 0..65535; 0 takes a free one.

    Raises
    ------
    InvalidParameter
        The host cannot be resolved or is another machine's; the port is in use or reserved.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        found = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM, 0, socket.AI_PASSIVE)
    except (socket.gaierror, UnicodeError) as error:
        raise InvalidParameter(
            f"host is {host!r}, which cannot be resolved; give an address of this machine with "
            "--host, such as 127.0.0.1",
            field="host",
        ) from error
    listener = socket.socket(family, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind(found[0][4])
        # Not left for later: two sockets may be bound to one port while neither listens.
        listener.listen(BACKLOG)
    except OSError as error:
        listener.close()
        raise _refused(host, port, error) from error
    return listener


def _refused(host: str, port: int, error: OSError) -> InvalidParameter:
    if error.errno == errno.EADDRINUSE:
        return InvalidParameter(
            f"port {port} of {host} is in use; give another with --port", field="port"
        )
    if error.errno in (errno.EACCES, errno.EPERM):
        return InvalidParameter(
            f"port {port} of {host} is reserved ({error.strerror}); give another with --port, "
            "in [1024, 65535]",
            field="port",
        )
    return InvalidParameter(
        f"host is {host!r}, on which this machine cannot listen ({error.strerror}); give one of "
        "its own addresses with --host, such as 127.0.0.1",
        field="host",
    )
