"""Retries, and deadlines that a server which sends a byte now and then cannot stretch."""

from __future__ import annotations

import io
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

import pytest
import requests
import trustme

from client.dripping_server import DrippingServer
from hushpoll_client import ClientConfig, Ledger, ReportNotSent, SurveyClient
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_client.cli.ledger import AT_A_TERMINAL
from hushpoll_client.config import Endpoint
from hushpoll_client.delivery.connections import TimedAdapter
from hushpoll_client.delivery.sessions import Sessions
from hushpoll_client.delivery.timing import Pacing, with_retries
from hushpoll_client.delivery.transport import Transport
from hushpoll_protocols.errors import TransportError
from waiting import LONGEST_SECONDS, wait_until

PARTS = ["status line", "headers", "body"]
# Longer than a test waits for anything: a test that passes has met the limit that it sets.
UNMET = {"connect_timeout": 600, "read_timeout": 600, "exchange_timeout": 3600, "patience": 3600}


def limited(**limits: float | bool) -> ClientConfig:
    """Return a configuration with these limits, and no other that a test could meet."""
    return ClientConfig(**{"exit_patience": 600, **UNMET, **limits})


@contextmanager
def lasting(least: float) -> Iterator[None]:
    """Assert that the block takes these seconds, and that it ends."""
    began = time.monotonic()
    yield
    seconds = time.monotonic() - began
    assert least <= seconds <= LONGEST_SECONDS, f"{seconds:.1f} s"


@pytest.fixture(params=PARTS)
def dripping(request) -> Iterator[DrippingServer]:
    with DrippingServer(request.param) as server:
        yield server


def test_flush_and_close_return_at_their_deadlines_and_the_report_is_kept(
    dripping, published, answers, tmp_path
):
    path = tmp_path / "ledger.sqlite"
    config = limited(raise_faults=True, exit_patience=0.5)
    client = SurveyClient(
        dripping.url, published.name, published=published, storage=path, config=config
    )
    client.give_consent()
    report = client.randomize(answers)
    # This thread sends: nothing has told the background that there is something to send.
    seconds = 3 if dripping.part == "headers" else 2
    with lasting(seconds):
        assert client.flush(seconds) is False
    wait_until(lambda: dripping.connections)
    assert dripping.connections == 1
    # Now the background sends, and closing the client gives it `exit_patience` seconds.
    client.answer(answers)
    wait_until(lambda: dripping.connections == 2)
    with lasting(0):
        client.close()
    assert client.losses == {}
    (entry,) = Ledger.open(path).entries()
    assert (entry.state, entry.report) == ("waiting", report)


def test_flush_returns_at_its_deadline_while_the_background_is_sending(
    published, answers, tmp_path
):
    with DrippingServer("headers") as server:
        client = SurveyClient(
            server.url,
            published.name,
            published=published,
            storage=tmp_path / "ledger.sqlite",
            config=limited(raise_faults=True, exit_patience=0.2),
        )
        client.give_consent()
        assert client.answer(answers).status == "kept"
        wait_until(lambda: server.connections)
        with lasting(0.4):
            assert client.flush(0.5) is False
        with lasting(0):
            client.close()


def test_an_exchange_ends_at_its_deadline_and_the_error_names_it(dripping, published, answers):
    config = limited(attempts=1, exchange_timeout=1)
    with SurveyClient(dripping.url, published.name, config=config) as client:
        with lasting(1), pytest.raises(TransportError) as caught:
            client.fetch()
        assert "within the 1 s of ClientConfig.exchange_timeout" in str(caught.value)
        assert caught.value.retryable
    with SurveyClient(dripping.url, published.name, published=published, config=config) as client:
        with lasting(1), pytest.raises(ReportNotSent) as unsent:
            client.submit(answers)
        assert unsent.value.retryable


@pytest.mark.parametrize("part", PARTS)
def test_an_exchange_over_tls_ends_at_its_deadline(part, published, tmp_path, monkeypatch):
    authority = trustme.CA()
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    monkeypatch.setenv("REQUESTS_CA_BUNDLE", str(tmp_path / "authority.pem"))
    certificate = authority.issue_cert("127.0.0.1")
    config = limited(attempts=1, exchange_timeout=1)
    with (
        DrippingServer(part, pause=0.1, certificate=certificate) as server,
        SurveyClient(server.url, published.name, config=config) as client,
        lasting(1),
        pytest.raises(TransportError, match=r"within the 1 s") as caught,
    ):
        client.fetch()
    assert caught.value.retryable
    wait_until(lambda: server.connections == 1)


