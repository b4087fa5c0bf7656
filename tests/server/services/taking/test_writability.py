"""A server whose database takes no writes says so, goes on reading, and recovers by itself."""

from __future__ import annotations

import json
import resource
import time

import psutil
import pytest

from hushpoll_shared.wire import reports as wire
from served import Process, admin_token, publish, send


@pytest.fixture
def serve(tmp_path):
    servers = []

    def start(**options):
        servers.append(Process(tmp_path, **options))
        return servers[-1]

    yield start
    for server in servers:
        if server.process.poll() is None:
            server.kill()
            server.wait()


def codes(server):
    status, body = server.request("/ready")
    assert status in (200, 503)
    return [] if status == 200 else [one["code"] for one in json.loads(body)["reasons"]]


def becomes(expected, server):
    deadline = time.monotonic() + 60
    while (found := codes(server)) != expected:
        assert time.monotonic() < deadline, found
        time.sleep(0.1)


def reads(server, token, status=200):
    assert server.request("/health")[0] == 200
    assert server.request("/api/v1/surveys/work")[0] == 200
    bearer = {"Authorization": f"Bearer {token}"}
    path = "/api/v1/surveys/work/versions/1"
    assert server.request(f"{path}/counts", **bearer)[0] == 200
    assert server.request(f"{path}/estimates", **bearer)[0] == status


def test_a_file_that_may_not_grow_is_not_ready_until_it_may(
    serve, tmp_path, make_draft, make_report
):
    """Guards: /ready asked the database to read alone, and a balancer kept sending."""
    server = serve()
    (token,) = admin_token(tmp_path)
    published = publish(server, token, make_draft(minimum_batch=3))
    for _ in range(4):
        assert send(server, published, make_report(published))[0] == 201
    reads(server, token)
    (worker,) = server.ingest()
    assert codes(server) == []
    worker.rlimit(psutil.RLIMIT_FSIZE, (4096, resource.RLIM_INFINITY))
    becomes(["writing"], server)  # before any report is lost on it
    for _ in range(4):
        assert send(server, published, make_report(published))[0] == 503
        assert codes(server) == ["writing"]
    time.sleep(1.1)
    assert codes(server) == ["writing"]
    reads(server, token)
    worker.rlimit(psutil.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
    becomes([], server)
    assert send(server, published, make_report(published))[0] == 201
    assert b"stores nothing" not in server.request("/ready")[1]
    log = (tmp_path / "stderr.txt").read_text()
    assert log.count('"event": "nothing-can-be-stored"') == 1
    assert log.count('"event": "storing-works-again"') == 1


def test_a_read_only_file_is_not_ready_and_is_read(serve, tmp_path, make_draft, make_report):
    server = serve()
    (token,) = admin_token(tmp_path)
    published = publish(server, token, make_draft(minimum_batch=3))
    for _ in range(4):
        assert send(server, published, make_report(published))[0] == 201
    server.kill()
    server.wait()
    url = f"sqlite:///file:{tmp_path}/hushpoll.sqlite?mode=ro&uri=true"
    server = serve(database_url=url)
    becomes(["writing"], server)
    assert send(server, published, make_report(published))[0] == 503
    assert codes(server) == ["writing"]
    # What waits is not sealed, and so not released.
    reads(server, token, status=409)


@pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)
def test_a_postgresql_that_is_read_only_is_not_ready_until_it_is_not(site, postgres, make_report):
    published = site.publish()
    site.fill(published, 4)

    def becomes(status, codes):
        deadline = time.monotonic() + 60
        while (answer := site.get("/ready", headers={})).status_code != status:
            assert time.monotonic() < deadline
            time.sleep(0.1)
        assert [one["code"] for one in answer.json.get("reasons", [])] == codes

    def set_to(value):
        postgres.run(f"ALTER SYSTEM SET default_transaction_read_only = {value}")
        postgres.run("SELECT pg_reload_conf()")

    becomes(200, [])
    set_to("on")
    try:
        becomes(503, ["writing"])
        path = "/api/v1/surveys/work/versions/1"
        assert site.get(f"{path}/counts").status_code == 200
        assert site.get(f"{path}/estimates").status_code in (200, 409)
        # What an analyst changes is refused in the same words as a report.
        answer = site.post("/api/v1/tokens", json={"scopes": ["read"]})
        assert site.problem(answer) == (503, "unavailable", None)
        report = wire.encode_report_json(published.digest, make_report(published))
        assert site.problem(site.send("work", report)) == (503, "unavailable", None)
    finally:
        set_to("DEFAULT")
    becomes(200, [])
    site.fill(published, 4)
