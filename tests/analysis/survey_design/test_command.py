"""``hushpoll records weight`` on files of records, of weights and of designs."""

import json

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

from hushpoll_analysis import weighted_shares
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
    file.write_bytes(pack_records_header(PUBLISHED) + records.rows.tobytes())

    def call(*arguments):
        return CliRunner().invoke(weight, [str(file), "a", *map(str, arguments)])

    return call


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
        pack_records_header(PUBLISHED) + records.rows[:10].tobytes()
    )
    hidden = run("--design", design).output
    assert "cannot conclude" in hidden
    assert "too few or too noisy" in " ".join(hidden.split())


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("weights.csv", "w\n1\n", "has no column 'weight'"),
        ("weights.csv", "weight\n1\n\nx\n", "'x' is no weight"),
        ("weights.csv", "weight\n1\n2\n", "there are 600 records"),
        ("weights.txt", "weight\n", "must end in .csv or .parquet"),
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
    assert "save the weights as one" in " ".join(result.output.split())


@pytest.mark.parametrize(
    ("column", "message"),
    [(pa.array([1.0, None]), "1 rows have no weight"), (pa.array(["1"]), "give numbers")],
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
