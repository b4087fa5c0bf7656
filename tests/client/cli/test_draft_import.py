from __future__ import annotations

import json

from click.testing import CliRunner

from hushpoll_client.cli.drafts import import_draft
from hushpoll_shared.cli.manifest_commands import check
from hushpoll_shared.drafts.manifest import load_document
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from workbooks import xlsform

FORM = xlsform(
    [("select_one yn", "smokes", "Do you smoke?"), ("text", "name", "Your name?")],
    [("yn", "y", "Yes"), ("yn", "n", "No")],
)


def run(*arguments, **more):
    return CliRunner().invoke(import_draft, [str(one) for one in arguments], **more)


def test_a_form_becomes_a_file_and_a_report(tmp_path):
    form = tmp_path / "form.xlsx"
    form.write_bytes(FORM)
    for out in (tmp_path / "survey.yaml", tmp_path / "survey.json"):
        done = run(form, "--out", out)
        assert done.exit_code == 0, done.output
        assert "2 questions in the file: 1 taken, 0 changed, 0 to be decided, 1 dropped" in (
            " ".join(done.output.split())
        )
        assert "name (survey, row 3): It asks for free text" in done.output
        assert manifest_problems(load_document(out)) == ()
    document = json.loads(run(form, "--out", tmp_path / "x.yaml", "--json").output)
    assert document["report"]["counts"]["dropped"] == 1
    assert document["manifest"]["attributes"][0]["name"] == "smokes"


def test_what_is_missing_or_wrong_is_told_with_the_remedy(tmp_path):
    form = tmp_path / "form.xlsx"
    form.write_bytes(b"%PDF-1.7")
    assert "a PDF file" in run(form, "--out", tmp_path / "a.yaml").output
    assert not (tmp_path / "a.yaml").exists()
    assert "Give --out for a file, or --url" in run(form, env={"HUSHPOLL_URL": ""}).output
    nowhere = run(form, "--out", tmp_path / "none" / "a.yaml")
    assert "is no directory; make it first" in str(nowhere.exception)


def test_the_how_to_page_s_form_gives_what_the_page_says(root, tmp_path):
    page = (root / "docs" / "how-to" / "import-a-form.md").read_text(encoding="utf-8")
    form, out = tmp_path / "form.csv", tmp_path / "survey.yaml"
    form.write_text(page.split("```text\n")[1].split("```")[0], encoding="utf-8")
    done = run(form, "--out", out)
    assert "2 taken, 0 changed, 0 to be decided, 1 dropped" in " ".join(done.output.split())
    smokes, daily = load_document(out)["attributes"]
    assert smokes["categories"] == ["Yes", "No"]
    assert daily["ask_if"] == {"smokes": ["Yes"]}
    assert CliRunner().invoke(check, [str(out)]).exit_code == 0
