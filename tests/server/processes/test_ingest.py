"""The process that takes reports, as a real server runs it: what it loads, and what it logs."""

from __future__ import annotations

import json
import signal
import tempfile
import time
from pathlib import Path

import psutil
import pytest

from hushpoll_shared.wire import reports as wire
from served import Process, admin_token, publish


@pytest.fixture
def serve(tmp_path):
    processes = []

    def start(*options):
        processes.append(Process(tmp_path, *options))
        return processes[-1]

    yield start
    for one in processes:
        if one.process.poll() is None:
            one.kill()
            one.wait()


def files_of(process):
    return [one.path for one in psutil.Process(process.pid).memory_maps()]


def test_checking_a_batch_loads_no_compiler(serve, tmp_path, make_draft, make_report):
    """Guards: each ingest process loaded numba, half a second and 60 MB, with its first batch."""
    server = serve()
    (token,) = admin_token(tmp_path)
    published = publish(server, token, make_draft())
    body = wire.pack_reports(published.digest, [make_report(published) for _ in range(20)])
    head = {"Content-Type": wire.REPORTS_MEDIA_TYPE, "Authorization": f"Bearer {token}"}
    assert server.request("/api/v1/surveys/work/reports", body, **head)[0] == 200
    (ingest,) = server.ingest()
    loaded = files_of(ingest)
    assert any("numpy" in path for path in loaded)
    assert [path for path in loaded if "llvmlite" in path or "numba" in path] == []


def test_ready_says_that_the_web_process_is_away(serve):
    """Guards: nothing but failing requests of analysts told that it was."""
    server = serve()
    (web,) = set(psutil.Process(server.process.pid).children()) - set(server.ingest())

    def wait_for(state):
        deadline = time.monotonic() + 60
        while server.request("/ready") != (
            200,
            json.dumps({"status": "ready", "web": state}).encode(),
        ):
            assert time.monotonic() < deadline
            time.sleep(0.1)

    wait_for("ok")
    web.suspend()
    try:
        wait_for("away")
    finally:
        web.resume()
    wait_for("ok")


@pytest.mark.parametrize("prefix", ["hushpoll-web-", "hushpoll-metrics-"])
def test_start_removes_the_folders_of_killed_servers_alone(serve, tmp_path, monkeypatch, prefix):
    """Guards: each kill -9 left a folder in TMPDIR for ever."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as short:
        monkeypatch.setenv("TMPDIR", short)
        folder = Path(short)
        kept, target = folder / f"{prefix}kept", tmp_path / "target"
        for one in (kept, target):
            one.mkdir()
            (one / "file").touch()
        link = folder / f"{prefix}link"
        link.symlink_to(target)
        first = serve("--metrics-token", "x" * 16)
        before = set(folder.glob(f"{prefix}*"))
        (live,) = before - {kept, link}
        first.process.kill()
        first.wait()
        assert live.exists()
        second = serve("--metrics-token", "x" * 16)
        (new,) = set(folder.glob(f"{prefix}*")) - {kept, link}
        assert new != live
        (tmp_path / "other").mkdir()
        third = Process(tmp_path / "other", "--metrics-token", "x" * 16)
        try:
            assert new.exists()
            assert second.request("/api/v1/surveys")[0] == 200
        finally:
            third.kill(signal.SIGTERM)
            third.wait()
        second.kill(signal.SIGTERM)
        assert second.wait() == 0
        assert set(folder.glob(f"{prefix}*")) == {kept, link}
        assert (kept / "file").exists()
        assert (target / "file").exists()
