"""What ``--out`` replaces, and what it leaves as it is."""

from __future__ import annotations

import os
import threading

import click
import pytest
from click.testing import CliRunner

from hushpoll_shared.cli.out_file import out_option, replacing, write_text
from hushpoll_shared.cli.terminal import reports_errors


def test_failed_writing_leaves_the_old_file_and_no_other(tmp_path):
    out = tmp_path / "out.csv"
    out.write_text("old")

    def interrupted() -> None:
        with replacing(out) as file:
            file.write(b"new")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()
    assert out.read_text() == "old"
    assert list(tmp_path.iterdir()) == [out]


def test_link_stays_and_its_file_is_replaced(tmp_path):
    file, link = tmp_path / "file.csv", tmp_path / "link.csv"
    file.write_text("old")
    link.symlink_to(file.name)
    write_text(link, "new")
    assert link.is_symlink()
    assert file.read_text() == "new"


def test_pipe_is_written_into_and_stays_a_pipe(tmp_path):
    pipe, read = tmp_path / "pipe", []
    os.mkfifo(pipe)
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_text(pipe, "all of it")
    reader.join()
    assert read == [b"all of it"]
    assert pipe.is_fifo()


def test_full_disk_names_the_file_that_was_to_be_written(tmp_path):
    link = tmp_path / "full.csv"
    link.symlink_to("/dev/full")
    with pytest.raises(OSError, match="No space left on device") as caught:
        write_text(link, "all of it")
    assert caught.value.filename == str(link)
    assert link.is_char_device()


def test_folder_that_cannot_be_written_names_the_file_of_the_user(tmp_path, monkeypatch):
    def refused(**_: object) -> None:
        raise PermissionError(13, "Permission denied", str(tmp_path / "out.csvab12"))

    monkeypatch.setattr("hushpoll_shared.cli.out_file.NamedTemporaryFile", refused)
    with pytest.raises(PermissionError) as caught:
        write_text(tmp_path / "out.csv", "")
    assert caught.value.filename == str(tmp_path / "out.csv")


@pytest.mark.parametrize("name", ["", "-"])
def test_name_that_names_no_file_is_refused(name):
    @click.command()
    @out_option("File.")
    @reports_errors
    def save(out):
        write_text(out, "")

    result = CliRunner().invoke(save, ["--out", name])
    assert result.exit_code != 0
    assert f"--out is {name!r}, which names no file" in str(result.exception) + result.output
