"""Connections that wait: for a request, for room, and for their end."""

from __future__ import annotations

import errno
import selectors
import socket
from types import SimpleNamespace

import pytest
from gunicorn.http.unreader import SocketUnreader

from hushpoll_server import deadline_socket, waiting_worker
from hushpoll_server.kept_connections import KeptConnections
from hushpoll_server.listening import listen
from hushpoll_server.waiting_worker import LATE, WaitingWorker

REQUEST = b"POST /reports HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\n{}"


class Poor(socket.socket):
    """A listener for which the system has no descriptor, so many times."""

    failures = 0
    asked = 0

    def accept(self):
        self.asked += 1
        if self.failures > 0:
            self.failures -= 1
            raise OSError(errno.EMFILE, "Too many open files")
        return super().accept()


class Crowd:
    """A worker on a listener, its clients, and what was given to threads."""

    def __init__(self):
        listener = Poor(fileno=listen("127.0.0.1", 0).detach())
        self.listener, self.clients, self.given = listener, [], []
        worker = self.worker = WaitingWorker.__new__(WaitingWorker)
        worker.poller, worker.nr_conns, worker.alive = selectors.DefaultSelector(), 0, True
        worker.keepalived_conns, worker.begun, worker.leaving = (
            KeptConnections() for _ in range(3)
        )
        worker.worker_connections, worker.sockets, worker._accepting = 4, [listener], False
        worker.cfg = SimpleNamespace(keepalive=15)
        worker.log = SimpleNamespace(warning=lambda words: None)
        worker.submit = self.given.append
        worker.set_accept_enabled(True)

    def connect(self, sent=b""):
        client = socket.create_connection(self.listener.getsockname(), timeout=30)
        self.clients.append(client)
        client.sendall(sent)
        return client

    def look(self):
        """See to everything that has happened, as often as it takes; return how often."""
        for times in range(100):
            events = self.worker.poller.select(0.05)
            if not events:
                self.worker.murder_keepalived()
                self.worker.murder_pending()
                return times
            for key, _ in events:
                key.data(key.fileobj)
        raise AssertionError("there is no end of it")

    def close(self):
        for client in self.clients:
            client.close()
        self.look()
        for conn in [*self.given]:  # part of a request that ends is one for a thread
            self.answered(conn)
        assert (self.worker.nr_conns, len(self.worker.poller.get_map())) == (0, 1)
        self.listener.close()
        self.worker.poller.close()

    def answered(self, conn):
        """Let go of a connection that a thread has answered for the last time."""
        self.given.remove(conn)
        conn.close()
        self.worker.nr_conns -= 1


@pytest.fixture
def crowd():
    made = Crowd()
    yield made
    made.close()


def closed(client):
    """Whether the server has ended a connection; an answer is not to come before."""
    client.settimeout(0.05)
    try:
        return client.recv(1) == b""
    except TimeoutError:
        return False
    except ConnectionResetError:
        return True


@pytest.mark.parametrize("cut", [0, 1, 30, len(REQUEST) - 1])
def test_a_request_has_a_thread_when_it_is_there(crowd, cut):
    client = crowd.connect(REQUEST[:cut])
    crowd.look()
    assert (crowd.given, len(crowd.worker.begun)) == ([], int(cut > 0))
    client.sendall(REQUEST[cut:])
    crowd.look()
    (conn,) = crowd.given
    assert len(crowd.worker.begun) == len(crowd.worker.keepalived_conns) == 0
    conn.sock.expect_request()
    assert conn.sock.recv(7) + conn.sock.recv(8192) == REQUEST
    crowd.answered(conn)


def test_a_part_of_a_request_does_not_keep_the_poller_busy(crowd):
    crowd.connect(REQUEST[:20])
    assert crowd.look() <= 2
    assert crowd.worker.poller.select(0.05) == []


def test_a_request_that_ends_before_it_is_whole_has_a_thread(crowd):
    client = crowd.connect(REQUEST[:20])
    client.shutdown(socket.SHUT_WR)
    crowd.look()
    (conn,) = crowd.given
    conn.sock.expect_request()
    assert [conn.sock.recv(8192), conn.sock.recv(8192)] == [REQUEST[:20], b""]
    crowd.answered(conn)


def test_who_says_nothing_is_let_go_without_a_word(crowd):
    client = crowd.connect()
    crowd.look()
    crowd.worker.keepalived_conns[0].timeout = 0
    crowd.look()
    assert closed(client)
    assert crowd.worker.nr_conns == 0


