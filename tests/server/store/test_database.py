"""Durability is asserted at start; schema versions are known or refused."""

from __future__ import annotations

import sqlite3

import pytest
from sqlalchemy import inspect
from sqlalchemy.exc import IntegrityError

from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_server import create_app
from hushpoll_server.errors import NotDurable, SchemaRefused
from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_server.store.schema import metadata
from hushpoll_server.store.sqlite import session
from sample_survey import VERSION


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
