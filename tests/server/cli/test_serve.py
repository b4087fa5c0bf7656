"""``hushpoll serve``: its flags, and the configuration that it prints."""

from __future__ import annotations

import os

import pytest
from click.testing import CliRunner

from hushpoll_server.cli.migrate import migrate
from hushpoll_server.cli.serve import serve
from hushpoll_server.cli.worker import worker
from hushpoll_server.config.settings import SETTINGS


def config(tmp_path, content):
    path = tmp_path / "hushpoll.toml"
    path.write_text(content)
    return path


def run(*arguments, **environment):
    clean = dict.fromkeys(name for name in os.environ if name.startswith("HUSHPOLL_"))
    return CliRunner(env=clean).invoke(serve, arguments, env=environment, catch_exceptions=False)


def test_serve_prints_its_configuration_and_ends(tmp_path):
    file = config(tmp_path, "threads = 9")
    found = run("--print-config", "--close-grace", "5", HUSHPOLL_CONFIG=str(file))
    assert found.exit_code == 0
    lines = found.output.splitlines()
    assert len(lines) == len(SETTINGS)
    assert f"threads = 9  # file {file}" in lines
    assert "pool_size = 13  # default, threads + 4" in lines
    assert "close_grace_seconds = 5  # flag --close-grace-seconds" in lines


def test_serve_has_a_flag_for_every_setting_and_says_what_it_takes():
    shown = " ".join(run("--help").output.split())
    for setting in SETTINGS.values():
        assert f"{setting.flag}" in shown
        assert " ".join(f"{setting.description} [{setting.interval}; default:".split()) in shown


def test_invalid_flag_is_a_usage_error_and_invalid_variable_a_refusal(tmp_path):
    found = run("--threads", "501")
    assert found.exit_code == 2
    assert r"Invalid value for '--threads': THREADS is 501, outside [1, 500]" in found.output
    assert run("--treads", "5").exit_code == 2
    refused = run("--print-config", HUSHPOLL_THREADS="501")
    assert refused.exit_code == 1
    assert "outside [1, 500]; give a whole number inside it (environment HUSHPOLL_THREADS)" in (
        refused.output
    )


@pytest.mark.parametrize(
    ("command", "listed", "hidden"),
    [
        (worker, ["--database-url", "--job-seconds", "--seal-at"], ["--port", "--metrics-token"]),
        (migrate, ["--database-url-file"], ["--port", "--job-seconds"]),
    ],
)
def test_other_commands_list_the_settings_that_they_use_and_take_all(command, listed, hidden):
    clean = dict.fromkeys(name for name in os.environ if name.startswith("HUSHPOLL_"))
    shown = CliRunner(env=clean).invoke(command, ["--help"]).output
    assert [flag for flag in [*listed, *hidden] if f"  {flag} " in shown] == listed
    found = CliRunner(env=clean).invoke(command, ["--port", "81", "--print-config"])
    assert "port = 81  # flag --port" in found.output
