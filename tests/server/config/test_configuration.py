"""Settings from flag, environment and file: precedence, refusals, secrets."""

from __future__ import annotations

import os
import re
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner
from pydantic import ValidationError

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server import create_app
from hushpoll_server.cli.serve import serve
from hushpoll_server.config.configuration import OTHER_VARIABLES, load, masked
from hushpoll_server.config.settings import SETTINGS, Settings

ROOT = Path(__file__).parents[3]
VARIABLE = re.compile(r"\bHUSHPOLL_[A-Z0-9_]*[A-Z0-9]\b")


def config(tmp_path, content):
    path = tmp_path / "hushpoll.toml"
    path.write_text(content)
    return path


def read(flags=None, environment=None, file=None):
    return load(flags=flags or {}, environment=environment or {}, file=file)


def test_a_flag_goes_before_a_variable_before_the_file_before_the_default(tmp_path):
    file = config(tmp_path, "port = 1001\nthreads = 41\nseal_at = 5")
    found = read(
        {"port": "1003"}, {"HUSHPOLL_PORT": "1002", "HUSHPOLL_THREADS": "42", "PATH": "x"}, file
    )
    settings = found.settings
    assert (settings.port, settings.threads, settings.seal_at) == (1003, 42, 5)
    assert settings.max_tokens == SETTINGS["max_tokens"].default
    assert {name: found.origins[name] for name in ("port", "threads", "seal_at", "max_tokens")} == {
        "port": "flag --port",
        "threads": "environment HUSHPOLL_THREADS",
        "seal_at": f"file {file}",
        "max_tokens": "default",
    }


def test_value_of_a_later_place_is_not_read(tmp_path):
    """A flag can stand in for a variable or a secret's file that cannot be used."""
    file = config(tmp_path, "port = 'none'\ndatabase_url_file = '/absent/url'")
    variables = {"HUSHPOLL_PORT": "none", "HUSHPOLL_METRICS_TOKEN_FILE": "/absent/token"}
    flags = {"port": "1003", "metrics_token": "token-of-the-flags"}
    settings = read(flags, {**variables, "HUSHPOLL_DATABASE_URL": "sqlite:///y"}, file).settings
    assert (settings.port, settings.database_url) == (1003, "sqlite:///y")
    assert settings.metrics_token == "token-of-the-flags"
    for name, where in (("port", "HUSHPOLL_PORT"), ("metrics_token", "HUSHPOLL_METRICS_TOKEN_FI")):
        rest = {key: text for key, text in flags.items() if key != name}
        with pytest.raises(InvalidParameter, match=rf"\(environment {where}"):
            read(rest, {**variables, "HUSHPOLL_DATABASE_URL": "sqlite:///y"}, file)
    with pytest.raises(InvalidParameter, match="'/absent/url', which cannot be read"):
        read(flags, variables, file)


def test_pool_size_follows_the_threads_unless_set():
    assert read({"threads": "7"}).settings.pool_size == 11
    assert read({"threads": "7", "pool_size": "3"}).settings.pool_size == 3
    assert SETTINGS["pool_size"].default == SETTINGS["threads"].default + 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("fold_at = 4", "did you mean 'seal_at'"),
        ("treads = 4", "unknown configuration key 'treads' in .*toml; did you mean 'threads'"),
        ("zzz = 4", "unknown configuration key 'zzz' .*known keys are database_url, pool_size"),
        ("[threads]\nof = 4", r"THREADS is {'of': 4}, which is not a whole .*file .*toml"),
        ("threads = '4'", r"is a text and not a whole number; give a whole number in \[1, 500\]"),
        ("threads = 4.0", "THREADS is 4.0, which is not a whole number"),
        ("threads = true", "THREADS is True, which is not a whole number"),
        ("threads = 501", r"THREADS is 501, outside \[1, 500\]; give a whole number inside it"),
        ("threads = ", "which is no TOML: Invalid value"),
        ("threads = 1\nthreads = 2", "which is no TOML: Cannot overwrite a value"),
        ("log_level = 'loud'", "LOG_LEVEL is 'loud', .*give one of debug, info, warning, error"),
        ("host = ''", "HOST is '', which is not text"),
        ("max_json_bytes = 99999999", r"MAX_JSON_BYTES is 99999999, outside \[256, 10485760\]"),
        ("database_url_file = 3", "database_url_file is 3, which is no path"),
        ("database_url_file = '/absent/x'", "cannot be read .No such file"),
        (r'database_url_file = "x\u0000"', "which is no path"),
    ],
)  # fmt: skip
def test_invalid_configuration_file_is_refused_by_key_and_file(tmp_path, content, message):
    with pytest.raises(InvalidParameter, match=message):
        read(file=config(tmp_path, content))


