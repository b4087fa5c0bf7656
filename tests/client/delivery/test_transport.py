from __future__ import annotations

import threading

import pytest
import requests

from hushpoll_client.config import ClientConfig, Endpoint
from hushpoll_client.delivery.connections import new_session
from hushpoll_client.delivery.sessions import Sessions
from hushpoll_client.delivery.transport import Transport
from hushpoll_protocols.errors import InvalidParameter, ManifestRefused, TransportError
from waiting import LONGEST_SECONDS


@pytest.fixture
def transport(server, fake_time):
    transport = Transport(
        Endpoint.parse(server.url),
        token="t0ken",
        config=ClientConfig(attempts=2),
        pacing=fake_time.pacing(),
    )
    yield transport
    transport.close()


def test_a_connection_is_kept(server, steps, transport):
    server.play(steps.respond(200, b"{}"))
    for _ in range(3):
        assert transport.get("surveys").json() == {}
    assert len({seen.port for seen in server.seen}) == 1


def test_callers_session_is_used_and_left_open(server, steps, fake_time):
    server.play(steps.respond(200, b"[]"))
    with new_session() as session:
        transport = Transport(Endpoint.parse(server.url), config=ClientConfig(), session=session)
        assert transport.get("surveys").json() == []
        transport.close()
        assert transport.get("surveys").json() == []


def test_closing_twice_and_before_use_is_harmless():
    sessions = Sessions()
    sessions.close()
    first = sessions.current()
    sessions.close()
    sessions.close()
    assert sessions.current() is not first
    sessions.close()


def test_parameters_are_encoded(server, steps, transport):
    server.play(steps.respond(200, b"{}"))
    transport.get("cross-tables", params={"a": "x y", "b": "ü"})
    assert server.seen[0].path == "/api/v1/cross-tables?a=x+y&b=%C3%BC"


def test_an_answer_that_is_not_json(server, steps, transport):
    server.play(steps.respond(200, b"<html>"))
    with pytest.raises(TransportError, match="not JSON") as caught:
        transport.get("surveys").json()
    assert not caught.value.retryable


def test_a_server_that_is_silent_is_a_retryable_fault(server, fake_time):
    release = threading.Event()
    server.play(lambda handler: release.wait(LONGEST_SECONDS))
    transport = Transport(
        Endpoint.parse(server.url),
        config=ClientConfig(attempts=2, read_timeout=0.5),
        pacing=fake_time.pacing(),
    )
    with pytest.raises(TransportError, match="did not answer in time") as caught:
        transport.get("surveys")
    release.set()
    transport.close()
    assert caught.value.retryable
    assert len(fake_time.slept) == 1


def test_refused_connection_is_a_retryable_fault(fake_time):
    transport = Transport(
        Endpoint.parse("http://127.0.0.1:9"),
        config=ClientConfig(attempts=1),
        pacing=fake_time.pacing(),
    )
    with pytest.raises(TransportError, match="cannot be reached") as caught:
        transport.get("surveys")
    assert (caught.value.retryable, caught.value.status) == (True, None)
    transport.close()


def test_a_connection_that_is_not_tls_is_terminal(server, steps, fake_time):
    server.play(steps.respond(200, b"{}"))
    transport = Transport(
        Endpoint.parse(server.url.replace("http:", "https:")),
        config=ClientConfig(),
        pacing=fake_time.pacing(),
    )
    with pytest.raises(TransportError, match="can be trusted; nothing was sent") as caught:
        transport.get("surveys")
    assert (caught.value.retryable, fake_time.slept) == (False, [])
    transport.close()


def test_an_invalid_answer_is_terminal(transport, monkeypatch):
    def fail(*args: object, **options: object) -> None:
        raise requests.exceptions.InvalidHeader("odd")

    monkeypatch.setattr(requests.Session, "request", fail)
    with pytest.raises(TransportError, match="no valid answer") as caught:
        transport.get("surveys")
    assert not caught.value.retryable


@pytest.mark.parametrize(
    ("status", "retryable"),
    [(400, False), (404, False), (408, True), (418, False), (429, True), (500, True), (504, True)],
)
def test_an_answer_without_a_problem_is_judged_by_its_status(
    server, steps, transport, status, retryable
):
    server.play(steps.respond(status, b"<html>", "text/html"))
    with pytest.raises(TransportError) as caught:
        transport.get("surveys")
    assert (caught.value.retryable, caught.value.status) == (retryable, status)


def test_a_problem_that_is_no_json_is_judged_by_its_status(server, steps, transport):
    server.play(steps.respond(503, b"{", "application/problem+json; charset=utf-8"))
    with pytest.raises(TransportError) as caught:
        transport.get("surveys")
    assert caught.value.retryable


def test_a_refused_manifest_comes_back_as_itself(server, steps, transport):
    server.play(steps.problem("manifest-refused", field="epsilon"))
    with pytest.raises(ManifestRefused) as caught:
        transport.post("surveys", body=b"{}", media_type="application/json")
    assert caught.value.field == "epsilon"


def test_without_retry_a_request_is_sent_once(server, steps, transport):
    server.play(steps.problem("unavailable"))
    with pytest.raises(TransportError):
        transport.post("tokens", body=b"{}", media_type="application/json", retry=False)
    assert len(server.seen) == 1


def test_a_download_is_passed_on_in_pieces(server, steps, transport):
    content = bytes(range(256)) * 1000
    server.play(steps.respond(200, content))
    pieces: list[bytes] = []
    assert transport.download("records", write=pieces.append) == len(content)
    assert b"".join(pieces) == content
    assert len(pieces) > 1


def test_a_download_that_breaks_off_is_an_error(server, steps, transport):
    server.play(steps.break_off)
    with pytest.raises(TransportError):
        transport.download("records", write=lambda piece: None)


def test_a_refused_download_is_an_error(server, steps, transport):
    server.play(steps.problem("not-enough-reports"))
    with pytest.raises(TransportError) as caught:
        transport.download("records", write=lambda piece: None)
    assert caught.value.problem["code"] == "not-enough-reports"


@pytest.mark.parametrize("token", ["", "a b", "ä", "a\n", b"x", 7])
def test_a_token_has_to_be_printable(server, token):
    with pytest.raises(InvalidParameter) as caught:
        Transport(Endpoint.parse(server.url), token=token, config=ClientConfig())
    assert caught.value.field == "token"
