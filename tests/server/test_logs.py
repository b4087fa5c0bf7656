"""What is logged of requests, and that nothing else ever is."""

from __future__ import annotations

import io
import json
import logging
import threading

import pytest

from hushpoll_server import logs

MARK = "x7Qz"
HEADERS = {
    "User-Agent": f"{MARK}-agent",
    "X-Forwarded-For": "203.0.113.77",
    "Referer": f"https://{MARK}.example/",
    "X-Request-Id": f"{MARK}-id",
}


def lines(records):
    return [json.loads(one.message) for one in records if one.name.startswith("hushpoll_server")]


@pytest.mark.sqlite
def test_a_request_is_one_line_without_its_path_and_a_submission_is_none(make_site, debug_log):
    site = make_site(LOG_REQUESTS=True)
    published = site.publish()
    site.send(published)
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
        assert one["seconds"] >= 0
    assert MARK not in debug_log.text


@pytest.mark.sqlite
def test_requests_are_not_logged_unless_asked(make_site, debug_log):
    make_site().get("/api/v1/surveys")
    assert not [one for one in lines(debug_log.records) if one["event"] == "request"]


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


def test_exception_that_ends_a_thread_is_logged_by_type_and_place(to_stderr):
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
