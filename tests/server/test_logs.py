"""What is logged of requests, and that nothing else ever is."""

from __future__ import annotations

import io
import json
import logging
import signal
import socket
import threading

import pytest

from hushpoll_server import logs
from hushpoll_shared.wire import reports as wire
from served import Process, publish

MARK = "x7Qz"
HEADERS = {
    "User-Agent": f"{MARK}-agent",
    "X-Forwarded-For": "203.0.113.77",
    "Referer": f"https://{MARK}.example/",
    "X-Request-Id": f"{MARK}-id",
}


def lines(records):
    return [json.loads(one.message) for one in records if one.name.startswith("hushpoll_server")]


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_a_request_is_one_line_without_its_path_and_a_submission_is_none(
    make_site, make_report, debug_log
):
    site = make_site(LOG_REQUESTS=True)
    published = site.publish()
    site.send("work", wire.encode_report_json(published.digest, make_report(published)))
    site.get(f"/api/v1/surveys/work?{MARK}=1", headers=HEADERS)
    answer = site.get(f"/{MARK}", headers=HEADERS)
    found = [one for one in lines(debug_log.records) if one["event"] == "request"]
    assert [(one["method"], one["route"], one["status"]) for one in found] == [
        ("POST", "/api/v1/surveys", 201),
        ("GET", "/api/v1/surveys/<name>", 200),
        ("GET", "none", 404),
    ]
    assert found[-1]["request_id"] == answer.headers["X-Request-Id"]
    for one in found:
        assert set(one) == {
            "event", "level", "method", "request_id", "route", "seconds", "status", "timestamp",
        }  # fmt: skip
        assert 0 <= one["seconds"] < 60
    assert MARK not in debug_log.text


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)
def test_requests_are_not_logged_unless_asked(make_site, debug_log):
    make_site().get("/api/v1/surveys")
    assert not [one for one in lines(debug_log.records) if one["event"] == "request"]


def test_everything_on_standard_error_is_a_line_of_json_and_tells_nothing(
    tmp_path, make_draft, make_report
):
    """Everything on at DEBUG, well-formed and malformed requests, and a stop."""
    token_file = tmp_path / "token"
    server = Process(
        tmp_path,
        *("--admin-token-file", str(token_file), "--log-level", "debug"),
        *("--log-requests", "true", "--metrics-token", f"{MARK}-metrics-token"),
    )
    try:
        token = token_file.read_text().strip()
        published = publish(server, token, make_draft())
        report = make_report(published)
        body = wire.encode_report_json(published.digest, report)
        for document in (body, {**body, MARK: MARK}, [MARK]):
            server.request(
                f"/api/v1/surveys/work/reports?{MARK}",
                json.dumps(document).encode(),
                **{**HEADERS, "Content-Type": "application/json"},
            )
        server.request("/metrics", Authorization=f"Bearer {MARK}-metrics-token")
        server.request(f"/{MARK}", **HEADERS)
        host, _, port = server.url.removeprefix("http://").partition(":")
        for raw in (
            b"GET /x7Qz HTTP/1.1\r\nHost: x\r\nBad Name: x7Qz\r\n\r\n",
            b"x7Qz x7Qz x7Qz\r\n\r\n",
            b"POST /x7Qz HTTP/1.1\r\nHost: x\r\nContent-Length: x7Qz\r\n\r\n",
        ):
            with socket.create_connection((host, int(port)), timeout=30) as connection:
                connection.sendall(raw)
                assert b" 400 " in connection.recv(4096)
    finally:
        server.kill(signal.SIGTERM)
        assert server.wait() == 0
    text = (tmp_path / "stderr.txt").read_text()
    said, *rest = text.splitlines()
    assert said == f"admin token written to {token_file}"
    found = [json.loads(line) for line in rest]
    events = {one["event"] for one in found}
    assert {"published", "request"} <= events
    assert "library" not in events
    assert all({"event", "level", "timestamp"} <= set(one) for one in found)
    routes = [one.get("route") for one in found]
    assert "/api/v1/surveys" in routes
    assert "/api/v1/surveys/<name>/reports" not in routes
    for trace in (MARK, "127.0.0.1", "203.0.113", token, body["record"], body["id"]):
        assert trace not in text, trace
    assert report.record.hex() not in text


@pytest.fixture
def to_stderr(monkeypatch):
    """The log as the commands set it up, on a stream of the test's."""
    stream = io.StringIO()
    monkeypatch.setattr("sys.stderr", stream)
    monkeypatch.setattr(threading, "excepthook", threading.excepthook)
    ours, root = logging.getLogger(logs.ROOT), logging.getLogger()
    kept = (ours.handlers[:], ours.level, ours.propagate, root.handlers[:])
    logs.to_stderr("info")
    yield stream
    logging.captureWarnings(False)
    ours.handlers[:], ours.level, ours.propagate, root.handlers[:] = kept
    ours.setLevel(ours.level)


def test_of_other_libraries_the_place_is_kept_and_the_words_are_not(to_stderr):
    try:
        raise ValueError(MARK)
    except ValueError:
        logging.getLogger("some.library").exception("%s failed", MARK)
    logging.getLogger("some.library").debug("%s", MARK)
    text = to_stderr.getvalue()
    (found,) = map(json.loads, text.splitlines())
    assert MARK not in text
    assert found.pop("timestamp").endswith("+00:00")
    assert found.pop("where").rpartition(":")[0] == __file__
    assert found == {
        "event": "library", "logger": "some.library", "level": "error", "error": "ValueError",
    }  # fmt: skip


def test_what_ends_a_thread_is_told_by_type_and_place(to_stderr):
    def fail():
        raise KeyError(MARK)

    thread = threading.Thread(target=fail, name="some-thread")
    thread.start()
    thread.join()
    (found,) = map(json.loads, to_stderr.getvalue().splitlines())
    assert (found["event"], found["thread"], found["error"]) == (
        "thread-ended", "some-thread", "KeyError",
    )  # fmt: skip
    assert found["where"][-1].endswith(" fail")
    assert MARK not in to_stderr.getvalue()
