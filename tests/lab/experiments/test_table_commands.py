"""``hushpoll experiment compare`` and ``table`` on a small run."""

import csv
import json
import shutil

import pytest
from click.testing import CliRunner

from hushpoll_lab.cli.experiment import experiment
from hushpoll_lab.experiments.results.results import read_results
from hushpoll_lab.experiments.results.summaries import summarise_results


def call(*arguments):
    found = CliRunner().invoke(experiment, [str(one) for one in arguments])
    if found.exception is not None and not isinstance(found.exception, SystemExit):
        raise found.exception
    return found.exit_code, found.stdout, found.stderr


@pytest.fixture
def published(finished, tmp_path):
    """A table as the paper's: the run's own means, with DI of two cells moved away."""

    def write(moved=2, extra=""):
        path = tmp_path / "published.csv"
        names = {"accuracy": "acc", "DI": "DI"}
        lines = ["protocol,split,epsilon,runs,acc_mean,acc_sd,DI_mean,DI_sd"]
        for at, (place, metrics) in enumerate(summarise_results(read_results(finished[0])).items()):
            numbers = []
            for name in names:
                away = 5 * metrics[name].sd if name == "DI" and at < moved else 0
                numbers += [metrics[name].mean + away, metrics[name].sd]
            split = place.split.replace("-", "_")
            lines.append(
                f"{place.protocol},{split},{place.epsilon},3,{','.join(map(str, numbers))}"
            )
        path.write_text("\n".join(lines) + "\n" + extra)
        return path

    return write


def test_agreement_is_success(finished, published):
    code, out, _ = call("compare", finished[0], "--reference", published(0))
    assert code == 0
    assert out.startswith("10 of 10 means (100.0%) are within 3 standard errors")


def test_every_miss_is_listed_and_too_many_fail(finished, published):
    code, out, _ = call("compare", finished[0], "--reference", published(2), "--json")
    assert code == 1
    found = json.loads(out)
    assert (found["compared"], found["within"], found["share"]) == (10, 8, 0.8)
    # 5 sd away is 5 / sqrt(2/3) standard errors of three seeds each
    assert [one["distance"] for one in found["misses"]] == ["-6.12", "-6.12"]
    assert {one["metric"] for one in found["misses"]} == {"DI"}
    code, out, _ = call("compare", finished[0], "--reference", published(2), "--share", "0.8")
    assert code == 0
    assert max(map(len, out.splitlines())) <= 80
    assert ["NonDP", "none", "inf", "DI"] in [line.split()[:4] for line in out.splitlines()]
    assert call("compare", finished[0], "--reference", published(2), "--within", "7")[0] == 0


def test_cells_that_were_not_run_fail_unless_that_is_meant(finished, published):
    path = published(0, "SS,uniform,4,20,0.8,0.01,0.5,0.01\n")
    code, out, _ = call("compare", finished[0], "--reference", path)
    assert code == 1
    assert "Not run: SS uniform epsilon 4" in " ".join(out.split())
    assert call("compare", finished[0], "--reference", path, "--partial")[0] == 0


def test_many_cells_that_were_not_run_are_counted(finished, published):
    rows = "".join(f"SS,uniform,{epsilon},20,0.8,0.01,0.5,0.01\n" for epsilon in range(2, 60))
    path = published(0, rows)
    _, out, _ = call("compare", finished[0], "--reference", path, "--partial")
    line = " ".join(out.split()).partition("Not run")[2]
    assert "58 of the reference's cells" in line
    assert "SS uniform epsilon 2" in line
    assert "epsilon 7" not in line
    _, out, _ = call("compare", finished[0], "--reference", path, "--partial", "--json")
    assert len(json.loads(out)["missing"]) == 58


def test_all_means_are_written_as_a_table(finished, published, tmp_path):
    for ending in ("csv", "xlsx"):
        out = tmp_path / f"means.{ending}"
        code, _, _ = call("compare", finished[0], "--reference", published(2), "--out", out)
        assert (code, out.is_file()) == (1, True)
    with (tmp_path / "means.csv").open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    assert (len(rows), [row["within"] for row in rows].count("no")) == (10, 2)
    assert {row["ours_runs"] for row in rows} == {"3"}


def test_reference_that_is_a_run_on_other_data_is_refused(finished, tmp_path):
    other = tmp_path / "other"
    shutil.copytree(finished[0], other)
    assert call("compare", finished[0], "--reference", other)[0] == 0
    description = json.loads((other / "experiment.json").read_text())
    description["data"]["sha256"] = "0" * 64
    (other / "experiment.json").write_text(json.dumps(description))
    for reference in (other, other / "results.csv"):
        code, out, err = call("compare", finished[0], "--reference", reference)
        assert (code, out) == (1, "")
        assert "is of other data than" in err


def test_the_page_has_the_command_the_means_the_misses_and_the_notes(finished, published, tmp_path):
    notes = tmp_path / "notes.md"
    notes.write_text("## Why\n\nBecause.\n")
    out = tmp_path / "docs" / "people.md"
    options = ("--title", "People", "--notes", notes, "--made-by", "hushpoll experiment run people")
    code, text, _ = call(
        "table", finished[0], "--out", out, "--reference", published(1), *options, "--json"
    )
    assert code == 0
    files = [out, out.with_suffix(".csv"), out.with_name("people-comparison.csv")]
    assert json.loads(text)["files"] == [str(one) for one in files]
    page = out.read_text(encoding="utf-8")
    assert page.startswith("# People\n\nMade by\n\n```sh\nhushpoll experiment run people\n```\n")
    assert "9 of 10 means (90.0%)" in page
    assert "Farther away:" in page
    assert "## Why\n\nBecause.\n" in page
    assert "| GRR | uniform | 4 | 3 |" in page
    assert "lightgbm" in page
    with files[1].open(newline="") as stream:
        rows = list(csv.DictReader(stream))
    found = summarise_results(read_results(finished[0]))
    assert len(rows) == len(found) == 5
    for row, metrics in zip(rows, found.values(), strict=True):
        assert float(row["SPD_mean"]) == pytest.approx(metrics["SPD"].mean, abs=6e-6)
        assert float(row["SPD_sd"]) == pytest.approx(metrics["SPD"].sd, abs=6e-6)
    with files[2].open(newline="") as stream:
        compared = list(csv.DictReader(stream))
    assert len(compared) == 10
    assert compared[1]["metric"] == "DI"
    assert float(compared[1]["distance"]) == pytest.approx(-5 / (2 / 3) ** 0.5, abs=1e-3)


def test_a_table_without_reference_has_no_comparison(finished, tmp_path):
    out = tmp_path / "people.md"
    code, _, _ = call("table", finished[0], "--out", out, "--title", "People")
    assert code == 0
    assert sorted(one.name for one in tmp_path.iterdir()) == ["people.csv", "people.md"]
    assert "Beside the reference" not in out.read_text(encoding="utf-8")
