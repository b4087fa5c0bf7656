"""``hushpoll migrate``, forwards, backwards and only looking."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from hushpoll_server.cli.migrate import migrate
from hushpoll_server.store import migrate as schema
from hushpoll_server.store.database import Database
from hushpoll_server.store.lock import acquire

HEAD = schema.head()


def run(url, *arguments):
    found = CliRunner().invoke(migrate, ["--database-url", url, *arguments])
    return found.exit_code, found.output


def test_a_new_database_is_brought_to_the_newest_version_and_back(new_database_url):
    url = new_database_url
    assert run(url, "--check") == (1, f"schema version none, wanted {HEAD}\n")
    assert run(url) == (0, f"schema version none -> {HEAD}\n")
    assert run(url, "--check") == (0, f"schema version {HEAD}, wanted {HEAD}\n")
    assert run(url) == (0, f"schema version {HEAD}, nothing to do\n")
    assert run(url, "--to", "base") == (0, f"schema version {HEAD} -> none\n")
    assert run(url, "--check", "--to", "base") == (0, "schema version none, wanted none\n")


def test_a_look_makes_no_file(tmp_path):
    assert run(f"sqlite:///{tmp_path}/absent.sqlite", "--check")[0] == 1
    assert list(tmp_path.iterdir()) == []


def test_unknown_schema_versions_are_refused(new_database_url):
    code, said = run(new_database_url, "--to", "9999")
    assert (code, said.startswith("Error: --to is '9999'; give one of base, 0001")) == (1, True)
    run(new_database_url)
    database = Database(new_database_url, pool_size=1)
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    assert run(new_database_url, "--check") == (1, f"schema version 9999, wanted {HEAD}\n")
    code, said = run(new_database_url)
    assert (code, "has schema version '9999'; this program knows" in said) == (1, True)


@pytest.mark.parametrize("arguments", [[], ["--check"], ["--to", "base"]])
def test_database_of_a_development_version_is_refused(new_database_url, arguments):
    database = Database(new_database_url, pool_size=1)
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE tallies (version_id INTEGER)")
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('0009')")
    database.close()
    code, message = run(new_database_url, *arguments)
    assert code == 1
    assert "has schema version '0009' of a development version" in message


@pytest.mark.sqlite
def test_database_in_use_is_not_migrated(new_database_url, tmp_path):
    with acquire(new_database_url):
        code, said = run(new_database_url)
    assert (code, "another hushpoll serve is using" in said) == (1, True)
    assert Path(tmp_path / "new.sqlite").stat().st_size == 0
