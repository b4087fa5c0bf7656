"""Files that are no database of hushpoll's are refused by name and left as they are."""

from __future__ import annotations

import sqlite3

import pytest

from hushpoll_protocols.errors import HushpollError, InvalidParameter
from hushpoll_server import create_app
from hushpoll_server.errors import SchemaRefused


def content(path):
    """Everything in a database file but its header, which notes the journal mode."""
    with sqlite3.connect(path) as connection:
        dump = list(connection.iterdump())
    connection.close()
    return dump


def test_a_file_that_is_no_database_is_refused(tmp_path):
    """Guards: the driver's own exception used to end ``hushpoll serve`` with a traceback."""
    path = tmp_path / "notes.txt"
    path.write_text("not a database, but somebody's notes\n" * 50)
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


@pytest.mark.parametrize("key", ["QUEUE_REPORTS", "POOL_SIZE", "MAX_BODY_BYTES", "SEAL_AT"])
def test_a_number_of_things_is_whole(key):
    """Guards: 1500.5 used to be taken for a number of bytes or connections."""
    with pytest.raises(InvalidParameter, match=rf"{key} is 1500\.5.*whole number"):
        create_app({key: 1500.5})
