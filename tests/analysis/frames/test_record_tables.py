"""Records to and from tables of pandas, Polars and Arrow: the same records, or a named refusal."""

from __future__ import annotations

import sys

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from hushpoll_analysis import Records, frequencies
from hushpoll_protocols import InvalidParameter, MalformedRecord, MissingExtra
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many

KEPT = ("GRR", "OLH", "OUE", "SS")


@pytest.fixture(scope="module")
def records():
    questions = [
        {"name": name.lower(), "role": "sensitive", "protocol": name, "range": [1, 5]}
        for name in KEPT
    ]
    places = ["north", "=south", "שלום"]
    published = Manifest.from_dict(
        {
            "name": "tables", "version": 1, "title": "Tables", "epsilon": "4",
            "attributes": [
                *questions,
                {"name": "place", "role": "plain", "categories": places, "missing": "none"},
                {"name": "age", "role": "plain", "range": [17, 90]},
            ],
        }
    ).resolve()  # fmt: skip
    rng = np.random.default_rng(1)
    codes = {a.name: rng.integers(0, a.k, 500) for a in published.attributes}
    return Records(published, encode_many(published, codes, rng))


def ways(records):
    table = records.to_arrow()
    yield "arrow", table
    yield "batches", pa.Table.from_batches(table.to_batches(max_chunksize=64))
    yield "pandas", records.to_pandas()
    yield "polars", records.to_polars()
    plain = table.set_column(
        table.column_names.index("place"), "place", table["place"].cast(pa.string())
    )
    yield "texts", plain
    yield "polars of texts", pl.from_arrow(plain)
    yield (
        "numbers",
        plain.set_column(
            table.column_names.index("age"), "age", table["age"].cast(pa.string()).cast(pa.int16())
        ),
    )
    hexadecimal = records.to_pandas()
    for name in KEPT:
        hexadecimal[name.lower()] = [value.hex() for value in hexadecimal[name.lower()]]
    yield "hexadecimal", hexadecimal
    yield "other order", records.to_pandas()[table.column_names[::-1]]


@pytest.mark.parametrize("way", range(9))
def test_records_come_back_from_each_table(records, way):
    name, table = list(ways(records))[way]
    found = Records.from_table(table, records.published)
    assert (found.rows == records.rows).all(), name


def test_arrow_table_names_its_survey(records):
    assert Records.from_table(records.to_arrow()).published == records.published
    with pytest.raises(InvalidParameter, match="give published"):
        Records.from_table(records.to_pandas())
    empty = Records.from_table(records.to_arrow().slice(0, 0))
    assert len(empty) == 0


def test_exported_parquet_is_read_as_records_are(records, tmp_path):
    path = tmp_path / "all.parquet"
    parquet.write_table(records.to_arrow(), path, row_group_size=120)
    assert (Records.read(path).rows == records.rows).all()
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + b"\xff" * 8 + whole[16:])
    with pytest.raises(InvalidParameter, match="row group 0 is damaged"):
        Records.read(path)
    path.write_bytes(whole[:2000])
    with pytest.raises(InvalidParameter, match="no Parquet file"):
        Records.read(path)
    parquet.write_table(records.to_arrow().replace_schema_metadata({}), path)
    with pytest.raises(InvalidParameter, match="holds no records"):
        Records.read(path)


def changed(records, name, values):
    frame = records.to_pandas()
    frame[name] = values(list(frame[name]))
    return frame


WRONG = {
    "unknown category": ("place", lambda old: [*old[:-1], "east"], "range", 499),
    "empty cell": ("place", lambda old: [old[0], None, *old[2:]], "range", 1),
    "number out of the range": ("age", lambda old: [91, *map(int, old[1:])], "range", 0),
    "short bytes": ("olh", lambda old: [*old[:7], old[7][:-1], *old[8:]], "length", 7),
    "no bytes": ("olh", lambda old: [*old[:7], None, *old[8:]], "length", 7),
    "code out of the range": ("grr", lambda old: [*old[:3], b"\x05", *old[4:]], "range", 3),
    "pad bits": ("oue", lambda old: [*old[:3], b"\xff", *old[4:]], "padding", 3),
    "no hexadecimal": ("grr", lambda old: ["0x", *(one.hex() for one in old[1:])], "form", 0),
}


@pytest.mark.parametrize("case", WRONG)
def test_first_wrong_row_is_named(records, case):
    name, values, reason, row = WRONG[case]
    with pytest.raises(MalformedRecord) as caught:
        Records.from_table(changed(records, name, values), records.published)
    assert caught.value.field == name
    assert f"records[{row}]" in str(caught.value)
    assert caught.value.reason == reason


def test_tables_of_another_form_are_refused(records):
    frame = records.to_pandas()
    for table, words in (
        ([1, 2], "which is no table"),
        (frame.drop(columns="age"), "there is no column age"),
        (frame.assign(shoes=1), "which tables does not ask"),
        (changed(records, "place", lambda old: [0.5] * len(old)), "the categories as texts"),
        (changed(records, "olh", lambda old: range(len(old))), "the bytes that devices sent"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            Records.from_table(table, records.published)
    other = Manifest.from_dict(
        {"name": "other", "version": 1, "title": "Other", "epsilon": "1",
         "attributes": [{"name": "x", "role": "sensitive", "protocol": "GRR",
                         "range": [1, 2]}]}
    ).resolve()  # fmt: skip
    with pytest.raises(InvalidParameter, match="give that version or none"):
        Records.from_table(records.to_arrow(), other)


def test_results_are_the_same_table_in_each_library(records):
    found = frequencies(records)
    arrow, pandas, polars = found.to_arrow(), found.to_pandas(), found.to_polars()
    assert list(pandas) == polars.columns == arrow.column_names
    assert arrow.to_pylist() == polars.to_dicts() == pandas.to_dict("records")
    assert b'"confidence": 0.95' in arrow.schema.metadata[b"hushpoll.methods"]
    assert pandas["frequency"].dtype == np.float64
    assert isinstance(pandas, pd.DataFrame)
    assert found[0].to_polars().equals(polars.drop("verdict").head(len(found[0].categories)))
    shrunk = frequencies(records, estimator="shrunk").to_pandas()
    assert list(shrunk) == ["verdict", "attribute", "category", "frequency"]


def test_without_polars_the_extra_is_named(records, monkeypatch):
    monkeypatch.setitem(sys.modules, "polars", None)
    for call in (records.to_polars, frequencies(records).to_polars):
        with pytest.raises(MissingExtra, match=r"\./server\[polars\]"):
            call()
    assert len(records.to_pandas()) == 500
