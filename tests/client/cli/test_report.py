"""``hushpoll report`` waits for a short report, and lets a worker make a long one."""

from __future__ import annotations

import json

import pytest

from client.whole_documents import job_document
from hushpoll_client.cli.reports import report
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.jobs.files import MOST_FIGURES_AT_ONCE

ID = "ab" * 16


@pytest.fixture
def run(tmp_path, monkeypatch):
    from click.testing import CliRunner

    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HUSHPOLL_TOKEN", "t0ken")

    def run(*words: str):
        return CliRunner().invoke(report, words)

    return run


def survey(questions: int) -> bytes:
    attributes = [
        {"name": f"q{number}", "role": "plain", "categories": ["no", "yes"]}
        for number in range(questions - 1)
    ]
    sensitive = {"name": "s", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]}
    return (
        Manifest.from_dict(
            {
                "name": "many",
                "version": 1,
                "title": "Many",
                "epsilon": "1",
                "attributes": [sensitive, *attributes],
            }
        )
        .resolve()
        .canonical
    )


def test_short_report_is_fetched_at_once(run, server, steps, tmp_path):
    server.play(steps.respond(200, survey(3)), steps.respond(200, {}), steps.respond(200, {}))
    words = ("many", "--cross", "s,q1", "--bundle", "many.zip", "--no-fairness", "--json")
    result = run(*words, "--url", server.url)
    assert result.exit_code == 0, result.output
    assert json.loads(result.stdout)["files"] == {"many.html": 2, "many.zip": 2}
    asked = [request.path for request in server.seen[1:]]
    path = "/api/v1/surveys/many/versions/1/report?format="
    assert asked == [f"{path}{form}&cross=s%3Aq1&fairness=false" for form in ("html", "bundle")]


def test_long_report_is_the_result_of_a_job(run, server, steps, tmp_path):
    server.play(
        steps.respond(200, survey(MOST_FIGURES_AT_ONCE + 1)),
        steps.respond(202, job_document(ID, "queued")),
        steps.respond(200, job_document(ID, "done")),
        steps.respond(200, {}),
    )
    result = run("many", "--out", "many.html", "--url", server.url)
    assert result.exit_code == 0, result.output
    assert server.seen[1].path == "/api/v1/surveys/many/versions/1/jobs/report"
    assert server.seen[-1].path == f"/api/v1/jobs/{ID}/result"
    assert (tmp_path / "many.html").read_text() == "{}"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "Missing argument 'NAME'"),
        (("many",), "Missing option '--url'"),
        (("many", "--out", "many.docx"), "ends in .html or .pdf"),
        (("many", "--from", "many.zip"), "NAME or --from, not both"),
        (("--from", "many.zip"), "no bundle of a report"),
    ],
)
def test_report_says_what_is_wrong(run, tmp_path, monkeypatch, words, said):
    monkeypatch.delenv("HUSHPOLL_URL", raising=False)
    (tmp_path / "many.zip").write_bytes(b"no ZIP")
    result = run(*words)
    assert result.exit_code != 0
    assert said in result.output + str(result.exception)
    assert not (tmp_path / "many.html").exists()
