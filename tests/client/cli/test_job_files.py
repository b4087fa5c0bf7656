"""A result's file has the form that its ending names, or is refused."""

import pytest

from client.whole_documents import job_document
from hushpoll_client.cli.jobs import job
from hushpoll_shared.jobs.registry import all_jobs

ID = "ab" * 16


@pytest.fixture
def fetch(server, steps, tmp_path, monkeypatch):
    from click.testing import CliRunner

    def run(kind, name, out):
        document = job_document(ID, "done", kind=kind)
        server.play(
            steps.respond(200, document | {"result": {"name": name, "size": 2}}),
            steps.respond(200, {}),
        )
        monkeypatch.setenv("HUSHPOLL_TOKEN", "t0ken")
        return CliRunner().invoke(
            job, ["result", ID, "--url", server.url, "--out", str(tmp_path / out)]
        )

    return run


@pytest.mark.parametrize("kind", [name for name, kind in all_jobs().items() if kind.table])
@pytest.mark.parametrize(("out", "query"), [("j.csv", "?format=csv"), ("j.json", ""), ("j", "")])
def test_ending_names_the_form(server, fetch, kind, out, query):
    result = fetch(kind, "result.json", out)
    assert result.exit_code == 0, result.output
    assert server.seen[-1].path == f"/api/v1/jobs/{ID}/result{query}"


@pytest.mark.parametrize(
    ("kind", "name", "out"), [("train", "m.zip", "m.csv"), ("table", "t.json", "t.zip")]
)
def test_ending_of_another_file_is_refused(server, fetch, tmp_path, kind, name, out):
    result = fetch(kind, name, out)
    assert result.exit_code != 0
    assert "give a file that ends in" in str(result.exception) + result.output
    assert not (tmp_path / out).exists()
    assert len(server.seen) == 1
