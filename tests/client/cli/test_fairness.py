"""The command that asks a server for fairness, where the server's answer is unusable."""

import pytest

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main


@pytest.mark.parametrize("more", [(), ("--json",)])
def test_unusable_answer_leaves_the_file_of_an_earlier_report(tmp_path, monkeypatch, capsys, more):
    """Guards: the file was replaced before the answer was looked at."""
    monkeypatch.setattr(AnalystClient, "fairness", lambda *_args, **_kwargs: {"unexpected": 1})
    monkeypatch.setenv("HUSHPOLL_TOKEN", "token")
    earlier = tmp_path / "report.json"
    earlier.write_text("earlier", encoding="utf-8")
    arguments = ("work", "--url", "http://127.0.0.1:9", "--version", "1", "--out", str(earlier))
    with pytest.raises(SystemExit) as ended:
        main(["fairness", "survey", *arguments, *more])
    assert ended.value.code != 0
    assert "does not have the form" in capsys.readouterr().err
    assert earlier.read_text(encoding="utf-8") == "earlier"
