"""The file of the admin token is private, and untouched until there is a token."""

from __future__ import annotations

import pytest

from hushpoll_server.processes.files import private_file


def test_a_new_file_is_private_and_kept_once_written(tmp_path):
    path = tmp_path / "token"
    with private_file(path) as write:
        assert path.stat().st_mode & 0o777 == 0o600
        write("secret\n")
    assert path.read_text() == "secret\n"


def test_a_new_file_is_removed_if_nothing_was_written(tmp_path):
    with private_file(tmp_path / "token"):
        pass
    assert list(tmp_path.iterdir()) == []


def test_an_old_file_keeps_its_content_until_another_replaces_it(tmp_path):
    path = tmp_path / "token"
    path.write_text("a longer token of the first start\n")
    path.chmod(0o644)
    with private_file(path):
        pass
    assert path.read_text() == "a longer token of the first start\n"
    assert path.stat().st_mode & 0o777 == 0o600
    with private_file(path) as write:
        write("secret\n")
    assert path.read_text() == "secret\n"


def test_a_file_that_cannot_be_made_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError), private_file(tmp_path / "absent" / "token"):
        pytest.fail("there is no such directory")
