"""Text files and secrets: one encoding, no mark, no end of a line."""

from __future__ import annotations

import json

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.named_values import named_values
from hushpoll_shared.reading.text_files import read_document, read_secret, read_text, word

MARK = b"\xef\xbb\xbf"
SECRET = "correct-horse-battery"


@pytest.mark.parametrize("mark", [b"", MARK])
@pytest.mark.parametrize("end", [b"", b"\n", b"\r\n", b"\r", b"\n\n"])
def test_a_secret_is_the_line_without_mark_and_end(tmp_path, mark, end):
    path = tmp_path / "password"
    path.write_bytes(mark + SECRET.encode() + end)
    assert read_secret(path, field="password_file") == SECRET
    path.write_bytes(mark + b" p\xc3\xa4ss " + end)
    assert read_secret(path, field="password_file") == " päss "


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "has no lines of text; write the secret, and nothing else, into its only line"),
        (MARK + b"\r\n", "has no lines of text"),
        (b"one\ntwo\n", "has 2 lines of text"),
        (b"\nsecret\n", "has 2 lines of text"),
        (b"p\0", "is no UTF-8 text .byte 1 is 0x00."),
        (b"p\xe4ss\n", "is no UTF-8 text .byte 1 is 0xe4.; write the secret"),
        ("pass\n".encode("utf-16"), "is no UTF-8 text, but text in UTF-16 .byte 0 is 0xff."),
    ],
)
def test_what_is_no_secret_is_refused(tmp_path, content, words):
    path = tmp_path / "password"
    path.write_bytes(content)
    with pytest.raises(InvalidParameter, match=words) as caught:
        read_secret(path, field="password_file")
    assert str(path) in str(caught.value)
    assert SECRET not in str(caught.value)


@pytest.mark.parametrize("ending", ["json", "yaml"])
def test_a_document_is_read_without_its_mark(tmp_path, ending):
    path = tmp_path / f"survey.{ending}"
    path.write_bytes(MARK + b'{"name": "clinic"}')
    assert read_document(path, field="path", noun="the manifest") == {"name": "clinic"}
    path.write_bytes('{"name": "clinic"}'.encode("utf-16"))
    with pytest.raises(InvalidParameter, match="but text in UTF-16") as caught:
        read_document(path, field="path", noun="the manifest")
    assert str(caught.value).startswith(str(path))


def test_parameters_are_read_without_a_mark_and_numbers_by_the_one_rule(tmp_path):
    path = tmp_path / "params.json"
    path.write_bytes(MARK + json.dumps({"max_depth": 5}).encode())
    assert named_values([str(path), "rate=.5", "leaves=3", "n=1_5", "x=nan"]) == {
        "max_depth": 5, "rate": 0.5, "leaves": 3, "n": "1_5", "x": "nan",
    }  # fmt: skip


def test_a_file_has_a_largest_size(tmp_path):
    path = tmp_path / "text"
    path.write_bytes(b"x" * 11)
    assert read_text(path, field="notes", most=11) == "x" * 11
    with pytest.raises(InvalidParameter, match="larger than 10 bytes"):
        read_text(path, field="notes", most=10)


@pytest.mark.parametrize(
    ("name", "shown"),
    [
        ("a.csv", "a.csv"),
        ("my file", "'my file'"),
        ("$(rm x)", "'$(rm x)'"),
        ("it's", "'it'\"'\"'s'"),
        ("a\nb", "'a\\nb'"),
        ("a\x1b[0m", "'a\\x1b[0m'"),
    ],
)
def test_a_name_is_one_word_to_a_shell(name, shown):
    assert word(name) == shown
