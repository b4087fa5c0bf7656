"""Downloads: whole, or an error that says what came instead."""

import pytest

from hushpoll_lab.datasets import source as module
from hushpoll_lab.datasets.source import Source, download
from hushpoll_protocols.errors import InvalidParameter, TransportError

RAW = b"a,b\n" + b"1,2\n" * 500


def test_a_whole_file_is_kept_as_it_is(serve, tmp_path):
    path = download(Source(f"{serve(raw=RAW)}/raw", "raw.csv"), tmp_path)
    assert path == tmp_path / "raw.csv"
    assert path.read_bytes() == RAW


def test_a_mirror_is_used_instead(serve, tmp_path):
    source = Source("https://example.invalid/raw", "raw.csv")
    assert download(source, tmp_path, url=f"{serve(raw=RAW)}/raw").read_bytes() == RAW


@pytest.mark.parametrize(
    ("name", "status", "retryable"), [("nothing", 404, False), ("broken", 503, True)]
)
def test_a_refusal_is_named_by_its_status(serve, tmp_path, name, status, retryable):
    with pytest.raises(TransportError, match=f"answered {status}; try again, or give") as caught:
        download(Source(f"{serve(raw=RAW)}/{name}", "raw.csv"), tmp_path)
    assert (caught.value.status, caught.value.retryable) == (status, retryable)


def test_a_file_that_stops_half_way_is_no_file(serve, tmp_path):
    with pytest.raises(TransportError, match=r"--from") as caught:
        download(Source(f"{serve(raw=RAW)}/half-raw", "raw.csv"), tmp_path)
    assert caught.value.retryable


def test_a_file_without_end_is_given_up(serve, tmp_path, monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 1000)
    with pytest.raises(TransportError, match="larger than 1,000 bytes"):
        download(Source(f"{serve(raw=RAW)}/raw", "raw.csv"), tmp_path)


def test_a_server_that_is_not_there_is_named(serve, tmp_path):
    with pytest.raises(TransportError, match="could not be downloaded") as caught:
        download(Source("http://127.0.0.1:9/raw", "raw.csv"), tmp_path)
    assert caught.value.retryable


@pytest.mark.parametrize("url", ["http://example.invalid/x", "file:///etc/passwd", "x", "http://["])
def test_only_https_is_followed_beyond_this_machine(tmp_path, url):
    with pytest.raises(InvalidParameter, match="must begin with https://") as caught:
        download(Source("https://example.invalid/raw", "raw.csv"), tmp_path, url=url)
    assert caught.value.field == "url"
    assert list(tmp_path.iterdir()) == []
