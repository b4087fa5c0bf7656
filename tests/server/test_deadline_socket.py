"""A client's connection: how long it may take, and what of an answer is sent when."""

from __future__ import annotations

import select
import socket
import threading
import time
from contextlib import suppress

import pytest
from gunicorn.http.errors import InvalidHeader

from hushpoll_server import brief_calls, deadline_socket
from hushpoll_server.deadline_socket import BRIEF, DeadlineSocket, SlowRequest
from hushpoll_server.http_worker import has_left

A_MOMENT = 0.05


@pytest.fixture
def pair():
    """A server's end of a connection and a client's."""
    ours, theirs = socket.socketpair()
    theirs.settimeout(10)
    ours = DeadlineSocket.of(ours)
    with ours, theirs:
        yield ours, theirs


def nothing_has_arrived(theirs):
    return not select.select([theirs], [], [], 0)[0]


def test_the_system_never_waits_on_it(pair):
    ours, _ = pair
    assert socket.socket.gettimeout(ours) == 0
    for limit in (None, 3.5, 0):
        ours.settimeout(limit)
        assert (ours.gettimeout(), socket.socket.gettimeout(ours)) == (limit, 0)
    ours.setblocking(True)
    assert (ours.gettimeout(), socket.socket.gettimeout(ours)) == (None, 0)


def test_what_has_arrived_is_received_at_once(pair):
    ours, theirs = pair
    theirs.sendall(b"abc" + bytes(BRIEF))
    ours.setblocking(False)
    assert ours.recv(3, socket.MSG_PEEK) == b"abc"
    assert ours.recv(3) == b"abc"
    received = b""
    while len(received) < BRIEF:
        received += ours.recv(2 * BRIEF)  # more than is copied with the lock held
    assert received == bytes(BRIEF)
    with pytest.raises(BlockingIOError):
        ours.recv(1)


def test_what_was_received_ahead_comes_first(pair):
    ours, theirs = pair
    with pytest.raises(BlockingIOError):
        ours.receive_ahead()
    theirs.sendall(b"GET / HTTP/1.1\r\n")
    assert not ours.receive_ahead()
    theirs.sendall(b"\r\nGET")
    assert ours.receive_ahead()
    theirs.sendall(b" /next")
    assert ours.recv(3, socket.MSG_PEEK) == b"GET"
    assert ours.ahead == ours.recv(18) + b"GET"
    assert [ours.recv(100), ours.recv(100)] == [b"GET", b" /next"]
    theirs.sendall(b"GET / HTTP/1.1\r\n")
    assert not ours.receive_ahead()
    assert ours.put_back(b"GET / HTTP/1.1\r\n\r\n")
    assert ours.take_ahead() == b"GET / HTTP/1.1\r\n\r\nGET / HTTP/1.1\r\n"
    assert (ours.ahead, ours.put_back(b"")) == (b"", False)


def test_an_end_is_received_ahead_as_well(pair):
    ours, theirs = pair
    theirs.sendall(b"GET")
    assert not ours.receive_ahead()
    theirs.close()
    assert ours.receive_ahead()
    ours.setblocking(True)
    assert [ours.recv(100), ours.recv(100)] == [b"GET", b""]
    with pytest.raises(ConnectionResetError):  # between two requests
        ours.receive_ahead()


def test_what_is_no_beginning_is_not_waited_for(pair):
    ours, theirs = pair
    theirs.sendall(b"GET / HTTP/1.1\n")
    assert ours.receive_ahead()
    ours.setblocking(True)
    assert ours.recv(100) == b"GET / HTTP/1.1\n"
    with pytest.raises(InvalidHeader):
        ours.recv(100)
    ours.expect_nothing()
    theirs.sendall(b"more")
    assert ours.recv(100) == b"more"


def test_a_connection_is_let_go_when_the_other_side_has_ended_it(pair):
    ours, theirs = pair
    ours.sendall(b"good")
    theirs.sendall(b"more of a request")
    assert not has_left(ours, A_MOMENT)
    assert (theirs.recv(100), theirs.recv(100)) == (b"good", b"")
    theirs.close()
    assert has_left(ours, 60)


def test_who_goes_on_sending_is_not_listened_to_for_ever(pair):
    ours, theirs = pair
    theirs.setblocking(False)
    with suppress(BlockingIOError):
        while True:
            theirs.send(bytes(100_000))
    assert has_left(ours, 60)


def test_what_has_not_arrived_is_waited_for(pair):
    ours, theirs = pair
    ours.setblocking(True)
    later = threading.Timer(A_MOMENT, theirs.sendall, [b"abc"])
    later.start()
    assert ours.recv(10) == b"abc"
    later.join()
    ours.settimeout(A_MOMENT)
    began = time.monotonic()
    with pytest.raises(TimeoutError):
        ours.recv(10)
    assert time.monotonic() - began >= A_MOMENT
    theirs.close()
    assert ours.recv(10) == b""


