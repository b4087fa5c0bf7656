"""Temporary folders of servers: those of killed ones are removed, and no others."""

from __future__ import annotations

import tempfile
from pathlib import Path

from sample_survey import SURVEYS

PREFIXES = ("hushpoll-web-", "hushpoll-metrics-")


def test_start_removes_the_folders_of_killed_servers_alone(serve, tmp_path, monkeypatch):
    """Guards: each kill -9 left a folder in TMPDIR for ever."""
    with tempfile.TemporaryDirectory(prefix="t", dir="/tmp") as short:
        monkeypatch.setenv("TMPDIR", short)
        folder = Path(short)
        target = tmp_path / "target"
        kept = [folder / f"{prefix}kept" for prefix in PREFIXES]
        links = [folder / f"{prefix}link" for prefix in PREFIXES]
        for path in (*kept, target):
            path.mkdir()
            (path / "file").touch()
        for link in links:
            link.symlink_to(target)
        options = ("--metrics-token", "x" * 16)

        def folders():
            """The servers' folders, one of each kind for each server."""
            return [
                path
                for prefix in PREFIXES
                for path in sorted(folder.glob(f"{prefix}*"))
                if path not in (*kept, *links)
            ]

        def kinds(paths):
            return [path.name[: path.name.rindex("-") + 1] for path in paths]

        first = serve(*options)
        live = folders()
        assert kinds(live) == [*PREFIXES]
        first.process.kill()
        first.wait()
        assert all(path.exists() for path in live)
        second = serve(*options)
        new = folders()
        assert kinds(new) == [*PREFIXES]
        assert not set(new) & set(live)
        (tmp_path / "other").mkdir()
        third = serve(*options, directory=tmp_path / "other")
        assert all(path.exists() for path in new)
        assert second.request(SURVEYS)[0] == 200
        third.stop()
        second.stop()
        assert folders() == []
        assert all((path / "file").exists() for path in (*kept, target))
        assert all(link.is_symlink() for link in links)
