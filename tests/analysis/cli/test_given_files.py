"""``hushpoll records`` with files and names that people bring: weights, cells and labels."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import parquet

from hushpoll_analysis.cli.weighting import read_weights
from hushpoll_client.cli.commandline import main
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.cli.weighting import read_cell_weights
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.tables.result_table import Column, ResultTable
from hushpoll_shared.tables.table_files import csv_bytes
from hushpoll_shared.wire.records_file import pack_records_header


def write(path, version, categories, codes):
    published = Manifest.from_dict(
        {
            "name": "trend", "version": version, "title": "Trend", "epsilon": "3",
            "protocol": "GRR",
            "attributes": [
                {"name": "income", "role": "sensitive", "categories": categories},
                {"name": "change", "role": "plain", "categories": ["-1", "0", "+1"]},
            ],
        }
    ).resolve()  # fmt: skip
    rows = np.array([[code % 2, code % 3] for code in codes], dtype=np.uint8)
    path.write_bytes(pack_records_header(published, len(rows)) + rows.tobytes())
    return published


@pytest.fixture
def trend(tmp_path):
    before, after = tmp_path / "before.records", tmp_path / "after.records"
    write(before, 1, ["<=26000", ">26000"], range(600))
    write(after, 2, ["low", "high"], range(600))
    return before, after


@pytest.fixture
def call(capsys):
    def called(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as ended:
            main([str(argument) for argument in arguments])
        said = capsys.readouterr()
        return int(ended.value.code or 0), said.out, said.err

    return called


@pytest.mark.parametrize(
    "pairs",
    [
        ("<=26000=low", ">26000=high"),
        ('"<=26000"=low', '">26000"="high"'),
    ],
)
def test_labels_of_categories_with_an_equals_sign(call, trend, pairs):
    before, after = trend
    maps = [part for pair in pairs for part in ("--since-map", pair)]
    code, out, err = call("records", "change", after, "income", "--since", before, *maps, "--json")
    assert (code, err) == (0, "")
    assert [row["label"] for row in json.loads(out)["changes"]] == ["low", "high"]


def test_labels_of_unknown_categories_are_refused(call, trend):
    before, after = trend
    for pair, words in (("<=2600=low", "no category"), ("low", "give CATEGORY=LABEL")):
        code, _, err = call(
            "records", "change", after, "income", "--since", before, "--since-map", pair
        )
        assert code == 1
        assert words in err


def test_weights_of_either_file_are_the_same(tmp_path):
    values = [1.5, 0.1, 2, 0.25]
    text = tmp_path / "w.csv"
    text.write_text("\ufeffid,weight\r\n" + "".join(f"x,{value}\r\n" for value in values))
    assert read_weights(text, "weight").tolist() == values
    for kind in (pa.float64(), pa.float32(), pa.string()):
        path = tmp_path / "w.parquet"
        cells = list(map(str, values)) if kind == pa.string() else values
        parquet.write_table(pa.table({"weight": pa.array(cells, kind)}), path)
        assert read_weights(path, "weight").tolist() == values


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("weight\n1,9\n0,8\n", r"row 1 \(line 2\) has 2 values"),
        ("id,weight\n0,1,5\n", r"row 1 \(line 2\) has 3 values"),
        ("id;weight\n0;1,5\n", "has semicolons between its cells"),
        ('weight\n"1,5"\n', r"row 1 \(line 2\), column weight: '1,5' has a comma"),
        ("weight\n1\n\n2\n", r"row 2 \(line 3\), column weight: there is no number"),
        ("weight\n1\n1_5\n", r"row 2 \(line 3\), column weight: '1_5' is no number"),
        (
            "weight\n100\n1.000\n2.500\n",
            r"row 2 \(line 3\), column weight: the point of '1.000'",
        ),
        ("weight\n1.125\n", "write 1.1250 or 1125"),
        ("weight\nnan\n", "'nan' is no number"),
        ("weight,weight\n1,2\n", "has the column 'weight' twice"),
        ("w\n1\n", "has no column 'weight'; its columns are w: name one with --weight-column"),
    ],
)
def test_weights_that_could_be_read_wrong_are_refused(tmp_path, text, words):
    path = tmp_path / "w.csv"
    path.write_text(text)
    with pytest.raises(InvalidParameter, match=words) as caught:
        read_weights(path, "weight")
    assert str(path) in str(caught.value)


@pytest.mark.parametrize("other", ["0.8", ".5", "1.25", "1250", "0.125", "1e-1"])
def test_one_weight_settles_what_the_points_of_the_others_mark(tmp_path, other):
    path = tmp_path / "w.csv"
    path.write_text(f"weight\n1.000\n{other}\n2.500\n")
    assert read_weights(path, "weight").tolist() == [1.0, float(other), 2.5]


def test_weights_of_parquet_name_the_row(tmp_path):
    path = tmp_path / "w.parquet"
    for cells, words in (
        (pa.array([1.0, None]), "row 2, column weight: there is no number"),
        (pa.array([1.0, float("nan")]), "row 2, column weight: 'nan' is no number"),
        (pa.array(["1,5"]), "row 1, column weight: '1,5' has a comma"),
        (pa.array([[1.0]]), "column 'weight' of the type list"),
    ):
        parquet.write_table(pa.table({"weight": cells}), path)
        with pytest.raises(InvalidParameter, match=words):
            read_weights(path, "weight")


def test_cell_weights_that_hushpoll_wrote_are_read_back(call, trend, tmp_path):
    path = tmp_path / "cells.csv"
    table = ResultTable(
        "cells",
        (Column("change", "text"), Column("weight", "number")),
        (("-1", 1.0), ("0", 2.0), ("+1", 3.0)),
    )
    path.write_bytes(csv_bytes(table))
    assert b"'-1" in path.read_bytes()
    rows = [["-1", 1.0], ["0", 2.0], ["+1", 3.0]]
    assert read_cell_weights(path) == {"attributes": ["change"], "rows": rows}
    code, out, _ = call("records", "weight", trend[1], "income", "--cell-weights", path, "--json")
    assert code == 0
    assert json.loads(out)["effective_n"] == pytest.approx(1200**2 / (200 * 14))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("change,w\n-1,1\n0,2\n+2,3\n", r"row 3 \(line 4\), column change: '\+2' is no category"),
        ("change,w\n-1,1\n'-1,2\n", r"row 2 \(line 3\) has the cell '-1' again, after row 1 \(l"),
        ('change,w\n-1,"0,5"\n', r"row 1 \(line 2\), column w: '0,5' has a comma"),
        ("change,w\n-1,420.000\n", r"row 1 \(line 2\), column w: the point of '420.000' may mark"),
        ("w\n1\n", "has the one column 'w'"),
    ],
)
def test_cell_weights_that_could_be_read_wrong_are_refused(call, trend, tmp_path, text, words):
    path = tmp_path / "cells.csv"
    path.write_text(text)
    code, _, err = call("records", "weight", trend[1], "income", "--cell-weights", path)
    assert code == 1
    assert re.search(words, err)


def test_a_number_of_the_command_line_has_one_spelling(call, trend):
    for option in (("--confidence", "0_9"), ("--confidence", "nan"), ("--confidence", "0,9")):
        code, _, err = call("records", "estimate", trend[1], *option)
        assert code == 2
        assert "Invalid value for '--confidence'" in err
    code, out, _ = call("records", "estimate", trend[1], "--confidence", ".9", "--json")
    assert (code, json.loads(out)["confidence"]) == (0, 0.9)
