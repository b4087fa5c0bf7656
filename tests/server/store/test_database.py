"""Durability is asserted at start; schema versions are known or refused."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import inspect, text
from sqlalchemy.exc import IntegrityError

from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_server import create_app
from hushpoll_server.errors import NotDurable, SchemaRefused
from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import metadata
from hushpoll_server.store.sqlite import session
from sample_survey import VERSION

SCHEMAS = Path(__file__).parent / "schemas"


@pytest.fixture
def database(new_database_url):
    database = Database(new_database_url)
    yield database
    database.close()


def tables(database):
    return set(inspect(database.engine).get_table_names())


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("pragma", "expected"),
    [("journal_mode", "wal"), ("synchronous", 2), ("secure_delete", 1), ("foreign_keys", 1)],
)
def test_every_connection_keeps_the_promises(database, pragma, expected):
    with database.reading() as first, database.reading() as second:
        for connection in (first, second):
            assert connection.exec_driver_sql(f"PRAGMA {pragma}").scalar() == expected


@pytest.mark.parametrize(
    ("pragma", "weak", "expected"),
    [("synchronous", "OFF", 2), ("secure_delete", "OFF", 1), ("temp_store", "FILE", 2)],
)
def test_the_promises_do_not_rest_on_how_sqlite_was_built(tmp_path, pragma, weak, expected):
    """Some builds have secure_delete on by themselves, and would hide that we forgot it."""
    connection = sqlite3.connect(tmp_path / "weak.sqlite")
    connection.execute(f"PRAGMA {pragma} = {weak}")
    assert connection.execute(f"PRAGMA {pragma}").fetchone() != (expected,)
    session.prepare(connection, None)
    assert connection.execute(f"PRAGMA {pragma}").fetchone() == (expected,)
    connection.close()


@pytest.mark.sqlite
def test_a_database_that_would_not_be_durable_refuses_to_start(new_database_url, monkeypatch):
    weaker = tuple(("synchronous", "NORMAL", 2) if one[0] == "synchronous" else one
                   for one in session.PRAGMAS)  # fmt: skip
    monkeypatch.setattr(session, "PRAGMAS", weaker)
    with pytest.raises(NotDurable, match="synchronous = 1 where 2"):
        create_app({"DATABASE_URL": new_database_url})


@pytest.mark.parametrize(
    "bad",
    [
        "sqlite://",
        "sqlite:///:memory:",
        "sqlite:///file:x?mode=memory&uri=true",
        "postgresql+psycopg2://localhost/hushpoll",
        "postgresql://localhost",
        "postgresql://nobody@/hushpoll?host=/nowhere/at/all",
        "mysql://localhost/hushpoll",
        "not a url",
        "sqlite:////nowhere/at/all/hushpoll.sqlite",
    ],
)
def test_a_database_that_cannot_be_used_is_refused_by_field(bad):
    with pytest.raises(InvalidParameter) as refused:
        create_app({"DATABASE_URL": bad})
    assert refused.value.field == "DATABASE_URL"


@pytest.mark.sqlite
def test_the_file_is_readable_by_its_owner_only(make_site, tmp_path):
    make_site(DATABASE_URL=f"sqlite:///{tmp_path}/new.sqlite").publish()
    modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.glob("new.sqlite*")}
    assert set(modes) == {"new.sqlite", "new.sqlite-wal", "new.sqlite-shm"}
    assert set(modes.values()) == {0o600}


def schema_of(database):
    """Reflect what the metadata does not compare: how PostgreSQL stores and samples columns."""
    if database.engine.dialect.name == "sqlite":
        return set()
    statement = """
        SELECT relname, attname, attstattarget, CAST(attstorage AS text)
        FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
        WHERE relnamespace = CAST('public' AS regnamespace) AND relkind = 'r'
          AND relname <> 'alembic_version' AND attnum > 0
    """
    with database.reading() as connection:
        return set(connection.execute(text(statement)).all())


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


def test_starting_again_keeps_everything(make_site):
    first = make_site()
    published = first.publish()
    first.fill(published, 5)
    first.seal()
    first.fill(published, 2)
    administrator = first.admin
    first.stop()
    second = make_site()
    assert second.get("/api/v1/surveys/work", headers={}).data == published.canonical
    counts = second.get(f"{VERSION}/counts", headers=administrator).json
    assert (counts["accepted"], counts["sealed"], counts["inbox"]) == (7, 5, 2)


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

    monkeypatch.setattr(MigrationContext, "stamp", fail)  # after the tables were created
    with pytest.raises(OSError, match="disk full"):
        migrate.upgrade(database)
    assert tables(database) == set()


def test_errors_of_the_driver_do_not_show_parameters(database):
    migrate.upgrade(database)
    with (
        pytest.raises(IntegrityError, match=r"(?i)foreign key") as failed,
        database.writing() as connection,
    ):
        connection.execute(
            metadata.tables["segments"].insert(),
            {"version_id": 77, "reports": 1, "data": b"SECRET-RECORD"},
        )
    assert "SECRET" not in str(failed.value)


def test_a_password_in_a_text_that_is_no_url_is_not_shown():
    with pytest.raises(InvalidParameter) as refused:
        create_app({"DATABASE_URL": "postgres//me:hunter2@localhost/hushpoll"})
    assert "hunter2" not in str(refused.value)


def content(path):
    """Everything in a database file but its header, which notes the journal mode."""
    with sqlite3.connect(path) as connection:
        dump = list(connection.iterdump())
    connection.close()
    return dump


def test_a_file_that_is_no_database_is_refused(tmp_path):
    """Guards: the driver's own exception used to end ``hushpoll serve`` with a traceback."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but a person's notes\n" * 50)
    before = path.read_bytes()
    with pytest.raises(InvalidParameter, match="file is not a database") as refused:
        create_app({"DATABASE_URL": f"sqlite:///{path}"})
    assert refused.value.field == "DATABASE_URL"
    assert str(path) in str(refused.value)
    assert path.read_bytes() == before


@pytest.mark.parametrize("table", ["notes", "surveys"])
def test_the_database_of_another_program_is_refused(tmp_path, table):
    """Guards: hushpoll's tables used to be added to it, or failed on a name already taken."""
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute(f"CREATE TABLE {table} (text)")
        connection.execute(f"INSERT INTO {table} VALUES ('keep me')")
    connection.close()
    before = content(path)
    with pytest.raises(SchemaRefused, match=rf"tables \({table}\).*another program"):
        create_app({"DATABASE_URL": f"sqlite:///{path}"})
    assert content(path) == before


def test_a_locked_database_is_refused_in_words(tmp_path):
    path = tmp_path / "locked.sqlite"
    holder = sqlite3.connect(path, isolation_level=None)
    holder.execute("PRAGMA locking_mode = EXCLUSIVE")
    holder.execute("CREATE TABLE t (x)")
    with pytest.raises(HushpollError, match="locked"):
        create_app({"DATABASE_URL": f"sqlite:///{path}?timeout=0.01"})
    holder.close()