def test_who_is_late_is_told_so_and_let_go(crowd, monkeypatch):
    monkeypatch.setattr(deadline_socket, "READ_SECONDS", 0)
    late = [crowd.connect(REQUEST[:cut]) for cut in (1, -1)]
    crowd.look()
    assert LATE.startswith(b"HTTP/1.1 408 ")
    for client in late:
        assert client.recv(8192) == LATE
        assert client.recv(1) == b""
    assert (crowd.given, crowd.worker.nr_conns) == ([], 2)
    late[0].sendall(REQUEST)  # to nobody
    crowd.look()
    late[0].close()
    crowd.look()
    assert crowd.worker.nr_conns == 1
    crowd.worker.leaving[0].timeout = 0  # it has had the time to read
    crowd.look()
    assert crowd.worker.nr_conns == 0


@pytest.mark.parametrize("cut", [0, 1, len(REQUEST) - 1, len(REQUEST)])
def test_what_was_read_behind_a_request_belongs_to_the_next(crowd, cut):
    client = crowd.connect(REQUEST)
    crowd.look()
    (conn,) = crowd.given
    crowd.given.clear()
    conn.sock.take_ahead()
    conn.sock._arrival.add(REQUEST[cut // 2 : cut])
    conn.parser = SimpleNamespace(unreader=SocketUnreader(conn.sock))
    conn.parser.unreader.unread(REQUEST[: cut // 2])
    crowd.worker.await_next(conn)
    if cut < len(REQUEST):
        assert (crowd.given, len(crowd.worker.begun)) == ([], int(cut > 0))
        client.sendall(REQUEST[cut:])
        crowd.look()
    assert crowd.given == [conn]
    conn.sock.expect_request()
    assert conn.sock.recv(8192) == REQUEST
    crowd.answered(conn)


@pytest.mark.parametrize("sent", [b"", b"G"])
def test_who_waits_for_longest_makes_room(crowd, sent):
    """Guards: as many as may be that say nothing shut all others out for 15 s."""
    first = [crowd.connect(sent) for _ in range(3)]
    crowd.look()
    more = [crowd.connect(sent) for _ in range(5)]
    crowd.look()
    asking = crowd.connect(REQUEST)
    crowd.look()
    (conn,) = crowd.given
    assert all(closed(client) for client in [*first, *more[:3]])
    assert not any(closed(client) for client in [*more[3:], asking])
    assert crowd.worker.nr_conns == 3
    crowd.answered(conn)


def test_who_made_room_is_not_looked_at_any_more(crowd):
    client = crowd.connect()
    crowd.connect()
    crowd.look()
    conn = crowd.worker.keepalived_conns[0]
    client.sendall(REQUEST)
    events = crowd.worker.poller.select(30)
    crowd.worker.hang_up(conn)
    for key, _ in events:
        key.data(key.fileobj)
    assert (crowd.given, crowd.worker.nr_conns) == ([], 1)


def test_no_descriptor_for_a_connection_is_no_end(crowd, monkeypatch):
    """Guards: the error ended the worker, with all that it was doing."""
    said = []
    monkeypatch.setattr(
        waiting_worker, "log", SimpleNamespace(warning=lambda *words, **more: said.append(more))
    )
    crowd.listener.failures = 3
    client = crowd.connect(REQUEST)
    crowd.look()
    # It is not asked again and again meanwhile.
    assert (crowd.listener.asked, crowd.given, crowd.worker._accepting) == (1, [], False)
    crowd.worker.set_accept_enabled(True)
    assert not crowd.worker._accepting
    for _ in range(2):
        crowd.worker._accept_again = 0
        crowd.worker.set_accept_enabled(True)
        crowd.look()
    assert said == [{"error": "EMFILE", "connections": 0}]
    crowd.worker._accept_again = 0
    crowd.worker.set_accept_enabled(True)
    crowd.look()
    (conn,) = crowd.given
    assert not closed(client)
    crowd.answered(conn)


def test_who_waits_makes_room_where_there_is_no_descriptor(crowd):
    waiting = [crowd.connect() for _ in range(2)]
    crowd.look()
    crowd.listener.failures = 1
    crowd.connect(REQUEST)
    crowd.look()
    (conn,) = crowd.given
    assert [closed(client) for client in waiting] == [True, False]
    crowd.answered(conn)


def test_another_error_of_the_listener_is_not_hidden(crowd):
    crowd.listener.accept = lambda: (_ for _ in ()).throw(OSError(errno.EBADF, "Bad file"))
    with pytest.raises(OSError, match="Bad file"):
        crowd.worker.accept(crowd.listener)
    del crowd.listener.accept
