"""Settings from flag, environment and file: precedence, refusals, secrets."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.config.configuration import OTHER_VARIABLES, load, masked
from hushpoll_server.config.settings import SETTINGS

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
    with pytest.raises(InvalidParameter, match="is no UTF-8 text"):
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
    secret.write_text("postgresql://me:w0rd@db/x\n")
    for found in (
        read({"database_url_file": str(secret)}, {"HUSHPOLL_DATABASE_URL": "sqlite:///y"}),
        read(environment={"HUSHPOLL_DATABASE_URL_FILE": str(secret)}),
        read(file=config(tmp_path, f"database_url_file = '{secret}'")),
    ):
        assert found.settings.database_url == "postgresql://me:w0rd@db/x"
        assert str(secret) in found.origins["database_url"]
        assert "w0rd" not in found.shown()
    both = {"HUSHPOLL_DATABASE_URL_FILE": str(secret), "HUSHPOLL_DATABASE_URL": "sqlite:///y"}
    with pytest.raises(InvalidParameter, match="database_url and database_url_file are both given"):
        read(environment=both)
    secret.write_bytes(b"\xef\xbb\xbfpostgresql://me:w0rd@db/x\r\n")
    found = read({"database_url_file": str(secret)})
    assert found.settings.database_url == "postgresql://me:w0rd@db/x"
    marked = tmp_path / "marked.toml"
    marked.write_bytes(f"\ufeffdatabase_url_file = '{secret}'\r\n".encode())
    assert read(file=marked).settings.database_url == "postgresql://me:w0rd@db/x"
    secret.write_bytes("postgresql://me:w0rd@db/x".encode("utf-16"))
    with pytest.raises(InvalidParameter, match="is no UTF-8 text, but text in UTF-16") as caught:
        read({"database_url_file": str(secret)})
    assert str(secret) in str(caught.value)
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
