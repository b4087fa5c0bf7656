from __future__ import annotations

import psutil
import pytest
import requests

from hushpoll_fleet.demo.processes import CommandFailed, Server, run_json
from waiting import LONGEST_SECONDS


def running(directory) -> list[psutil.Process]:
    """Processes that run in `directory`."""
    found = []
    for process in psutil.process_iter():
        try:
            if process.cwd() == str(directory):
                found.append(process)
        except psutil.Error:
            continue
    return found


def test_a_server_lives_as_long_as_its_block(tmp_path):
    with Server(tmp_path) as server:
        assert server.url.startswith("http://127.0.0.1:")
        assert server.token.startswith("hp_")
        assert requests.get(f"{server.url}/health", timeout=LONGEST_SECONDS).status_code == 200
        assert running(tmp_path)
    assert running(tmp_path) == []
    server.stop()


def test_a_server_ends_with_an_error_in_its_block(tmp_path):
    with pytest.raises(RuntimeError, match="in between"), Server(tmp_path):
        raise RuntimeError("in between")
    assert running(tmp_path) == []


def test_a_server_that_cannot_start_says_why(tmp_path):
    server = Server(tmp_path, options=("--database-url", "nonsense://"))
    with (
        pytest.raises(CommandFailed, match=r"serve ended with code \d+: Error: .*nonsense"),
        server,
    ):
        pass
    assert running(tmp_path) == []


def test_a_server_that_takes_too_long_is_ended(tmp_path):
    server = Server(tmp_path, seconds=0.0)
    with pytest.raises(CommandFailed, match="did not start in time"), server:
        pass
    assert running(tmp_path) == []


def test_a_failed_command_carries_its_code(capfd, tmp_path):
    with pytest.raises(CommandFailed, match="hushpoll survey ended with code 2") as caught:
        run_json(["survey", "nothing"], {}, tmp_path)
    assert caught.value.code == 2
    assert "No such command" in capfd.readouterr().err


def test_the_environment_reaches_the_command(real_server, tmp_path):
    document = run_json(["survey", "list"], {"HUSHPOLL_URL": real_server.url}, tmp_path)
    assert set(document) == {"surveys"}
