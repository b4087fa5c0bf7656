"""How many clients threads wait for, and who is sent away."""

from __future__ import annotations

import socket
import threading
import time

import pytest

from hushpoll_server.deadline_socket import DeadlineSocket, SlowRequest
from hushpoll_server.slow_bodies import SlowBodies


class Client:
    def __init__(self, pace):
        self.pace, self.sent_away = lambda: pace, 0

    def send_away(self):
        self.sent_away += 1


def test_the_slowest_is_sent_away_where_they_are_too_many():
    bodies = SlowBodies(2)
    clients = [Client(pace) for pace in (5.0, 1.0, 3.0, 2.0, 7.0)]
    gone = []
    for client in clients:
        bodies.enter(client)
        gone.append([one.pace() for one in clients if one.sent_away])
    assert gone == [[], [], [1.0], [1.0, 2.0], [1.0, 3.0, 2.0]]
    assert max(client.sent_away for client in clients) == 1


def test_who_is_not_waited_for_any_more_stays():
    bodies = SlowBodies(1)
    first, second, third = Client(1.0), Client(2.0), Client(0.0)
    bodies.enter(first)
    bodies.leave(first)
    bodies.leave(first)
    bodies.enter(second)
    bodies.enter(third)
    assert [one.sent_away for one in (first, second, third)] == [0, 0, 1]


@pytest.mark.parametrize("limit", [None, 60])
def test_a_thread_gives_up_on_a_client_that_is_sent_away(monkeypatch, limit):
    bodies = SlowBodies(1)
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
        rest = threading.Thread(target=lambda: (waiting.join(60), theirs[1].sendall(b"the rest")))
        rest.start()
        assert quick.recv(100) == b"the rest"
        rest.join()
        assert outcomes == [SlowRequest]
        assert not bodies._awaited