def test_a_file_that_cannot_be_read_is_refused(tmp_path):
    with pytest.raises(InvalidParameter, match="cannot be read"):
        read(file=tmp_path / "absent")
    (tmp_path / "latin").write_bytes(b"host = '\xe9'")
    with pytest.raises(InvalidParameter, match="is not UTF-8"):
        read(file=tmp_path / "latin")
    (tmp_path / "large").write_bytes(b"#" * (2**20 + 1))
    with pytest.raises(InvalidParameter, match="is larger than 1048576 bytes"):
        read(file=tmp_path / "large")


@pytest.mark.parametrize(
    ("environment", "message"),
    [
        ({"HUSHPOLL_FOLD_AT": "4"}, "did you mean 'HUSHPOLL_SEAL_AT'"),
        ({"HUSHPOLL_JOBS_URL": "redis://h"}, "the table of jobs, and no setting takes its place"),
        ({"HUSHPOLL_JOB_MAX_TREES": "4"}, "did you mean 'HUSHPOLL_JOB_PARAMETER_LIMITS'"),
        ({"HUSHPOLL_JOB_MAX_BINS": "4"}, "did you mean 'HUSHPOLL_JOB_PARAMETER_LIMITS'"),
        ({"HUSHPOLL_TREADS": "4"}, "'HUSHPOLL_TREADS' in the environment; did you mean 'HUSHP"),
        ({"HUSHPOLL_threads": "4"}, "unknown configuration key 'HUSHPOLL_threads'"),
        ({"HUSHPOLL_THREADS": "4 "}, r"THREADS is '4 '.*\(environment HUSHPOLL_THREADS\)"),
        ({"HUSHPOLL_THREADS": "1_0"}, "THREADS is '1_0'"),
        ({"HUSHPOLL_THREADS": "٤"}, "THREADS is '٤'"),
        ({"HUSHPOLL_THREADS": ""}, "THREADS is ''"),
        ({"HUSHPOLL_THREADS": "0"}, r"outside \[1, 500\].*\(environment HUSHPOLL_THREADS\)"),
        ({"HUSHPOLL_REQUEST_SECONDS": "nan"}, "REQUEST_SECONDS is 'nan'"),
        ({"HUSHPOLL_THREADS": "[" * 10**5}, r"which is a text and not a whole number.*THREADS\)"),
        ({"HUSHPOLL_DATABASE_URL_FILE": "\ud800"}, "has a name that no file can have"),
        ({"HUSHPOLL_CLOCK": "noon"}, "unknown configuration key 'HUSHPOLL_CLOCK'"),
    ],
)  # fmt: skip
def test_invalid_environment_variable_is_refused_by_name(environment, message):
    with pytest.raises(InvalidParameter, match=message):
        read(environment=environment)


def test_variables_of_other_commands_are_ignored():
    assert read(environment=dict.fromkeys(OTHER_VARIABLES, "x")).origins["port"] == "default"
    assert not {setting.variable for setting in SETTINGS.values()} & OTHER_VARIABLES.keys()


def test_every_variable_of_the_repository_is_a_setting_or_known():
    """Guards: a server that refuses to start where a script or test sets its own variable."""
    found = set()
    for top in ("client", "server", "shared", "protocols", "scripts", "tests", "docs"):
        for path in (ROOT / top).rglob("*"):
            ours = path != Path(__file__) and "node_modules" not in path.parts
            if ours and path.suffix in (".py", ".md", ".js", "") and path.is_file():
                found |= set(VARIABLE.findall(path.read_text("utf-8", "replace")))
    known = {setting.variable for setting in SETTINGS.values()} | OTHER_VARIABLES.keys()
    secret = {f"{setting.variable}_FILE" for setting in SETTINGS.values() if setting.secret}
    assert "HUSHPOLL_URL" in found
    assert found <= known | secret


def test_a_secret_is_read_from_its_file(tmp_path):
    secret = tmp_path / "url"
    secret.write_text("postgresql://me:word@db/x\n")
    for found in (
        read({"database_url_file": str(secret)}, {"HUSHPOLL_DATABASE_URL": "sqlite:///y"}),
        read(environment={"HUSHPOLL_DATABASE_URL_FILE": str(secret)}),
        read(file=config(tmp_path, f"database_url_file = '{secret}'")),
    ):
        assert found.settings.database_url == "postgresql://me:word@db/x"
        assert str(secret) in found.origins["database_url"]
        assert "word" not in found.shown()
    both = {"HUSHPOLL_DATABASE_URL_FILE": str(secret), "HUSHPOLL_DATABASE_URL": "sqlite:///y"}
    with pytest.raises(InvalidParameter, match="database_url and database_url_file are both given"):
        read(environment=both)
    for content in ("", "\n", "one\ntwo\n"):
        secret.write_text(content)
        with pytest.raises(InvalidParameter, match="its only line"):
            read({"database_url_file": str(secret)})


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("sqlite:///a.sqlite", "sqlite:///a.sqlite"),
        ("postgresql://me:wo%40rd@db:5432/x", "postgresql://me:***@db:5432/x"),
        ("postgresql://me@db/x?password=word&a=b", "postgresql://me@db/x?a=b&password=masked"),
        ("redis://:word@queue:6379/0", "redis://:***@queue:6379/0"),
        ("word", "***"),
    ],
)
def test_passwords_in_urls_are_masked(url, shown):
    assert masked(url) == shown


