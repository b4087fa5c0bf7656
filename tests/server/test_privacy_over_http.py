"""A running server is searched for what came with reports: database, log at DEBUG, metrics."""

from __future__ import annotations

import json
import re
import socket
from pathlib import Path

from sqlalchemy import Date, DateTime, inspect

from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import metadata
from hushpoll_shared.wire import reports as wire
from sample_survey import REPORTS, SURVEYS, bearer, body_of, make_draft, make_report
from served import JSON

# PostgreSQL's log holds megabytes of random numbers, in which five letters or the four bytes of an
# IPv4 address may stand by chance.
MARK = "q9Zk7vT3wX"
ADDRESSES = ("2001:db8:71::b1", "2001:db8:77::9", "198.51.100.178")
HEADERS = {
    "User-Agent": f"{MARK}-agent/1.0",
    "X-Forwarded-For": f"{ADDRESSES[0]}, {ADDRESSES[1]}",
    "Forwarded": f"for={ADDRESSES[2]}",
    "X-Real-IP": ADDRESSES[2],
    "X-Request-Id": f"{MARK}-request",
    "Referer": f"https://{MARK}.example/page",
    "Origin": f"https://{MARK}.example",
    "Cookie": f"session={MARK}-cookie",
    "Accept-Language": f"{MARK}-tongue",
    "Traceparent": f"00-{MARK}",
}
METRICS_TOKEN = "metrics-token-of-this-test"


def send(server, body, token=None):
    shown = {} if token is None else bearer(token)
    data = body if isinstance(body, bytes) else json.dumps(body).encode()
    return server.request(REPORTS, data, **HEADERS, **JSON, **shown)[0]


def send_nonsense(server):
    """No HTTP at all, and HTTP that uvicorn refuses, with the mark in every part."""
    for nonsense in (
        f"{MARK}\r\n\r\n",
        f"GET /{MARK} HTTP/1.1\r\n{MARK} : {MARK}\r\n\r\n",
        f"POST /{MARK} HTTP/1.1\r\nHost: x\r\nContent-Length: {MARK}\r\n\r\n",
    ):
        with server.connect() as connection:
            connection.sendall(nonsense.encode())
            assert b" 400 " in connection.recv(4096)


def test_nothing_of_a_respondent_is_left_anywhere(request, serve, database_url):
    server = serve(
        *("--log-level", "debug", "--log-requests", "true", "--trusted-proxies", "1"),
        *("--metrics-token", METRICS_TOKEN, "--rate-limit-submit", "7"),
        database_url=database_url,
    )
    published = server.publish(make_draft(submission="token"))
    first, second = server.post("/api/v1/surveys/work/tokens", {"count": 2})["tokens"]
    report = make_report(published)
    good = body_of(published, report)
    other = body_of(published, make_report(published, education="low"))
    statuses = [
        send(server, good, first),
        send(server, good, first),  # again
        send(server, {**good, "record": other["record"]}, second),  # another under its id
        send(server, {**good, "record": good["record"][:-4]}, second),  # malformed
        send(server, other, first),  # spent
        send(server, json.dumps(good).encode()[:-5]),  # cut off
        send(server, {**good, MARK: MARK}),
    ]
    assert statuses == [201, 200, 409, 422, 401, 400, 422]
    # More than this address may. The minute that is counted may end meanwhile, and begin anew.
    assert 429 in (send(server, good, second) for _ in range(16))
    assert server.request(f"/{MARK}?{MARK}", **HEADERS)[0] == 404
    assert server.request(f"{SURVEYS}/{MARK.lower()}", **HEADERS)[0] == 404
    send_nonsense(server)
    assert server.counts()["accepted"] == 1
    status, metrics = server.request("/metrics", **bearer(METRICS_TOKEN))
    assert status == 200
    assert b"hushpoll_" in metrics
    secret = server.admin["Authorization"].split("_", 2)[2]
    while_running = {}
    if database_url.startswith("sqlite"):  # PostgreSQL's files come and go
        while_running = data_files(request, database_url)
    server.stop()
    printed, *lines = server.log.splitlines()
    assert printed == f"admin token: {server.admin_tokens()[0]}"
    log = "\n".join(lines)
    check_lines([json.loads(line) for line in lines])
    files = data_files(request, database_url)
    assert any(published.digest.encode() in content for content in files.values())
    shown = {"metrics": metrics, "log": log.encode()}
    stored = {**files, **{f"{name}, while running": one for name, one in while_running.items()}}

    traces = [MARK, MARK.lower(), *ADDRESSES, first, second, good["record"], other["record"]]
    packed = [socket.inet_pton(socket.AF_INET6, one) for one in ADDRESSES[:2]]
    raw = [wire.b64decode(token, field="token") for token in (first, second, secret)]
    for name, content in {**shown, **stored}.items():
        for trace in [*(one.encode() for one in [*traces, secret]), *packed, *raw]:
            assert trace not in content, (name, trace)
    for name, content in shown.items():
        for trace in (good["id"], report.id.hex(), report.record.hex(), METRICS_TOKEN):
            assert trace.encode() not in content, name
        assert b"127.0.0.1" not in content, name
    # The log has the moment of an analyst's request, never that of a submission.
    assert "reports" not in re.sub('"event": "undeclared.*', "", log)


