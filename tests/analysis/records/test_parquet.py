"""Exported Parquet: what is refused, and that file and row group are named."""

from __future__ import annotations

import re

import pyarrow as pa
import pytest
from pyarrow import parquet

from hushpoll_analysis.records.parquet import read_row_group
from hushpoll_protocols.errors import InvalidParameter, MalformedRecord
from hushpoll_shared.drafts.manifest import Manifest

ATTRIBUTES = [
    {"name": "gender", "role": "sensitive", "protocol": "GRR", "categories": ["F", "M"]},
    {"name": "note", "role": "plain", "categories": ["low", "high"]},
]
FIRST = {"gender": [b"\0", b"\1"], "note": ["low", "high"]}


def write(path, *groups):
    draft = {"name": "work", "version": 1, "title": "Work", "epsilon": "4"}
    published = Manifest.from_dict({**draft, "attributes": ATTRIBUTES}).resolve()
    metadata = {"hushpoll.content": "records", "hushpoll.manifest": published.canonical}
    tables = [pa.table(group).replace_schema_metadata(metadata) for group in groups]
    with parquet.ParquetWriter(path, tables[0].schema) as writer:
        for table in tables:
            writer.write_table(table)
    return str(path)


def test_row_groups_are_read_as_records(tmp_path):
    path = write(tmp_path / "work.parquet", FIRST, {"gender": [b"\1"], "note": ["low"]})
    assert read_row_group(path, 0).rows.tolist() == [[0, 0], [1, 1]]
    assert read_row_group(path, 1).rows.tolist() == [[1, 0]]


@pytest.mark.parametrize(
    ("changes", "reason", "field"),
    [
        ({"gender": [b"\0", b"\2"]}, "range", "gender"),
        ({"gender": [b"\0", b"\0\0"]}, "length", "gender"),
        ({"gender": [b"\0", None]}, "length", "gender"),
        ({"note": ["low", "S3CRET"]}, "range", "note"),
        ({"note": ["low", None]}, "range", "note"),
    ],
)
def test_malformed_row_is_refused_by_file_group_and_row(tmp_path, changes, reason, field):
    """Guards: KeyError and ValueError for some of them, and no file or row group for the others."""
    path = write(tmp_path / "work.parquet", FIRST, FIRST | changes)
    where = rf"{re.escape(path)}, row group 1: records\[1\] has a malformed part of {field}"
    with pytest.raises(MalformedRecord, match=where) as refused:
        read_row_group(path, 1)
    assert (refused.value.reason, refused.value.field) == (reason, field)
    assert "S3CRET" not in str(refused.value)


def test_missing_column_is_refused_by_file_and_group(tmp_path):
    path = write(tmp_path / "work.parquet", {"gender": [b"\0"]})
    with pytest.raises(InvalidParameter, match=r"work.parquet, row group 0: .*no column note"):
        read_row_group(path, 0)
