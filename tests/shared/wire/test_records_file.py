from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from hushpoll_protocols import InvalidParameter, ManifestRefused, MissingExtra
from hushpoll_shared import Published
from hushpoll_shared.wire.records_file import pack_records_header, read_records
from hushpoll_shared.wire.reports import pack_reports


@pytest.fixture
def rows(published: Published) -> np.ndarray:
    return np.arange(4 * published.layout.record_size, dtype=np.uint8).reshape(4, -1)


@pytest.fixture
def content(published: Published, rows: np.ndarray) -> bytes:
    return pack_records_header(published, len(rows)) + rows.tobytes()


def test_a_file_of_records_reads_back(
    tmp_path: Path, published: Published, rows: np.ndarray, content: bytes
) -> None:
    path = tmp_path / "records.hrec"
    path.write_bytes(content)
    for source in (content, path, str(path)):
        survey, records = read_records(source)
        assert survey == published
        assert records.dtype == np.uint8
        assert (records == rows).all()


def test_the_header_has_its_documented_bytes(published: Published) -> None:
    header = pack_records_header(published, 3)
    size = len(published.canonical)
    assert header == (
        b"HREC\x02"
        + bytes.fromhex(published.digest)
        + size.to_bytes(4, "little")
        + (3).to_bytes(8, "little")
        + published.canonical
    )


def test_a_file_may_have_no_rows(published: Published) -> None:
    _, records = read_records(pack_records_header(published, 0))
    assert records.shape == (0, published.layout.record_size)


def test_a_file_of_reports_is_told_apart_with_what_to_do(published: Published) -> None:
    reports = pack_reports(published.digest, [])
    with pytest.raises(InvalidParameter, match=r"file of reports.*hushpoll submit") as caught:
        read_records(reports)
    assert caught.value.field == "records"


@pytest.mark.parametrize(
    ("cut", "says"),
    [(0, "no file of records"), (40, "no file of records"), (100, "inside its manifest")],
)
def test_a_file_cut_in_its_header_is_refused(content: bytes, cut: int, says: str) -> None:
    with pytest.raises(InvalidParameter, match=says) as caught:
        read_records(content[:cut])
    assert caught.value.field == "records"


def test_a_file_cut_in_a_row_is_refused(published: Published, content: bytes) -> None:
    with pytest.raises(InvalidParameter, match=r"ends 32 bytes into a row of 33"):
        read_records(content[:-1])


@pytest.mark.parametrize("end", [-33, None])
def test_a_file_cut_or_continued_between_rows_is_refused(content: bytes, end: int | None) -> None:
    changed = content[:end] if end else content + content[-33:]
    with pytest.raises(InvalidParameter, match=r"has [35] of its 4 records; export it again"):
        read_records(changed)


def test_a_file_of_the_version_without_a_number_of_rows_is_read(
    content: bytes, rows: np.ndarray
) -> None:
    _, records = read_records(content[:4] + b"\x01" + content[5:41] + content[49:])
    assert (records == rows).all()


def test_other_magic_and_versions_are_refused(content: bytes) -> None:
    with pytest.raises(InvalidParameter, match="no file of records"):
        read_records(b"HUSH" + content[4:])
    with pytest.raises(InvalidParameter, match=r"version 3; this version reads 1 and 2"):
        read_records(content[:4] + b"\x03" + content[5:])


def test_a_length_beyond_the_file_is_refused_without_reading_it(content: bytes) -> None:
    with pytest.raises(InvalidParameter, match="inside its manifest"):
        read_records(content[:37] + b"\xff\xff\xff\xff" + content[41:])


def test_a_digest_of_another_manifest_is_refused(content: bytes) -> None:
    with pytest.raises(ManifestRefused, match="export it again") as caught:
        read_records(content[:5] + bytes(32) + content[37:])
    assert caught.value.field == "digest"


def test_a_manifest_that_lies_is_refused(published: Published, content: bytes) -> None:
    with pytest.raises(ManifestRefused) as caught:
        read_records(content.replace(b'"epsilon":"4"', b'"epsilon":"3"'))
    assert caught.value.field == "epsilon"


def test_without_numpy_the_extra_is_named(content: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(MissingExtra, match=r"'\.\[kernels\]'") as caught:
        read_records(content)
    assert caught.value.extra == "kernels"
