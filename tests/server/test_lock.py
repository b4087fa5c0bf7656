"""One server per database file."""

from __future__ import annotations

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.store import lock
from hushpoll_server.store.lock import only_server


@pytest.fixture(autouse=True)
def _no_wait(monkeypatch):
    monkeypatch.setattr(lock, "WAIT_SECONDS", 0.0)


def test_a_database_has_one_server_by_whatever_name(tmp_path):
    url = f"sqlite:///{tmp_path}/one.sqlite"
    with only_server(url):
        (tmp_path / "other.sqlite").symlink_to(tmp_path / "one.sqlite")
        for other in (
            url,
            f"sqlite:///{tmp_path}/other.sqlite",
            f"sqlite:///file:{tmp_path}/one.sqlite?uri=true",
        ):
            with (
                pytest.raises(InvalidParameter, match="another hushpoll serve is using"),
                only_server(other),
            ):
                pytest.fail("it is locked")
        with only_server(f"sqlite:///{tmp_path}/two.sqlite"):
            pass
    with only_server(url):
        pass
    assert (tmp_path / "one.sqlite-lock").stat().st_mode & 0o777 == 0o600


def test_a_lock_that_cannot_be_made_is_refused(tmp_path):
    (tmp_path / "one.sqlite-lock").mkdir()
    with (
        pytest.raises(InvalidParameter, match=r"one\.sqlite-lock"),
        only_server(f"sqlite:///{tmp_path}/one.sqlite"),
    ):
        pytest.fail("its lock is a directory")
