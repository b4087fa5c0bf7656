"""``hushpoll export`` writes what the file's name promises, or says that it does not."""

import pytest
from click.testing import CliRunner

from hushpoll_client.cli.results import export


@pytest.fixture
def run(server, steps, published, tmp_path, monkeypatch):
    monkeypatch.setenv("HUSHPOLL_TOKEN", "t0ken")
    monkeypatch.chdir(tmp_path)

    def called(*words):
        server.play(steps.respond(200, published.canonical), steps.respond(200, b"PAR1"))
        command = [published.name, "--version", "1", "--url", server.url, *words]
        return CliRunner().invoke(export, command)

    return called


@pytest.mark.parametrize("form", ["parquet", "csv", "sav", "dta"])
def test_ending_names_the_format(run, server, form):
    run("--out", f"x.{form.upper()}")
    assert f"format={form}&" in server.seen[-1].path


@pytest.mark.parametrize("out", ["x.records", "x", "x.v2"])
def test_other_endings_are_files_of_records(run, server, out):
    run("--out", out)
    assert "format=records&" in server.seen[-1].path


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "x.xlsx"), "no export has that form; give a file that ends in .records, "),
        (("--out", "x.json", "--format", "csv"), "--format is csv; give a file that ends in .csv"),
        (("--out", "x.sav", "--format", "dta"), "--format is dta; give a file that ends in .dta"),
        (("--out", "x.csv", "--format", "records"), "give a file that ends in .records"),
    ],
)
def test_format_that_the_ending_contradicts_is_refused(run, server, tmp_path, words, said):
    result = run(*words)
    assert result.exit_code == 1
    assert said in result.output
    assert server.seen == []
    assert list(tmp_path.iterdir()) == []
