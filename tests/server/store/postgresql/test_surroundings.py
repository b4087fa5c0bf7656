"""Databases and poolers on which reports could be lost are refused at the start, with a remedy."""

from __future__ import annotations

import pytest
from psycopg import sql

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server import create_app
from hushpoll_server.config.url_text import read_url
from hushpoll_server.store.database import Database
from pooler import pgbouncer
from sample_survey import SURVEYS, make_draft

pytestmark = pytest.mark.postgresql
GERMAN = "Wie wohnen Sie? – 家"


@pytest.mark.parametrize("encoding", ["LATIN1", "SQL_ASCII"])
def test_database_of_another_encoding_is_refused_with_the_command_that_makes_one(
    postgres, encoding
):
    name = f"hushpoll_{encoding.lower()}"
    postgres.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
    postgres.run(f"CREATE DATABASE {name} ENCODING '{encoding}' LOCALE 'C' TEMPLATE template0")
    with pytest.raises(InvalidParameter, match=f"whose encoding is {encoding} .*ENCODING 'UTF8'"):
        create_app({"DATABASE_URL": postgres.url(name)})
    postgres.run(f"DROP DATABASE {name} WITH (FORCE)")


def test_search_path_without_a_schema_is_refused_and_a_later_one_is_taken(
    new_database_url, postgres
):
    name = sql.Identifier(read_url(new_database_url).database)
    change = sql.SQL("ALTER DATABASE {} SET search_path = {}")
    postgres.run(change.format(name, sql.SQL("gone, missing")))
    with pytest.raises(InvalidParameter, match="search_path is 'gone, missing' and names no"):
        create_app({"DATABASE_URL": new_database_url})
    postgres.run(change.format(name, sql.SQL("gone, public")))
    create_app({"DATABASE_URL": new_database_url})


def test_client_encoding_of_role_and_environment_changes_nothing(make_site, postgres, monkeypatch):
    monkeypatch.setenv("PGCLIENTENCODING", "LATIN1")
    postgres.run("ALTER ROLE postgres SET client_encoding = 'SQL_ASCII'")
    try:
        site = make_site()
        assert site.post(SURVEYS, json=make_draft(title=GERMAN)).status_code == 201
        assert site.row().title == GERMAN
    finally:
        postgres.run("ALTER ROLE postgres RESET client_encoding")


@pytest.mark.parametrize("pool_size", [1, 5])
def test_pooler_that_shares_sessions_is_refused_and_one_that_does_not_is_taken(
    new_database_url, pool_size
):
    with pgbouncer(new_database_url, pool_mode="transaction", pool_size=pool_size) as url:
        for _ in range(3):  # also with the sessions of earlier connections
            with pytest.raises(InvalidParameter, match="pool_mode = transaction"):
                create_app({"DATABASE_URL": url})
    with pgbouncer(new_database_url, pool_mode="session", pool_size=10) as url:
        Database(url, pool_size=1).close()
