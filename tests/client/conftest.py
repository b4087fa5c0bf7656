"""A real HTTP server on loopback that behaves as it is told, step by step."""

from __future__ import annotations

import copy
import json
import socket
import struct
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from hushpoll_client import ClientConfig, SurveyClient
from hushpoll_client.delivery.timing import Pacing
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.survey.published import Published
from waiting import LONGEST_SECONDS


@pytest.fixture(autouse=True)
def _long_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """No call gives up on its server because the machine is busy; tests of the wait give theirs."""
    defaults = ClientConfig.__init__.__kwdefaults__
    monkeypatch.setitem(defaults, "wait", LONGEST_SECONDS)
    monkeypatch.setitem(SurveyClient.__init__.__kwdefaults__, "config", ClientConfig())


DRAFT = {
    "name": "work-and-health",
    "version": 1,
    "title": "Work and health",
    "epsilon": "4.0",
    "split": {"weights": {"gender": 2, "age": 1, "country": 1}},
    "protocol": "SS",
    "attributes": [
        {
            "name": "gender",
            "role": "sensitive",
            "categories": ["Female", "Male"],
            "missing": "Prefer not to say",
            "question": "Your gender?",
        },
        {"name": "age", "role": "sensitive", "range": [17, 90]},
        {
            "name": "country",
            "role": "sensitive",
            "protocol": "OLH",
            "categories": ["Chile", "India", "Norway", "Peru"],
        },
        {"name": "education", "role": "plain", "categories": ["school", "college"]},
        {
            "name": "income",
            "role": "target",
            "categories": ["<=26000", ">26000"],
            "positive": ">26000",
        },
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
}
ANSWERS = {
    "gender": "Female",
    "age": "44",
    "country": "Norway",
    "education": "college",
    "income": ">26000",
}


@pytest.fixture
def draft() -> dict:
    return copy.deepcopy(DRAFT)


@pytest.fixture
def published() -> Published:
    return Manifest.from_dict(DRAFT).resolve()


@pytest.fixture
def answers() -> dict[str, str]:
    return dict(ANSWERS)


@dataclass(frozen=True)
class Seen:
    method: str
    path: str
    headers: dict[str, str]
    body: bytes
    port: int


Step = Callable[[BaseHTTPRequestHandler], None]


@dataclass
class ScriptedServer:
    """Plays one step per request; the last step is repeated."""

    url: str
    steps: list[Step] = field(default_factory=list)
    seen: list[Seen] = field(default_factory=list)

    def play(self, *steps: Step) -> None:
        self.steps[:] = steps
        self.seen.clear()

    def next_step(self) -> Step:
        return self.steps.pop(0) if len(self.steps) > 1 else self.steps[0]


def respond(
    status: int,
    body: bytes | dict | list = b"",
    media_type: str | None = None,
    headers: dict[str, str] | None = None,
) -> Step:
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    media = media_type or ("application/octet-stream" if body == b"" else "application/json")

    def step(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        handler.send_header("Content-Type", media)
        handler.send_header("Content-Length", str(len(content)))
        handler.send_header("Content-Disposition", "attachment")  # as the server's files have it
        for name, value in (headers or {}).items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(content)

    return step


def problem(code: str, headers: dict[str, str] | None = None, **extra: object) -> Step:
    from hushpoll_shared.wire.problems import PROBLEM_MEDIA_TYPE, problem_document

    document = problem_document(code, detail="as scripted", **extra)
    return respond(document["status"], document, PROBLEM_MEDIA_TYPE, headers)


def drop(handler: BaseHTTPRequestHandler) -> None:
    """Close without an answer."""
    handler.close_connection = True


def reset(handler: BaseHTTPRequestHandler) -> None:
    """Reset the connection."""
    linger = struct.pack("ii", 1, 0)
    handler.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    handler.close_connection = True


def break_off(handler: BaseHTTPRequestHandler) -> None:
    """Promise more than is sent."""
    handler.send_response(201)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    handler.wfile.write(b"{")
    handler.close_connection = True


@pytest.fixture
def server() -> Iterator[ScriptedServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        timeout = 10

        def serve(self) -> None:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
            port = self.client_address[1]
            scripted.seen.append(Seen(self.command, self.path, dict(self.headers), body, port))
            scripted.next_step()(self)

        do_GET = do_POST = serve  # noqa: N815

        def log_message(self, *args: object) -> None:
            pass

    httpd = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    httpd.daemon_threads = False
    httpd.block_on_close = False
    scripted = ScriptedServer(f"http://127.0.0.1:{httpd.server_address[1]}")
    thread = threading.Thread(target=httpd.serve_forever, args=(0.01,))
    thread.start()
    yield scripted
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@dataclass
class FakeTime:
    """Time that passes only by sleeping."""

    moment: float = 0.0
    slept: list[float] = field(default_factory=list)
    share: float = 0.0

    def sleep(self, seconds: float) -> None:
        self.slept.append(seconds)
        self.moment += seconds

    def uniform(self, low: float, high: float) -> float:
        return low + self.share * (high - low)

    def now(self) -> datetime:
        return datetime.fromtimestamp(1_700_000_000 + self.moment, UTC)

    def pacing(self) -> Pacing:
        return Pacing(
            sleep=self.sleep, monotonic=lambda: self.moment, now=self.now, uniform=self.uniform
        )


@pytest.fixture
def fake_time() -> FakeTime:
    return FakeTime()


@pytest.fixture
def steps() -> object:
    """What `ScriptedServer.play` can play."""

    class Steps:
        respond = staticmethod(respond)
        problem = staticmethod(problem)
        drop = staticmethod(drop)
        reset = staticmethod(reset)
        break_off = staticmethod(break_off)

    return Steps
