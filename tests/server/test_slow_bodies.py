"""How many clients threads wait for, and who is sent away."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from hushpoll_server import slow_bodies
from hushpoll_server.deadline_socket import DeadlineSocket, SlowRequest
from hushpoll_server.slow_bodies import SlowBodies


class Client:
    def __init__(self, pace, age=60.0):
        self.pace, self.age, self.sent_away = lambda: pace, lambda: age, 0

    def send_away(self):
        self.sent_away += 1


@pytest.mark.parametrize(
    ("most", "enough", "gone"),
    [
        (2, 100.0, [1.0, 2.0, 3.0]),
        (2, 2.5, [1.0, 2.0]),
        (4, 100.0, [1.0]),
        (5, 100.0, []),
        (6, 100.0, []),
        (1, 1.0, []),
    ],
)
def test_the_slowest_are_sent_away_where_they_are_too_many(most, enough, gone):
    bodies = SlowBodies()
    clients = [Client(pace) for pace in (5.0, 1.0, 3.0, 2.0, 7.0)]
    for client in clients:
        bodies.enter(client)
    for _ in range(2):
        bodies.relieve(most, enough)
        assert sorted(one.pace() for one in clients if one.sent_away) == gone
    assert {one.sent_away for one in clients} <= {0, 1}


def test_who_has_only_begun_is_not_called_slow():
    bodies = SlowBodies()
    young, old, quick = Client(0.0, age=0.01), Client(0.0), Client(1.0)
    for client in (quick, young, old):
        bodies.enter(client)
    bodies.relieve(1, 100.0)
    assert [one.sent_away for one in (young, old, quick)] == [0, 1, 0]


def test_who_is_not_waited_for_any_more_stays():
    bodies = SlowBodies()
    first, second, third = Client(1.0), Client(2.0), Client(0.0)
    bodies.enter(first)
    bodies.leave(first)
    bodies.leave(first)
    bodies.enter(second)
    bodies.enter(third)
    bodies.relieve(1, 100.0)
    assert [one.sent_away for one in (first, second, third)] == [0, 0, 1]


@pytest.mark.parametrize("limit", [None, 60])
def test_a_thread_gives_up_on_a_client_that_is_sent_away(monkeypatch, limit):
    bodies = SlowBodies()
    monkeypatch.setattr(DeadlineSocket, "bodies", bodies)
    ours, theirs = zip(*(socket.socketpair() for _ in range(2)), strict=True)
    slow, quick = map(DeadlineSocket.of, ours)
    with slow, quick, theirs[0], theirs[1]:
        for one in (slow, quick):
            one.settimeout(limit)
            one.expect_request()
        theirs[1].sendall(b"much of a body")
        assert quick.recv(100) == b"much of a body"
        outcomes = []

        def wait():
            try:
                outcomes.append(slow.recv(100))
            except SlowRequest:
                outcomes.append(SlowRequest)

        waiting = threading.Thread(target=wait)
        waiting.start()
        deadline = time.monotonic() + 60
        while slow not in bodies._awaited:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        bodies.enter(quick)
        assert 0 == slow.pace() < quick.pace()
        monkeypatch.setattr(slow_bodies, "YOUNG_SECONDS", 0.0)
        bodies.relieve(1, quick.pace() * 1e6)
        waiting.join(60)
        assert outcomes == [SlowRequest]
        theirs[1].sendall(b"the rest")
        assert quick.recv(100) == b"the rest"
        bodies.leave(quick)
        assert not bodies._awaited
