"""The page on embedding the client runs, in order, against a real server."""

from __future__ import annotations

import re
import shlex

import pytest

from hushpoll_client import ClientConfig
from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_client.cli.commandline import main
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.reading.yaml_reader import parse_yaml

FENCE = re.compile(r"^```(python|console)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MANIFEST = re.compile(r"^```yaml\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def test_the_page_runs(root, tmp_path, monkeypatch, capsys):
    page = (root / "docs" / "how-to" / "embed-the-client.md").read_text(encoding="utf-8")
    blocks = FENCE.findall(page)
    assert len(blocks) == 15
    (manifest,) = MANIFEST.findall(page)
    monkeypatch.chdir(tmp_path)
    with Server(tmp_path) as server:
        hasty = ClientConfig(attempts=1)
        with AnalystClient(server.url, server.token, config=hasty) as analyst:
            analyst.publish(parse_yaml(manifest.encode()))
        names: dict[str, object] = {"__name__": "app", "TOKEN": server.token}
        for language, block in blocks:
            if language == "python":
                exec(block.replace("https://polls.example.org", server.url), names)
                continue
            for line in block.splitlines():
                program, *arguments = shlex.split(line.removeprefix("$ "))
                assert program == "hushpoll"
                with pytest.raises(SystemExit) as caught:
                    main(arguments)
                assert caught.value.code == 0
    shown = capsys.readouterr().out
    assert shown.index("Sent in clear") < shown.index("Randomised on this device")
    assert "a withdrawn survey, withdrawn" in shown
