"""The process that takes reports, as a real server runs it: what it loads, and what it tells."""

from __future__ import annotations

import psutil
import pytest

from hushpoll_shared.wire import reports as wire
from sample_survey import REPORTS, make_draft, make_report
from served import Process
from waiting import wait_until


@pytest.fixture(scope="module")
def server(tmp_path_factory):
    with Process(tmp_path_factory.mktemp("ingest")) as running:
        yield running


def test_checking_a_batch_loads_no_compiler(server):
    """Guards: each ingest process loaded numba, half a second and 60 MB, with its first batch."""
    published = server.publish(make_draft())
    body = wire.pack_reports(published.digest, [make_report(published) for _ in range(20)])
    head = {"Content-Type": wire.REPORTS_MEDIA_TYPE, **server.admin}
    assert server.request(REPORTS, body, **head)[0] == 200
    (ingest,) = server.ingest()
    loaded = [file.path for file in psutil.Process(ingest.pid).memory_maps()]
    assert any("numpy" in path for path in loaded)
    assert [path for path in loaded if "llvmlite" in path or "numba" in path] == []


def test_ready_says_that_the_web_process_is_away(server):
    """Guards: nothing but failing requests of analysts told that it was."""
    web = server.web()

    def wait_for(state):
        wait_until(lambda: server.get("/ready")["web"] == state, pause=0.1)

    wait_for("ok")
    web.suspend()
    try:
        wait_for("away")
    finally:
        web.resume()
    wait_for("ok")