def test_a_request_has_a_time_of_its_own(pair, monkeypatch):
    ours, theirs = pair
    monkeypatch.setattr(deadline_socket, "READ_SECONDS", A_MOMENT)
    ours.setblocking(True)
    ours.expect_request()
    with pytest.raises(SlowRequest):
        ours.recv(10)
    theirs.sendall(b"abc")  # its reader was away for so long, and not its sender
    assert ours.recv(10) == b"abc"
    with pytest.raises(SlowRequest):
        ours.recv(10)
    ours.settimeout(A_MOMENT / 10)
    ours.expect_request()
    with pytest.raises(TimeoutError):  # the shorter limit counts
        ours.recv(10)
    ours.expect_nothing()
    theirs.sendall(b"d")
    assert ours.recv(10) == b"d"


def test_a_body_has_more_time_the_longer_it_is(pair, monkeypatch):
    ours, theirs = pair
    monkeypatch.setattr(deadline_socket, "READ_SECONDS", A_MOMENT)
    monkeypatch.setattr(deadline_socket, "READ_BYTES_PER_SECOND", 10)
    ours.setblocking(True)
    ours.expect_request()
    theirs.sendall(b"0123456789")
    assert ours.recv(10) == b"0123456789"
    later = threading.Timer(4 * A_MOMENT, theirs.sendall, [b"abc"])
    later.start()
    assert ours.recv(10) == b"abc"
    later.join()


def test_the_parts_of_an_answer_leave_together(pair):
    ours, theirs = pair
    ours.sendall(b"head ")
    ours.sendall(memoryview(b"and body"))
    assert nothing_has_arrived(theirs)
    ours.flush()
    assert theirs.recv(100) == b"head and body"
    ours.flush()
    assert nothing_has_arrived(theirs)


def test_a_part_is_not_held_back_where_it_must_be_seen(pair):
    ours, theirs = pair
    assert ours.send(b"HTTP/1.1 100 Continue") == 21
    assert theirs.recv(100) == b"HTTP/1.1 100 Continue"
    ours.sendall(b"half an answer")
    ours.shutdown(socket.SHUT_WR)
    assert theirs.recv(100) == b"half an answer"
    assert theirs.recv(100) == b""


def test_an_answer_leaves_before_anything_is_read(pair):
    ours, theirs = pair
    ours.sendall(b"go on")
    ours.setblocking(False)
    with pytest.raises(BlockingIOError):
        ours.recv(1)
    assert theirs.recv(100) == b"go on"


def test_a_file_comes_after_what_was_sent_before(pair, tmp_path):
    ours, theirs = pair
    (tmp_path / "file").write_bytes(b"and body")
    ours.setblocking(True)
    ours.sendall(b"head ")
    with (tmp_path / "file").open("rb") as file:
        assert ours.sendfile(file) == 8
    ours.close()
    assert theirs.recv(100) + theirs.recv(100) == b"head and body"


def test_a_long_answer_arrives_whole(pair):
    ours, theirs = pair
    answer = bytes(range(256)) * 8192
    received = bytearray()

    def receive():
        while len(received) < len(answer):
            received.extend(theirs.recv(100_000))

    reader = threading.Thread(target=receive)
    reader.start()
    for start in range(0, len(answer), 12_345):
        ours.sendall(answer[start : start + 12_345])
    ours.flush()
    reader.join(60)
    assert received == answer


@pytest.mark.parametrize("size", [BRIEF // 2, 3 * BRIEF])
def test_who_does_not_read_is_not_waited_for(pair, monkeypatch, size):
    ours, _ = pair
    monkeypatch.setattr(deadline_socket, "SEND_SECONDS", A_MOMENT)
    with pytest.raises(TimeoutError, match="does not read"):  # noqa: PT012  # one of them
        for _ in range(1000):
            ours.sendall(bytes(size))


def test_a_connection_that_was_cut_is_an_error(pair):
    ours, theirs = pair
    theirs.close()
    ours.sendall(b"abc")
    with pytest.raises(BrokenPipeError):
        ours.flush()
    ours.close()
    with pytest.raises(OSError, match="Bad file descriptor"):
        brief_calls.receive(ours.fileno(), 1)


def test_threads_receive_apart():
    """Guards: one buffer of all threads."""
    pairs = [socket.socketpair() for _ in range(4)]
    found = {}

    def receive(number):
        ours, theirs = pairs[number]
        wrong = 0
        for _ in range(3000):
            theirs.sendall(bytes([number]) * 5000)
            wrong += brief_calls.receive(ours.fileno(), 5000) != bytes([number]) * 5000
        found[number] = wrong

    threads = [threading.Thread(target=receive, args=[number]) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for ends in pairs:
        for end in ends:
            end.close()
    assert found == dict.fromkeys(range(4), 0)
