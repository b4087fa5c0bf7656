from __future__ import annotations

import itertools
import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from hushpoll_client.analyst.analyst_client import AnalystClient
from hushpoll_fleet.demo.processes import Server
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.reading.yaml_reader import parse_yaml
from hushpoll_shared.samples import demo_manifest

NUMBERS = itertools.count()


@pytest.fixture(scope="session")
def real_server(tmp_path_factory) -> Iterator[Server]:
    with Server(
        tmp_path_factory.mktemp("server"), options=("--close-grace", "0", "--no-worker")
    ) as server:
        yield server


@pytest.fixture
def analyst(real_server) -> Iterator[AnalystClient]:
    with AnalystClient(real_server.url, real_server.token) as client:
        yield client


@pytest.fixture
def draft() -> dict:
    """The survey of the demo under a name of its own."""
    return parse_yaml(demo_manifest().encode()) | {"name": f"sample-{next(NUMBERS)}"}


@pytest.fixture
def manifest(draft) -> Manifest:
    return Manifest.from_dict(draft)


@pytest.fixture
def manifest_file(draft, tmp_path) -> Path:
    path = tmp_path / "survey.json"
    path.write_text(json.dumps(draft))
    return path


@pytest.fixture
def hushpoll(real_server, capsys, monkeypatch) -> Callable[..., tuple[int, str, str]]:
    from hushpoll_client.cli.commandline import main

    monkeypatch.setenv("HUSHPOLL_URL", real_server.url)
    monkeypatch.setenv("HUSHPOLL_TOKEN", real_server.token)

    def call(*arguments: object) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as caught:
            main([str(argument) for argument in arguments])
        out, err = capsys.readouterr()
        return caught.value.code, out, err

    return call