def test_printed_configuration_read_as_a_file_gives_the_same(tmp_path):
    shown = read({"port": "77", "seal_idle_seconds": "1e-2"}).shown()
    assert "port = 77  # flag --port" in shown.splitlines()
    again = read(file=config(tmp_path, shown))
    assert again.shown().replace(f"file {tmp_path}/hushpoll.toml", "?") == re.sub(
        r"(?m)^(\w+ = .*  # ).*$", r"\1?", shown
    )
    assert tomllib.loads(shown)["seal_idle_seconds"] == 0.01


def test_a_refused_secret_is_not_shown():
    with pytest.raises(InvalidParameter, match=re.escape("DATABASE_URL is ***, which is not text")):
        Settings(database_url="postgresql://me:word@db/\0")


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


def test_every_kind_of_setting_reads_a_text_and_refuses_another_value():
    good = {
        "port": ("3", 3, 70_000),
        "request_seconds": ("0.25", 0.25, 0.01),
        "sealing": ("worker", "worker", "nobody"),
        "host": ("x", "x", ""),
        "behind_tls": ("true", True, 1),
        "metrics_token": ("", None, "short"),
    }
    for name, (text, expected, refused) in good.items():
        value = SETTINGS[name].parse(text)
        assert getattr(Settings(**{name: value}), name) == expected
        with pytest.raises(InvalidParameter, match=name.upper()):
            Settings(**{name: refused})
    for name, text in {"port": "x", "request_seconds": "", "behind_tls": "yes"}.items():
        with pytest.raises(InvalidParameter, match=name.upper()):
            SETTINGS[name].parse(text)


def test_a_bound_that_is_another_setting_is_checked_with_its_value():
    assert Settings(max_json_bytes=2048, max_body_bytes=2048).max_json_bytes == 2048
    with pytest.raises(InvalidParameter, match=r"MAX_JSON_BYTES is 2049, outside \[256, 2048\]"):
        Settings(max_json_bytes=2049, max_body_bytes=2048)
    with pytest.raises(InvalidParameter, match=r"MAX_JSON_BYTES is 5, outside \[256, 10485760\]"):
        Settings(max_json_bytes=5)


def test_an_unknown_name_is_refused_with_the_nearest():
    with pytest.raises(InvalidParameter, match="'prot'; did you mean 'port'"):
        Settings(prot=5)


def test_changed_settings_are_checked_again():
    settings = Settings(port=5)
    assert (settings.changed(threads=7).port, settings.changed(threads=7).threads) == (5, 7)
    with pytest.raises(InvalidParameter, match="THREADS is 0"):
        settings.changed(threads=0)


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"DATABASE": "x"}, "DATABASE"),
        ({"database_url": "x"}, "database_url"),
        ({"MAX_BODY_BYTES": 10}, "MAX_BODY_BYTES"),
        ({"MAX_BODY_BYTES": 1500.5}, "MAX_BODY_BYTES"),
        ({"MAX_JSON_BYTES": 2**29}, "MAX_JSON_BYTES"),
        ({"MAX_BULK_REPORTS": 10**9}, "MAX_BULK_REPORTS"),
        ({"REQUEST_SECONDS": -1}, "REQUEST_SECONDS"),
        ({"REQUEST_SECONDS": float("nan")}, "REQUEST_SECONDS"),
        ({"GROUP_COMMIT_REPORTS": 0}, "GROUP_COMMIT_REPORTS"),
        ({"QUEUE_REPORTS": True}, "QUEUE_REPORTS"),
        ({"CLOSE_GRACE_SECONDS": "60"}, "CLOSE_GRACE_SECONDS"),
        ({"SEAL_AT": 1500.5}, "SEAL_AT"),
        ({"SEAL_IDLE_SECONDS": 0}, "SEAL_IDLE_SECONDS"),
        ({"MAX_TOKENS": 0}, "MAX_TOKENS"),
        ({"POOL_SIZE": 0}, "POOL_SIZE"),
    ],
)
def test_invalid_setting_of_the_application_is_refused_by_key(config, field):
    """Guards: 1500.5 used to be taken for a number of bytes or connections."""
    with pytest.raises(InvalidParameter, match=field) as refused:
        create_app(config)
    assert refused.value.field == field


def test_the_configuration_has_defaults_and_is_frozen():
    settings = Settings.from_mapping({"TESTING": True, "SEAL_AT": 7})
    assert settings.seal_at == 7
    assert settings.database_url == "sqlite:///hushpoll.sqlite"
    with pytest.raises(ValidationError, match="frozen"):
        settings.seal_at = 8
