"""``hushpoll export`` in every form, and ``hushpoll survey delete-records``."""

from __future__ import annotations

import csv
import json

import pyarrow.parquet as parquet
import pytest

from hushpoll_client import randomize
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.reports import Report, new_report_id, pack_reports


@pytest.fixture(scope="module")
def real_server(tmp_path_factory):
    with Server(tmp_path_factory.mktemp("server"), options=("--close-grace", "0")) as server:
        yield server


@pytest.fixture
def survey(real_server, draft, answers):
    """A survey of forty answers."""
    draft |= {"minimum_batch": 10, "release": "immediate"}
    published = Manifest.from_dict(draft).resolve()
    rows = [Report(new_report_id(), randomize(published, answers).record) for _ in range(40)]
    with AnalystClient(real_server.url, real_server.token) as client:
        client.publish(draft)
        client.submit_bulk(published.name, pack_reports(published.digest, rows))
    return published


@pytest.fixture
def hushpoll(real_server, capsys, monkeypatch):
    monkeypatch.setenv("HUSHPOLL_URL", real_server.url)
    monkeypatch.setenv("HUSHPOLL_TOKEN", real_server.token)

    def call(*arguments):
        with pytest.raises(SystemExit) as caught:
            main(arguments)
        out, err = capsys.readouterr()
        return caught.value.code, out, err

    return call


def test_records_leave_as_tables_and_are_deleted_when_asked(hushpoll, survey, tmp_path):
    name = survey.name
    table = tmp_path / "records.parquet"
    code, out, _ = hushpoll("export", name, "--out", str(table), "--format", "parquet")
    assert (code, out) == (0, f"parquet of the records of {name} version 1 in {table}\n")
    exported = parquet.read_table(table)
    assert exported.column_names == [attribute.name for attribute in survey.attributes]
    assert exported.num_rows == 40
    assert exported.schema.metadata[b"hushpoll.digest"].decode() == survey.digest

    text = tmp_path / "debiased.csv"
    options = ("--format", "csv", "--content", "debiased", "--json")
    code, out, _ = hushpoll("export", name, "--out", str(text), *options)
    assert code == 0
    assert json.loads(out) == {
        "survey": name,
        "version": 1,
        "format": "csv",
        "content": "debiased",
        "bytes": text.stat().st_size,
        "file": str(text),
    }
    with text.open(newline="") as stream:
        assert len(list(csv.reader(stream))) == 1 + 40

    code, _, err = hushpoll("export", name, "--out", f"{text}.records", "--content", "debiased")
    assert (code, "format parquet or csv" in err) == (1, True)
    assert len(text.read_text().splitlines()) == 41  # what was there is not lost

    code, _, err = hushpoll("survey", "delete-records", name, "1", "--yes")
    assert (code, "still takes reports" in err) == (1, True)
    assert hushpoll("survey", "close", name, "--yes")[0] == 0
    code, out, err = hushpoll("survey", "delete-records", name, "1")
    assert (code != 0, out) == (True, "")  # the deletion was not confirmed
    code, out, _ = hushpoll("survey", "delete-records", name, "1", "--yes")
    assert code == 0
    assert out.startswith(f"40 records of {name} version 1 deleted at ")
    code, _, err = hushpoll("export", name, "--out", str(table))
    assert (code, "were deleted" in err) == (1, True)
    code, out, _ = hushpoll("estimate", name, "--json")
    assert (code, json.loads(out)["n"]) == (0, 40)


def test_codebook_and_one_table_of_all_results_become_files(
    real_server, hushpoll, draft, answers, tmp_path
):
    draft |= {"name": "booked", "minimum_batch": 10, "release": "immediate"}
    published, name = Manifest.from_dict(draft).resolve(), "booked"
    rows = [Report(new_report_id(), randomize(published, answers).record) for _ in range(40)]
    with AnalystClient(real_server.url, real_server.token) as client:
        client.publish(draft)
        client.submit_bulk(name, pack_reports(published.digest, rows))
        asked = [f"cross-tables?a={'&b='.join(one.name for one in published.attributes[:2])}"]
        found = client.tidy_results(name, 1, asked)
        assert {row["statistic"] for row in found["rows"]} == {"joint share"}
        assert client.codebook(name, 1)["reports"] == 40
    for ending, start in ((".md", b"# Codebook"), (".html", b"<!doctype html>"), (".json", b"{")):
        path = tmp_path / f"book{ending}"
        code, out, _ = hushpoll("codebook", name, "--out", str(path))
        assert (code, out) == (0, f"The codebook of {name} version 1 is in {path}.\n")
        assert path.read_bytes().startswith(start)
    code, _, err = hushpoll("codebook", name, "--out", str(tmp_path / "book.doc"))
    assert code == 1
    assert ".html, .md, .json" in err
    table = tmp_path / "results.xlsx"
    code, out, _ = hushpoll("results", "table", name, "--out", str(table))
    assert code == 0
    assert table.read_bytes().startswith(b"PK")
    assert f"The result is in {table}." in out


def test_a_questionnaire_is_imported_by_the_client(real_server):
    form = {"title": "Mood", "elements": [{"type": "boolean", "name": "glad"}]}
    with AnalystClient(real_server.url, real_server.token) as client:
        made = client.import_draft(json.dumps(form).encode(), file="mood.json", survey="mood")
        assert client.draft(made["draft"]["id"])["manifest"]["name"] == "mood"
    (question,) = made["report"]["questions"]
    assert (question["question"], question["codes"]) == ("glad", ["false", "true"])
