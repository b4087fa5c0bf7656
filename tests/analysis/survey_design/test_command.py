"""``hushpoll records weight`` on files of records, of weights and of designs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hushpoll_analysis import SurveyDesign, weighted_shares
from hushpoll_analysis.cli.weighting import weight
from hushpoll_shared.wire.records_file import pack_records_header
from relations_survey import draw, survey

PUBLISHED = survey((None, 3, ""), ("GRR", 3, "4"))
MARGIN = {"attributes": ["b"], "shares": {"1": 0.3, "2": 0.3, "3": 0.4}}


@pytest.fixture(scope="module")
def records():
    return draw(PUBLISHED, np.full((3, 3), 1 / 9), 600, 1)[1]


@pytest.fixture
def run(records, tmp_path):
    file = tmp_path / "all.records"
    file.write_bytes(pack_records_header(PUBLISHED, len(records.rows)) + records.rows.tobytes())

    def call(*arguments):
        return CliRunner().invoke(weight, [str(file), "a", *map(str, arguments)])

    return call


def test_weights_of_cells_are_read_from_a_table(run, records, tmp_path):
    categories = records.published.attribute("a").categories
    table = tmp_path / "cells.csv"
    table.write_text(
        "a,people\n" + "".join(f"{one},{place + 1}\n" for place, one in enumerate(categories))
    )
    design = SurveyDesign.from_dict(
        {
            "weights": {
                "attributes": ["a"],
                "weights": {one: place + 1 for place, one in enumerate(categories)},
            }
        }
    )
    expected = weighted_shares(records, "a", design).to_dict()
    result = run("--cell-weights", table, "--json")
    assert result.exit_code == 0, result.output
    assert json.loads(result.output)["shares"] == json.loads(json.dumps(expected))["shares"]
    result = run("b", "--cell-weights", table, "--json")
    several = json.loads(result.output)["attributes"]
    assert [one["attribute"] for one in several] == ["a", "b"]
    assert several[0]["shares"] == json.loads(json.dumps(expected))["shares"]
    given = tmp_path / "design.json"
    given.write_text(json.dumps({"weights": {"attributes": ["a"], "rows": []}}))
    result = run("--cell-weights", table, "--design", given)
    assert "leave one of the two out" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty; give a header"),
        ("weight\n1\n", "its first row must name"),
        ("a,weight\n1,x\n", "line 2"),
        ("a,weight\n1\n", "line 2"),
        ("a,weight\n1,nan\n", "line 2"),
        ("a,weight\n1,2\n1,3\n", "again"),
        ("a,weight\n1,2\n", "has no weight of"),
        ("b,weight\n1,2\n", "which is perturbed"),
        ("a,weight\n" + "1,2\n" * (1 << 20), "may have 4194304"),
    ],
)
def test_tables_of_cell_weights_that_cannot_be_are_refused(run, tmp_path, text, message):
    table = tmp_path / "cells.csv"
    table.write_text(text)
    result = run("--cell-weights", table)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())


def test_a_column_of_weights_is_read_from_csv_and_parquet(run, records, tmp_path):
    weights = np.random.default_rng(1).gamma(2, 1, 600)
    expected = weighted_shares(records, "a", weights=weights).to_dict()
    csv, parquet = tmp_path / "weights.csv", tmp_path / "weights.parquet"
    csv.write_text(
        "id,w\n" + "".join(f"{i},{value!r}\n" for i, value in enumerate(weights.tolist()))
    )
    pq.write_table(pa.table({"w": weights}), parquet)
    for file in (csv, parquet):
        result = run("--weights", file, "--weight-column", "w", "--json")
        assert result.exit_code == 0, result.output
        document = json.loads(result.output)
        assert {name: document[name] for name in expected} == expected


def test_a_design_is_read_and_shown_in_words(run, records, tmp_path):
    design = tmp_path / "design.json"
    design.write_text(json.dumps({"margins": [MARGIN], "population": 9000}))
    result = run("--design", design)
    assert result.exit_code == 0, result.output
    words = " ".join(result.output.split())
    for part in (
        "unweighted",
        "people",
        "of one weight (Kish)",
        "no interval knows of a difference",
    ):
        assert part in words
    (tmp_path / "all.records").write_bytes(
        pack_records_header(PUBLISHED, 10) + records.rows[:10].tobytes()
    )
    hidden = " ".join(run("--design", design).output.split())
    assert hidden.startswith("10 reports at epsilon")
    assert "too noisy to tell the share of b" in hidden
    assert "3 rows that are too noisy to tell are not shown" in hidden
    reason = json.loads(run("--design", design, "--json").output)["cannot_conclude"]
    assert "too few or too noisy" in reason


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("weights.csv", "w\n1\n", "has no column 'weight'"),
        ("weights.csv", "weight\n1\n\nx\n", "row 2 (line 3), column weight: there is no number"),
        ("weights.csv", "weight\n1\n2\n", "there are 600 records"),
        ("weights.txt", "weight\n", "there are 600 records"),
    ],
)
def test_weights_that_cannot_be_read_are_refused(run, tmp_path, name, text, message):
    file = tmp_path / name
    file.write_text(text)
    result = run("--weights", file)
    assert result.exit_code == 1
    assert message in " ".join(result.output.split())


@pytest.mark.parametrize("ending", ["csv", "parquet"])
def test_a_file_that_is_not_what_its_ending_says_is_refused(run, tmp_path, ending):
    file = tmp_path / f"weights.{ending}"
    file.write_bytes(b"\xff\xfe\x00weight")
    result = run("--weights", file)
    assert result.exit_code == 1
    assert "save it as CSV in UTF-8" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("column", "message"),
    [(pa.array([1.0, None]), "there is no number"), (pa.array(["x"]), "'x' is no number")],
)
def test_parquet_weights_that_are_no_numbers_are_refused(run, tmp_path, column, message):
    file = tmp_path / "weights.parquet"
    pq.write_table(pa.table({"weight": column}), file)
    assert message in " ".join(run("--weights", file).output.split())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("design.txt", "{}", "must end in .json, .yaml or .yml"),
        ("design.yaml", "- 1\n", "is no object"),
        ("design.json", "{", "JSON"),
    ],
)
def test_a_design_that_cannot_be_read_is_refused(run, tmp_path, name, text, message):
    file = tmp_path / name
    file.write_text(text)
    result = run("--design", file)
    assert result.exit_code == 1
    assert message in result.output
