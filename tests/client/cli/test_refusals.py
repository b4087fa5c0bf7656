"""What a command says where a server refuses its token, is no server of ours, or is not there."""

from __future__ import annotations

import json
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from hushpoll_client.cli import options
from hushpoll_client.cli.commandline import main
from hushpoll_client.config import ClientConfig
from hushpoll_shared.wire.problems import PROBLEM_MEDIA_TYPE, problem_document

_UNKNOWN = problem_document(
    "unauthorized",
    detail="this needs a bearer token that is known; send it as 'Authorization: Bearer <token>'",
    field="Authorization",
)


class Answers(BaseHTTPRequestHandler):
    """Refuses every token; under ``/page`` a network's login, under ``/proxy`` a proxy's 401."""

    def do_GET(self) -> None:
        if self.path.startswith("/page"):
            self._send(200, "text/html", b"<!doctype html><title>Login</title>")
        elif self.path.startswith("/proxy"):
            self._send(401, "text/html", b"<!doctype html><title>Sign in to the proxy</title>")
        else:
            self._send(401, PROBLEM_MEDIA_TYPE, json.dumps(_UNKNOWN).encode())

    def _send(self, status: int, media_type: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", media_type)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None: ...


@pytest.fixture(scope="module")
def url() -> Iterator[str]:
    with ThreadingHTTPServer(("127.0.0.1", 0), Answers) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


@pytest.fixture
def call(capsys, monkeypatch):
    monkeypatch.setattr(options, "INTERACTIVE", ClientConfig(attempts=1))
    monkeypatch.setenv("HUSHPOLL_TOKEN", "hp_x_y")

    def call(*arguments: str) -> tuple[int, str]:
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out, err = capsys.readouterr()
        assert out == ""
        return caught.value.code, err

    return call


@pytest.mark.parametrize("arguments", [("token", "list"), ("survey", "list"), ("job", "list")])
def test_a_refused_token_is_told_in_the_words_of_the_command_line(call, url, arguments):
    code, err = call(*arguments, "--url", url)
    assert code == 1
    assert err.startswith("Error: the server does not take this token (HTTP 401): ")
    assert "give another one with --token, or as HUSHPOLL_TOKEN" in err
    assert "Bearer" not in err
    assert "Remedy" not in err


def test_a_proxy_that_asks_for_a_password_is_no_refusal_of_the_token(call, url):
    code, err = call("survey", "list", "--url", f"{url}/proxy")
    assert code == 1
    assert "(HTTP 401, text/html) is not a hushpoll server's" in err
    assert "token" not in err


def test_an_address_of_no_server_is_told_with_what_to_check(call):
    code, err = call("token", "list", "--url", "http://127.0.0.1:9")
    assert code == 4
    assert err.endswith("Check the address (--url or HUSHPOLL_URL), and that the server runs\n")


@pytest.mark.parametrize(
    "arguments",
    [
        ("survey", "show", "x"),
        ("estimate", "x", "--version", "1"),
        ("export", "x", "--version", "1", "--out", "x.records"),
        ("answer", "{url}/s/x"),
    ],
)
def test_a_page_in_place_of_an_answer_is_no_fault_of_a_manifest(
    call, url, arguments, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUSHPOLL_LEDGER", str(tmp_path / "ledger.sqlite"))
    monkeypatch.setenv("HUSHPOLL_URL", f"{url}/page")
    code, err = call(*(word.format(url=f"{url}/page") for word in arguments))
    # What is not the server's own answer may be a network's page, which ends sooner or later.
    kept_trying = arguments[0] == "answer"
    assert code == (4 if kept_trying else 1)
    assert kept_trying or ("a hushpoll server's" in err and "check" in err)
    assert "correct it there" not in err
