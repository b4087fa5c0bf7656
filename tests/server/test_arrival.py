"""When so much of a request has arrived that no thread need wait for the rest."""

from __future__ import annotations

import pytest
from gunicorn.http.errors import InvalidHeader, LimitRequestHeaders

from hushpoll_server.arrival import BODY_BYTES, HEAD_BYTES, Arrival

GET = b"GET /health HTTP/1.1\r\nHost: x\r\n\r\n"
POST = b"POST /reports HTTP/1.1\r\nHost: x\r\n"
LENGTH = b"CONTENT-length:\t5 \r\n"


def enough_at(data):
    """Add byte for byte; return how many were enough."""
    arrival = Arrival()
    for place in range(len(data)):
        if arrival.add(data[place : place + 1]):
            assert arrival.refusal is None
            assert arrival.data == data[: place + 1]
            return place + 1
    return None


@pytest.mark.parametrize(
    "data",
    [
        GET,
        b"\r\n" + GET,
        b"GET / HTTP/1.1\r\n\r\n",
        POST + b"\r\n",
        POST + LENGTH + b"X: y\r\n\r\nabcde",
        POST + LENGTH + b"\r\nabc\r\n",
        POST + b"Content-Length: 0\r\n\r\n",
    ],
)
def test_a_head_and_a_small_body_are_enough_and_no_byte_less(data):
    assert enough_at(data) == len(data)
    assert enough_at(data + GET) == len(data)
    assert Arrival().add(data)
    assert Arrival().add(data + GET)
    assert not Arrival().add(data[:-1])


@pytest.mark.parametrize(
    "header",
    [
        b"Content-Length: %d" % (BODY_BYTES + 1),
        b"Content-Length: 1000000",
        b"Content-Length: -5",
        b"Content-Length: +5",
        b"Content-Length : 5",
        b"Content-Length: 5, 5",
        b"Content-Length: 5\r\nContent-Length: 5",
        b"Content-Length: 5\r\nTransfer-Encoding: chunked",
        b"Transfer-Encoding: chunked",
        b"Content-Length: 5\r\nExpect: 100-continue",
        b"expect: 100-continue\r\nContent-Length: 5",
    ],
)
def test_a_body_that_is_large_or_of_doubtful_length_is_left_to_a_thread(header):
    head = POST + header + b"\r\n\r\n"
    assert enough_at(head + b"abcde") == len(head)


def test_the_largest_body_that_is_awaited():
    head = POST + b"Content-Length: %d\r\n\r\n" % BODY_BYTES
    arrival = Arrival()
    assert not arrival.add(head + bytes(BODY_BYTES - 1))
    assert arrival.add(b"\0")


def test_what_is_taken_is_gone_and_the_next_request_is_awaited_anew():
    arrival = Arrival()
    assert arrival.add(POST + LENGTH + b"\r\nabcde" + GET[:-1])
    whole = arrival.data
    assert arrival.take(10) == whole[:10]
    assert arrival.take(1000) == whole[10:]
    assert (arrival.data, arrival.take(5)) == (b"", b"")
    assert not arrival.add(GET[:-1])
    assert arrival.add(GET[-1:])


def test_a_head_without_an_end_is_refused():
    arrival = Arrival()
    assert not arrival.add(b"GET / HTTP/1.1\r\nX: " + b"a" * (HEAD_BYTES - 19))
    assert arrival.add(b"a")
    assert isinstance(arrival.refusal, LimitRequestHeaders)


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\n", b"\n", b"GET / HTTP/1.1\r\nHost: x\n\n", b"GET / HTTP/1.1\r\n\n"]
)
def test_a_line_that_ends_otherwise_is_refused_at_once(data):
    arrival = Arrival()
    assert arrival.add(data)
    assert isinstance(arrival.refusal, InvalidHeader)
    arrival = Arrival()
    assert any(arrival.add(data[place : place + 1]) for place in range(len(data)))
    assert isinstance(arrival.refusal, InvalidHeader)
