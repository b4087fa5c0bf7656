"""What the process that takes reports hands on to the web process."""

from __future__ import annotations

import asyncio
import http.client
import logging
import socket
import threading

import httpx
import pytest
import uvicorn

from hushpoll_server.config.settings import Settings
from hushpoll_server.ingest import forwarding as forwarding_module
from hushpoll_server.ingest.application import IngestApplication
from hushpoll_server.ingest.connections import Connections
from hushpoll_server.ingest.forwarding import Forwarding, share_of_web
from hushpoll_server.ingest.requests import Bodies
from hushpoll_server.services.device_services import DeviceServices
from waiting import LONGEST_SECONDS


@pytest.mark.parametrize(
    ("threads", "waiting", "workers", "share"),
    [(32, 256, 1, 288), (32, 256, 4, 72), (32, 256, 5, 57), (1, 0, 8, 1)],
)
def test_workers_share_the_requests_that_the_web_process_takes(threads, waiting, workers, share):
    """Guards: each worker could ask for all of them, and the web process kept them waiting."""
    settings = Settings(threads=threads, queue_requests=waiting, workers=workers)
    assert share_of_web(settings) == share


class Between:
    """The application of an ingest process under uvicorn, before a web process of the test's."""

    def __init__(self, folder, migrated_url, web):
        self.settings = Settings(database_url=migrated_url, metrics_token="metrics-token-of-tests")
        self._path, self._web = str(folder / "web.sock"), web
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = self.listener.getsockname()
        self._started = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._run()))

    def __enter__(self):
        self._thread.start()
        assert self._started.wait(LONGEST_SECONDS)
        return self

    def __exit__(self, *_):
        self.server.should_exit = True
        self._thread.join(LONGEST_SECONDS)

    async def _run(self):
        self.services = DeviceServices(self.settings)
        application = IngestApplication(self.services, httpx.AsyncHTTPTransport(uds=self._path))
        connections = Connections(most=100, head_seconds=20, most_bytes=2**20)
        config = uvicorn.Config(
            application, http=connections.protocol, log_config=None, access_log=False
        )
        self.server = uvicorn.Server(config)
        async with await asyncio.start_unix_server(self._web, self._path):
            serving = asyncio.create_task(self.server.serve(sockets=[self.listener]))
            while not self.server.started:
                await asyncio.sleep(0.01)
            self._started.set()
            await serving
        self.services.stop()


HEADS = {
    "length": b"HTTP/1.1 200 OK\r\nContent-Length: 1000\r\n\r\nhalf",
    "chunks": b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n4\r\nhalf\r\n",
}


@pytest.mark.parametrize("framing", HEADS)
@pytest.mark.sqlite
def test_answer_that_breaks_off_ends_the_connection(tmp_path, database_url, debug_log, framing):
    """Guards: the error reached uvicorn, which logged a traceback."""

    async def web(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(HEADS[framing])
        await writer.drain()
        writer.close()

    with Between(tmp_path, database_url, web) as between:
        connection = http.client.HTTPConnection(*between.address, timeout=LONGEST_SECONDS)
        connection.request("GET", "/api/v1/surveys")
        answer = connection.getresponse()
        with pytest.raises(http.client.IncompleteRead) as cut:
            answer.read()
        assert cut.value.partial == b"half"
        connection.close()
        counted = between.services.metrics.exposition()[0].decode()
    assert "hushpoll_answers_broken_off_total 1.0" in counted
    errors = [one.getMessage() for one in debug_log.records if one.levelno >= logging.WARNING]
    assert len(errors) == 1, errors
    assert '"event": "answer-broken-off"' in errors[0]
    assert "Traceback" not in debug_log.text


@pytest.mark.sqlite
def test_answer_whose_client_has_left_is_read_no_further(tmp_path, database_url):
    """Guards: an export of any size was read to its end for nobody."""
    ended = threading.Event()

    async def web(reader, writer):
        await reader.readuntil(b"\r\n\r\n")
        writer.write(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        try:
            while not stopping.is_set():
                writer.write(b"4\r\nmore\r\n")
                await writer.drain()
                await asyncio.sleep(0.001)
        except OSError:
            ended.set()
        finally:
            writer.close()

    stopping = threading.Event()
    with Between(tmp_path, database_url, web) as between:
        with socket.create_connection(between.address, timeout=LONGEST_SECONDS) as client:
            client.sendall(b"GET /api/v1/surveys HTTP/1.1\r\nHost: x\r\n\r\n")
            assert client.recv(4096)
        try:
            assert ended.wait(LONGEST_SECONDS)
        finally:
            stopping.set()


def test_web_process_is_starting_until_it_has_answered_once(monkeypatch):
    answering = [False, True, False]

    def answer(request):
        if answering.pop(0):
            return httpx.Response(200)
        raise httpx.ConnectError("refused", request=request)

    async def states(times):
        forwarding = Forwarding(
            httpx.MockTransport(answer), most=1, max_body_bytes=1, bodies=Bodies()
        )
        return [await forwarding.state() for _ in range(times)]

    assert asyncio.run(states(3)) == ["starting", "ok", "away"]
    monkeypatch.setattr(forwarding_module, "START_SECONDS", 0.0)
    answering.append(False)
    assert asyncio.run(states(1)) == ["away"]
