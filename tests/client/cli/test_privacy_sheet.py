"""``hushpoll privacy-sheet`` from the file of a manifest, and what it refuses."""

from __future__ import annotations

import json

import pytest
from click.testing import CliRunner

from hushpoll_client.cli.sheets import privacy_sheet
from hushpoll_shared.drafts.manifest import Manifest

DRAFT = {
    "name": "work",
    "version": 1,
    "title": "Work",
    "epsilon": "1",
    "attributes": [
        {"name": "well", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
    ],
}


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(DRAFT), encoding="utf-8")
    return path


def run(*words):
    return CliRunner().invoke(privacy_sheet, [str(word) for word in words])


def test_a_sheet_is_written_of_a_draft_and_of_a_published_manifest(file):
    out = file.with_suffix(".html")
    done = run(file, "--out", out, "--language", "de", "--kept-days", 30, "--json")
    assert done.exit_code == 0, done.output
    digest = Manifest.from_dict(DRAFT).resolve().digest
    assert json.loads(done.stdout)["digest"] == digest
    page = out.read_text(encoding="utf-8")
    assert digest in page
    assert "noch nicht veröffentlicht" in page
    file.write_bytes(Manifest.from_dict(DRAFT).resolve().canonical)
    assert run(file, "--out", out, "--language", "de").exit_code == 0
    assert "noch nicht veröffentlicht" not in out.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--out", "sheet.docx"), "whose ending names no sheet; give a file that ends in .html"),
        (("--language", "xx"), "the sheet is written in de, en, es, fr: choose one of them"),
        (("--kept-days", "-1"), "outside [0, 36500]"),
        (("--version", "2"), "A manifest has its version"),
    ],
)
def test_what_cannot_be_written_is_refused_with_the_remedy(file, words, said, monkeypatch):
    monkeypatch.chdir(file.parent)
    done = run(file, *words)
    assert done.exit_code in {1, 2}
    assert said in " ".join(f"{done.output} {done.exception}".split())
    assert list(file.parent.iterdir()) == [file]


def test_a_name_wants_a_server():
    done = run("work")
    assert done.exit_code == 2
    assert "Missing option '--url', the server that has the survey" in done.output