@pytest.mark.parametrize("limit", ["wait", "patience"])
def test_a_call_ends_after_its_limit_and_one_exchange(published, limit):
    """The call of a device, for which a person waits, and that of an analyst."""
    config = limited(attempts=9, exchange_timeout=0.4, first_delay=0.1, **{limit: 1})
    with (
        DrippingServer("body", pause=0.05) as server,
        SurveyClient(server.url, published.name, config=config) as client,
        AnalystClient(server.url, "t0ken", config=config) as analyst,
        lasting(0.4),
        pytest.raises(TransportError, match=r"failed \((once|\d times in \d+ s)\)"),
    ):
        (client.fetch if limit == "wait" else analyst.surveys)()
    # Nine exchanges, and the waits between them, would take half a minute.
    assert server.connections < 9


def test_hushpoll_answer_ends_with_an_error_that_names_the_deadline(
    dripping, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(
        "hushpoll_client.cli.answer.AT_A_TERMINAL",
        replace(AT_A_TERMINAL, **UNMET | {"attempts": 1, "exchange_timeout": 1.0}),
    )
    monkeypatch.setattr("sys.stdin", io.StringIO("y\n"))
    link = f"{dripping.url}/s/work-and-health"
    with lasting(1), pytest.raises(SystemExit) as caught:
        main(["answer", link, "--ledger", str(tmp_path / "ledger.sqlite")])
    assert caught.value.code == 4
    assert "did not answer in full within the 1 s" in capsys.readouterr().err


def test_request_of_an_analyst_ends_at_its_deadline(dripping):
    config = limited(attempts=1, exchange_timeout=1)
    with (
        AnalystClient(dripping.url, "t0ken", config=config) as analyst,
        lasting(1),
        pytest.raises(TransportError, match="exchange_timeout"),
    ):
        analyst.surveys()


def test_a_download_may_take_longer_the_more_of_it_arrives(server, transport_of):
    body = bytes(60_000)

    def slowly(handler) -> None:
        handler.send_response(200)
        handler.send_header("Content-Length", str(4 * len(body)))
        handler.send_header("Content-Disposition", 'attachment; filename="x"')
        handler.end_headers()
        for _ in range(4):
            handler.wfile.write(body)
            time.sleep(0.8)

    server.play(slowly)
    transport = transport_of(limited(exchange_timeout=2))
    pieces: list[bytes] = []
    with lasting(2.4):
        assert transport.download("surveys", write=pieces.append) == 240_000
    with DrippingServer("body", pause=0.05) as dripping:
        transport = transport_of(limited(exchange_timeout=1), dripping.url)
        with lasting(1), pytest.raises(TransportError, match="exchange_timeout"):
            transport.download("surveys", write=pieces.append)


def test_a_server_that_reads_no_body_does_not_hold_an_upload(transport_of, monkeypatch):
    # 8 MB, more than the system's buffers take, then have half a second and one more.
    monkeypatch.setattr("hushpoll_client.delivery.transport.SLOWEST_BYTES_PER_SECOND", 8_000_000)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        transport = transport_of(limited(exchange_timeout=0.5), url)
        with lasting(1.5), pytest.raises(TransportError, match="exchange_timeout"):
            transport.post("surveys", body=bytes(8_000_000), media_type="a/b", retry=False)


def test_callers_session_keeps_to_deadlines_unless_its_adapter_is_its_own():
    class Own(requests.adapters.HTTPAdapter):
        """An adapter with ideas of its own."""

    with requests.Session() as session:
        own = Own()
        session.mount("https://own.example.org", own)
        Sessions(session)
        assert isinstance(session.get_adapter("https://polls.example.org"), TimedAdapter)
        assert session.get_adapter("https://own.example.org/s") is own


def test_a_connection_is_reused_within_later_deadlines(server, steps, transport_of):
    server.play(steps.respond(200, b"{}"))
    transport = transport_of(limited(attempts=1, exchange_timeout=2))
    transport.get("surveys")
    time.sleep(2.1)
    assert transport.get("surveys").json() == {}


@pytest.fixture
def transport_of(server):
    transports = []

    def make(config: ClientConfig, url: str = server.url) -> Transport:
        transports.append(Transport(Endpoint.parse(url), config=config))
        return transports[-1]

    yield make
    for transport in transports:
        transport.close()


def failing(times: int, *, retryable: bool = True, wait: float | None = None):
    calls = []

    def call(hint):
        calls.append(hint)
        if len(calls) <= times:
            hint.seconds = wait
            raise TransportError("down", retryable=retryable, status=503, problem={"a": 1})
        return "done"

    return call, calls


def run(call, fake_time, **config):
    return with_retries(
        call, config=ClientConfig(**config), pacing=fake_time.pacing(), request="POST /reports"
    )


@pytest.mark.parametrize(
    ("share", "waits"),
    [(0.0, [1, 2, 4, 8, 15, 15]), (1.0, [2, 4, 8, 16, 30, 30]), (0.5, [1.5, 3, 6, 12, 22.5, 22.5])],
)
def test_waits_double_from_1_to_30_seconds_with_jitter(fake_time, share, waits):
    fake_time.share = share
    call, calls = failing(6)
    assert run(call, fake_time) == "done"
    assert fake_time.slept == waits
    assert len(calls) == 7


def test_the_default_jitter_stays_within_its_bounds():
    pacing, config = Pacing(), ClientConfig()
    drawn = [pacing.delay(config, attempt) for attempt in range(2000)]
    assert all(1 <= seconds <= 30 for seconds in drawn)
    assert len(set(drawn)) > 1900


def test_retry_after_is_a_lower_limit(fake_time):
    call, _ = failing(1, wait=20.0)
    run(call, fake_time)
    call, _ = failing(1, wait=0.2)
    run(call, fake_time)
    assert fake_time.slept == [20.0, 1.0]


def test_a_terminal_failure_is_not_retried(fake_time):
    call, calls = failing(9, retryable=False)
    with pytest.raises(TransportError, match=r"^down$") as caught:
        run(call, fake_time)
    assert not caught.value.retryable
    assert (len(calls), fake_time.slept) == (1, [])


def test_attempts_are_limited_and_counted(fake_time):
    call, calls = failing(9)
    with pytest.raises(TransportError, match=r"3 times in 3 s\): down; try again in 4 s") as caught:
        run(call, fake_time, attempts=3)
    assert (len(calls), fake_time.slept) == (3, [1, 2])
    assert caught.value.retryable
    assert (caught.value.status, caught.value.problem) == (503, {"a": 1})


def test_patience_ends_attempts_before_a_wait_that_would_pass_it(fake_time):
    call, calls = failing(9, wait=3600.0)
    with pytest.raises(TransportError, match=r"failed \(once\).*try again in 3600 s"):
        run(call, fake_time)
    assert (len(calls), fake_time.slept) == (1, [])


def test_no_delay_at_all_is_possible(fake_time):
    call, _ = failing(3)
    run(call, fake_time, first_delay=0, longest_delay=0)
    assert fake_time.slept == [0, 0, 0]


@pytest.mark.parametrize(
    ("header", "seconds"),
    [
        (None, None),
        ("7", 7.0),
        (" 120 ", 120.0),
        ("Tue, 14 Nov 2023 22:13:50 GMT", 30.0),
        ("Tue, 14 Nov 2023 22:13:50 -0000", 30.0),
        ("Tue, 14 Nov 2023 22:00:00 GMT", 0.0),
        ("-5", None),
        ("soon", None),
        ("١٢", None),
        ("9" * 400, 999_999_999_999.0),
    ],
)
def test_retry_after_in_seconds_and_as_a_date(fake_time, header, seconds):
    assert fake_time.pacing().retry_after(header) == seconds


@pytest.mark.parametrize(
    "header",
    [
        *("-5", "1.5", "1e3", "0x10", "\u0663", "\xb2", "soon", "", " ", "NaN", "Infinity", "5, 9"),
        *("Mon, 01 Jan 99999 00:00:00 GMT", "Mon, 99 Xxx 2024 99:99:99 GMT", "Mon,", "," * 99),
        "Mon, 01 Jan 2024 00:00:00 +" + "9" * 40,
    ],
)
def test_an_odd_retry_after_asks_for_nothing(fake_time, header):
    assert not fake_time.pacing().retry_after(header)


def test_a_long_retry_after_is_long(fake_time):
    assert 10**11 < fake_time.pacing().retry_after("9" * 5000) < float("inf")
