"""Schema versions: new and old databases get the same tables, and unknown versions are refused."""

from __future__ import annotations

from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from sqlalchemy import inspect, text

from hushpoll_server import create_app
from hushpoll_server.errors import SchemaRefused
from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import metadata

SCHEMAS = Path(__file__).parent / "schemas"


@pytest.fixture
def database(new_database_url):
    database = Database(new_database_url)
    yield database
    database.close()


def tables(database):
    return set(inspect(database.engine).get_table_names())


def schema_of(database):
    """Reflect what the metadata does not compare: triggers, rules, how PostgreSQL keeps columns."""
    if database.engine.dialect.name == "sqlite":
        with database.reading() as connection:
            triggers = "SELECT name, sql FROM sqlite_master WHERE type = 'trigger'"
            return set(connection.execute(text(triggers)).all())
    rules = "SELECT rulename, definition FROM pg_rules WHERE schemaname = 'public'"
    statement = """
        SELECT relname, attname, attstattarget, CAST(attstorage AS text)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = CAST('public' AS regnamespace) AND relkind = 'r'
          AND relname <> 'alembic_version' AND attnum > 0
    """
    with database.reading() as connection:
        return {
            *connection.execute(text(statement)).all(),
            *connection.execute(text(rules)).all(),
        }


def test_versions_are_those_that_alembic_finds():
    """They are read from the names of the files, so that no server loads Alembic to start."""
    config = Config()
    config.set_main_option("script_location", str(migrate.MIGRATIONS))
    walked = ScriptDirectory.from_config(config).walk_revisions()
    assert migrate.known() == [script.revision for script in walked][::-1]


def test_the_version_s_table_is_as_alembic_makes_it(database, request, tmp_path):
    url = f"sqlite:///{tmp_path}/alembic.sqlite"
    if database.engine.dialect.name == "postgresql":
        url = request.getfixturevalue("postgres").create("hushpoll_alembic")
    theirs = Database(url)
    with theirs.writing() as connection:
        MigrationContext.configure(connection)._ensure_version_table()
    migrate.upgrade(database)
    table = migrate.VERSION_TABLE

    def described(one):
        found = inspect(one.engine)
        columns = [{**column, "type": str(column["type"])} for column in found.get_columns(table)]
        return columns, found.get_pk_constraint(table)

    assert described(database) == described(theirs)
    theirs.close()


def test_new_database_has_the_tables_of_the_metadata(database):
    migrate.upgrade(database)
    assert migrate.current(database) == migrate.head()
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []


def test_database_of_the_first_release_is_migrated_to_the_tables_of_a_new_one(
    database, new_database_url, request, tmp_path
):
    """A change of the tables without a migration fails here."""
    dialect = database.engine.dialect.name
    script = (SCHEMAS / f"0001.{dialect}.sql").read_text(encoding="utf-8")
    with database.writing() as connection:
        for statement in script.split(";\n"):
            if statement.strip():
                connection.exec_driver_sql(statement)
    migrate.upgrade(database)
    assert migrate.current(database) == migrate.head()
    with database.reading() as connection:
        assert compare_metadata(MigrationContext.configure(connection), metadata) == []
    url = f"sqlite:///{tmp_path}/newest.sqlite"
    if dialect == "postgresql":
        url = request.getfixturevalue("postgres").create("hushpoll_newest")
    newest = Database(url)
    migrate.upgrade(newest)
    assert schema_of(database) == schema_of(newest)
    newest.close()


def test_database_of_a_development_version_is_refused_and_unchanged(database, new_database_url):
    with database.writing() as connection:
        connection.exec_driver_sql("CREATE TABLE tallies (version_id INTEGER)")
        connection.exec_driver_sql("CREATE TABLE alembic_version (version_num VARCHAR(32))")
        connection.exec_driver_sql("INSERT INTO alembic_version VALUES ('0001')")
    expected = r"schema version '0001' of a development version.*export its records.*new database"
    with pytest.raises(SchemaRefused, match=expected):
        create_app({"DATABASE_URL": new_database_url})
    assert tables(database) == {"tallies", "alembic_version"}


def test_going_back_to_base_removes_every_table_of_a_filled_database(make_site):
    site = make_site()
    site.fill(site.publish(), 5)
    database = site.services.database
    migrate.downgrade(database, migrate.BASE)
    assert migrate.current(database) is None
    assert tables(database) == {"alembic_version"}
    migrate.upgrade(database)
    assert tables(database) == {"alembic_version", *metadata.tables}


def test_an_unknown_schema_version_refuses_to_start(new_database_url, database):
    migrate.upgrade(database)
    with database.writing() as connection:
        connection.exec_driver_sql("UPDATE alembic_version SET version_num = '9999'")
    with pytest.raises(SchemaRefused, match=r"'9999'.*newer release"):
        create_app({"DATABASE_URL": new_database_url})
    with database.reading() as connection:
        found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    assert found == "9999"


def test_new_database_stays_empty_if_its_tables_cannot_all_be_created(database, monkeypatch):
    def fail(*_arguments):
        raise OSError("disk full")

    monkeypatch.setattr(migrate, "insert", fail)  # after the tables were created
    with pytest.raises(OSError, match="disk full"):
        migrate.upgrade(database)
    assert tables(database) == set()
