"""Rows of Parquet files are those of the CSV file with the same cells."""

from __future__ import annotations

import csv
from datetime import date
from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from pyarrow import parquet

from hushpoll_analysis.frames.parquet_cells import parquet_header, parquet_texts
from hushpoll_protocols import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.spelling.csv_cells import escaped
from hushpoll_training.data.coded import read_codes
from hushpoll_training.data.predictions_file import read_predictions
from hushpoll_training.data.rows import CHUNK, read_rows

PLACES = ("north", "=south", "'=west", "שלום")


@pytest.fixture
def published():
    return Manifest.from_dict(
        {
            "name": "rows", "version": 1, "title": "Rows", "epsilon": "1", "protocol": "GRR",
            "attributes": [
                {"name": "place", "role": "sensitive", "categories": list(PLACES), "missing": "-"},
                {"name": "age", "role": "plain", "range": [17, 90], "missing": "none"},
                {"name": "smokes", "role": "plain", "categories": ["no", "yes"]},
            ],
        }
    ).resolve()  # fmt: skip


ROWS = {
    "place": ["north", "=south", "'=west", None, "שלום"],
    "age": [17, 90, None, 20, 21],
    "smokes": ["no", "yes", "yes", "no", "no"],
}


def written(path, frame):
    if isinstance(frame, pl.DataFrame):
        frame.write_parquet(path)
    else:
        parquet.write_table(frame if isinstance(frame, pa.Table) else pa.table(frame), path)
    return path


@pytest.mark.parametrize(
    "frame",
    [
        pa.table(ROWS),
        pa.table(ROWS).set_column(0, "place", pa.array(ROWS["place"]).dictionary_encode()),
        pd.DataFrame(ROWS),  # ages are floats there
        pl.DataFrame(ROWS),
        pl.DataFrame(ROWS).with_columns(pl.col("place").cast(pl.Categorical)),
        pd.DataFrame(ROWS).astype({"age": "Int16"})[["smokes", "age", "place"]],
    ],
    ids=["arrow", "dictionary", "pandas", "polars", "categorical", "other order"],
)
def test_rows_are_those_of_the_csv_file(published, tmp_path, frame):
    text = tmp_path / "rows.csv"
    with text.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(ROWS)
        for row in zip(*ROWS.values(), strict=True):
            writer.writerow(["" if one is None else escaped(str(one)) for one in row])
    expected = read_rows(text, published)
    found = read_rows(written(tmp_path / "rows.parquet", frame), published)
    assert {name: codes.tolist() for name, codes in found.items()} == {
        name: codes.tolist() for name, codes in expected.items()
    }


def test_more_rows_than_are_held_at_a_time(published, tmp_path):
    n = CHUNK + 10
    frame = pa.table({"place": ["north"] * n, "age": np.arange(n) % 70 + 17, "smokes": ["no"] * n})
    found = read_rows(written(tmp_path / "x", frame), published)
    assert (found["age"] == np.arange(n) % 70).all()
    ages = np.append(np.full(n - 1, 20), 16)
    path = written(tmp_path / "y", frame.set_column(1, "age", pa.array(ages)))
    with pytest.raises(InvalidParameter, match=rf"row {n}, column age: '16' is no category"):
        read_rows(path, published)


@pytest.mark.parametrize(
    ("column", "texts"),
    [
        (pa.array([0.1, 0.3, 1, None], pa.float32()), ["0.1", "0.3", "1", ""]),
        (pa.array(np.array([0.1, 2.5], np.float16)), ["0.1", "2.5"]),
        (pa.array([0.1, 1e-5, 1e22, -0.0, 2.50]), ["0.1", "0.00001", "1" + "0" * 22, "0", "2.5"]),
        (pa.array([2**53 + 1, -7], pa.int64()), ["9007199254740993", "-7"]),
        (pa.array([2**64 - 1], pa.uint64()), ["18446744073709551615"]),
        (pa.array([True, None]), ["True", ""]),
        (pa.array([date(2024, 11, 1), None]), ["2024-11-01", ""]),
        (pa.array([Decimal("0.10"), Decimal("20.00")]), ["0.1", "20"]),
        (pa.array([None, None]), ["", ""]),
        (pa.array(["'-1", "-1", "'a"]), ["'-1", "-1", "'a"]),
        (pa.array([0.1, 0.3], pa.float32()).dictionary_encode(), ["0.1", "0.3"]),
    ],
)
def test_cells_are_the_shortest_texts(tmp_path, column, texts):
    path = written(tmp_path / "cells.parquet", pa.table({"a": column}))
    assert list(parquet_texts(path, "data", [0], 10)) == [[texts]]


def test_columns_have_different_names(tmp_path):
    columns = [pa.array([1.0]), pa.array([2.0])]
    path = written(tmp_path / "twice.parquet", pa.Table.from_arrays(columns, ["w", "w"]))
    with pytest.raises(InvalidParameter, match="has the column 'w' twice; remove one"):
        parquet_header(path, "weights")


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"smokes": None}, "has no column smokes"),
        ({"shoes": [1] * 5}, "has the column 'shoes', which rows does not ask"),
        ({"age": [17, 18, 19, 20, 20.5]}, "row 5, column age: '20.5' is no category"),
        ({"smokes": [None, "yes", "no", "no", "no"]}, "row 1, column smokes: the cell is empty"),
        ({"place": [["north"]] * 5}, "column 'place' of the type list"),
        ({"place": [b"north"] * 5}, "column 'place' of the type binary"),
        ({name: [] for name in ROWS}, "has no rows"),
    ],
)
def test_each_mistake_names_row_column_and_remedy(published, tmp_path, change, words):
    cells = {name: cells for name, cells in (ROWS | change).items() if cells is not None}
    with pytest.raises(InvalidParameter, match=words) as caught:
        read_rows(written(tmp_path / "rows.parquet", cells), published, option="panel")
    assert caught.value.field == "panel"


def test_damaged_file_is_refused(published, tmp_path):
    path = written(tmp_path / "rows.parquet", ROWS)
    whole = path.read_bytes()
    path.write_bytes(whole[:8] + b"\xff" * 8 + whole[16:])
    with pytest.raises(InvalidParameter, match="is a damaged Parquet file"):
        read_rows(path, published)
    path.write_bytes(whole[:-4])
    with pytest.raises(InvalidParameter, match="a Parquet file, or a part of one"):
        read_rows(path, published)


def test_codes_and_predictions_of_parquet(tmp_path):
    path = written(tmp_path / "codes", {"Sex": [0, 1, 1], "pay": [2, 0, 1]})
    assert {name: codes.tolist() for name, codes in read_codes(path).items()} == {
        "sex": [0, 1, 1], "pay": [2, 0, 1],
    }  # fmt: skip
    rows = {"label": [1, 0, 1], "predicted": [1, 1, 0], "group": ["=a", "'=a", None]}
    read = read_predictions(written(tmp_path / "predicted", rows), groups=["group"])
    assert (read.label.tolist(), read.predicted.tolist()) == ([1, 0, 1], [1, 1, 0])
    assert read.columns["group"].tolist() == ["=a", "'=a", "(empty)"]
