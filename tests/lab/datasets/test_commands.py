"""``hushpoll data``: what it writes, what it downloads, and what it refuses."""

import csv
import json

import pytest
from click.testing import CliRunner

from hushpoll_lab.cli.data import data
from hushpoll_lab.cli.experiment import experiment
from hushpoll_lab.datasets import LOADERS, load
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import load_manifest
from hushpoll_training.data.coded import read_codes
from hushpoll_training.data.rows import read_rows

RAW = "ID,lsat,ugpa,fulltime,fam_inc,gender,race1,pass_bar\n" + "".join(
    f"{at},{30 + at % 3},{3 + at % 2 / 2},{1 + at % 2},{1 + at % 5},"
    f"{'fe' * (at % 2)}male,{'black' if at % 3 else 'white'},{at * 7 % 11 % 2}\n"
    for at in range(200)
)


def call(command, *arguments):
    found = CliRunner().invoke(command, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def raw(tmp_path):
    path = tmp_path / "raw.csv"
    path.write_text(RAW)
    return path


def test_the_loaders_are_the_papers_three():
    assert list(LOADERS) == ["adult", "acs-coverage", "lsac"]
    assert all(one.source.url.startswith("https://") for one in LOADERS.values())
    with pytest.raises(InvalidParameter, match="'iris' is no data set; use one of adult, acs-cov"):
        load("iris")


def test_codes_answers_categories_and_manifest_say_the_same(raw, tmp_path):
    out = tmp_path / "new" / "law.csv"
    code, text, _ = call(data, "lsac", "--from", raw, "--out", out, "--unchecked", "--json")
    assert code == 0
    found = json.loads(text)
    assert (found["rows"], found["papers"]) == (200, False)
    names = ["law.csv", "law.answers.csv", "law.categories.json", "law.manifest.json"]
    assert found["files"] == [str(out.parent / name) for name in names]
    codes = read_codes(out)
    categories = json.loads((out.parent / "law.categories.json").read_text())
    manifest = load_manifest(out.parent / "law.manifest.json")
    assert {one.name: list(one.categories) for one in manifest.attributes} == categories
    assert all(one.question for one in manifest.attributes)
    assert [one.name for one in manifest.attributes if one.role == "sensitive"] == [
        *("fam_inc", "gender", "fulltime", "race1")
    ]
    rows = read_rows(out.parent / "law.answers.csv", manifest.resolve())
    for name, values in codes.items():
        assert rows[name].tolist() == values.tolist()
    with (out.parent / "law.answers.csv").open(newline="") as stream:
        assert next(csv.DictReader(stream))["gender"] == "male"


def test_a_download_is_cleaned_and_checked_like_a_file(raw, serve, tmp_path):
    url = f"{serve(raw=raw.read_bytes())}/raw"
    out = tmp_path / "law.csv"
    code, _, err = call(data, "lsac", "--url", url, "--out", out)
    assert code == 1
    assert "the 200 rows are not the 20,427 of the paper" in err
    assert not out.exists()
    assert call(data, "lsac", "--url", url, "--out", out, "--unchecked")[0] == 0
    again = tmp_path / "again.csv"
    call(data, "lsac", "--from", raw, "--out", again, "--unchecked")
    assert out.read_bytes() == again.read_bytes()


@pytest.mark.data
def test_the_papers_rows_are_taken_without_a_flag(serve, data_dir, tmp_path):
    url = f"{serve(raw=(data_dir / 'bar_pass_prediction.csv').read_bytes())}/raw"
    out = tmp_path / "lsac.csv"
    code, text, _ = call(data, "lsac", "--url", url, "--out", out)
    assert code == 0
    assert "20,427 rows, the paper's, are in" in text
    assert out.read_bytes() == (data_dir / "lsac.csv").read_bytes()


def test_a_server_that_fails_is_a_line_and_a_retryable_exit(serve, tmp_path):
    url = f"{serve()}/broken"
    code, _, err = call(data, "lsac", "--url", url, "--out", tmp_path / "x.csv")
    assert code == 4
    assert err.startswith("Error: ")
    assert err.count("\n") == 1
    assert call(data, "lsac", "--url", url, "--from", __file__, "--out", "x.csv")[0] == 2


def test_an_experiment_runs_on_what_it_wrote(raw, tmp_path):
    out = tmp_path / "law.csv"
    call(data, "lsac", "--from", raw, "--out", out, "--unchecked")
    grid = ("--protocols", "GRR", "--splits", "uniform", "--epsilons", "4", "--seeds", "0")
    manifest = ("--manifest", tmp_path / "law.manifest.json", "--params", "n_estimators=3")
    tables = []
    for name, *mode in (("law.csv", "--coded"), ("law.answers.csv",)):
        where = tmp_path / f"run-{name}"
        options = (*manifest, *mode, *grid, "--data", tmp_path / name, "--jobs", 1, "--out", where)
        code, _, err = call(experiment, "run", "lsac", *options)
        assert code == 0, err
        with (where / "results.csv").open(newline="") as stream:
            tables.append([row["roc_auc"] for row in csv.DictReader(stream)])
    assert tables[0] == tables[1]
    assert len(tables[0]) == 2