def check_lines(lines):
    """Each line of the log is a JSON object, and none is the web server's own."""
    events = {line["event"] for line in lines}
    assert {"published", "request"} <= events
    assert "library" not in events
    assert all({"event", "level", "timestamp"} <= line.keys() for line in lines)
    assert 404 in {line.get("status") for line in lines}
    assert SURVEYS in {line.get("route") for line in lines}


def data_files(request, database_url):
    """Every file that the database has on disk, by name, with all that was written in it."""
    if database_url.startswith("sqlite"):
        path = Path(database_url.removeprefix("sqlite:///"))
        return {one.name: one.read_bytes() for one in path.parent.glob(path.name + "*")}
    postgres = request.getfixturevalue("postgres")
    postgres.run("CHECKPOINT")
    return {
        str(one.relative_to(postgres.directory)): one.read_bytes()
        for one in postgres.directory.rglob("*")
        if one.is_file() and not one.name.startswith("postmaster.")
    }


# Columns that hold a moment, and whose act it is. A respondent's are kept to the day.
MOMENTS = {
    "survey_versions": {"opens", "closes", "closed_at", "accepts_until"},
    "api_tokens": {"expires_at", "issued_at"},
    "aggregates": {"records_deleted_at"},
    "jobs": {"lease_until", "created_at", "started_at", "finished_at"},
    "counters": {"day"},
    # as fine as the releases are
    "release_days": {"day"},
    "releases": {"released_at"},
    # of analysts who sign in, never of a respondent
    "users": {"created_at"},
    "publications": {"published_at", "taken_back_at"},
    "drafts": {"created_at", "changed_at"},
    "images": {"added_at"},
    "user_sessions": {"created_at", "expires_at", "used_at"},
    # of processes
    "workers": {"alive_until", "started_at"},
}
OF_RESPONDENTS = {"inbox", "sealed_ids", "segments", "respondent_tokens"}


def test_no_table_of_reports_has_a_moment(database_url):
    database = Database(database_url)
    try:
        found = inspect(database.engine)
        for table in found.get_table_names():
            columns = found.get_columns(table)
            assert not any(isinstance(one["type"], Date | DateTime) for one in columns)
            named = {one["name"] for one in columns}
            moments = {
                one for one in named if re.search(r"_at$|_until$|time|day|opens|closes|moment", one)
            }
            assert moments == MOMENTS.get(table, set()), table
            if table in OF_RESPONDENTS:
                assert not moments
        assert set(metadata.tables) >= OF_RESPONDENTS
    finally:
        database.close()
