"""Temporary folders of servers: those of killed ones are removed, and no others."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from sample_survey import SURVEYS


@pytest.mark.parametrize("prefix", ["hushpoll-web-", "hushpoll-metrics-"])
def test_start_removes_the_folders_of_killed_servers_alone(serve, tmp_path, monkeypatch, prefix):
    """Guards: each kill -9 left a folder in TMPDIR for ever."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as short:
        monkeypatch.setenv("TMPDIR", short)
        folder = Path(short)
        kept, target = folder / f"{prefix}kept", tmp_path / "target"
        for path in (kept, target):
            path.mkdir()
            (path / "file").touch()
        link = folder / f"{prefix}link"
        link.symlink_to(target)
        options = ("--metrics-token", "x" * 16)

        def folders():
            return set(folder.glob(f"{prefix}*")) - {kept, link}

        first = serve(*options)
        (live,) = folders()
        first.process.kill()
        first.wait()
        assert live.exists()
        second = serve(*options)
        (new,) = folders()
        assert new != live
        (tmp_path / "other").mkdir()
        third = serve(*options, directory=tmp_path / "other")
        assert new.exists()
        assert second.request(SURVEYS)[0] == 200
        third.stop()
        second.stop()
        assert folders() == set()
        assert (kept / "file").exists()
        assert (target / "file").exists()
