"""The listening socket, or one sentence on why there is none."""

from __future__ import annotations

import socket

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.processes.listening import listen


def test_a_free_port_listens_at_once():
    with listen("127.0.0.1", 0) as listener:
        socket.create_connection(listener.getsockname(), timeout=30).close()


def test_a_port_in_use_is_named():
    """Guards: the server tried for five seconds, with three lines of log each time."""
    with listen("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InvalidParameter) as refused:
            listen("127.0.0.1", port)
    message = f"port {port} of 127.0.0.1 is in use; give another with --port"
    assert (str(refused.value), refused.value.field) == (message, "port")


@pytest.mark.parametrize(
    ("host", "words"),
    [
        ("192.0.2.1", "cannot listen"),  # of documentation's network, never this machine's
        ("", "cannot be resolved"),
        ("300.0.0.1.invalid", "cannot be resolved"),
        ("x" * 64, "cannot be resolved"),
        ("::nonsense", "cannot be resolved"),
    ],
)
def test_a_host_that_is_not_this_machine_is_refused(host, words, monkeypatch):
    resolve = socket.getaddrinfo

    def literal(host, port, family, kind, protocol, flags):
        return resolve(host, port, family, kind, protocol, flags | socket.AI_NUMERICHOST)

    monkeypatch.setattr(socket, "getaddrinfo", literal)  # asks no name server
    with pytest.raises(InvalidParameter, match=words) as refused:
        listen(host, 0)
    assert refused.value.field == "host"
    assert "--host" in str(refused.value)
