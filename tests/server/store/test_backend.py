"""Reading the inbox as a whole, and emptying it at once where nothing stands against it."""

from __future__ import annotations

import sqlite3
import threading

import numpy as np
import pytest
from sqlalchemy import event, text

from hushpoll_server.store import migrate
from hushpoll_server.store.database import Database
from hushpoll_server.store.segment_store import SegmentStore
from hushpoll_server.store.sqlite import session
from waiting import LONGEST_SECONDS

SIZE = 37


@pytest.fixture
def database(database_url):
    opened = Database(database_url)
    migrate.upgrade(opened)
    yield opened
    opened.close()


def fill(database, version, n, *, seed=0):
    """Put n reports into the inbox; records of zeros among them."""
    rng = np.random.default_rng(seed)
    ids = rng.integers(0, 256, (n, 16), dtype=np.uint8)
    records = rng.integers(0, 2, (n, SIZE), dtype=np.uint8)
    records[::3] = 0
    ids[0] = 0
    with database.writing() as connection:
        assert database.inbox.insert_batch(connection, version, ids, records)
    return {(bytes(one), bytes(record)) for one, record in zip(ids, records, strict=True)}


def gathered(database, version):
    with database.reading() as connection:
        ids, records = database.inbox.read_inbox(connection, version, SIZE)
    starts = range(len(ids) // 16)
    assert len(records) == SIZE * len(starts)
    return [(ids[16 * i : 16 * i + 16], records[SIZE * i : SIZE * i + SIZE]) for i in starts]


def count(connection):
    return connection.scalar(text("SELECT count(*) FROM inbox"))


@pytest.mark.parametrize("rows", [1, 7, 20, 65_536])
def test_everything_that_waits_is_gathered_once(database, monkeypatch, rows):
    monkeypatch.setattr(database.inbox, "READ_ROWS", rows)
    if database.engine.dialect.name == "postgresql":
        monkeypatch.setattr(database.inbox, "SMALL_RECORD", 0 if rows < 100 else 1024)
    assert gathered(database, 1) == []
    expected = fill(database, 1, 20)
    fill(database, 2, 5)
    found = gathered(database, 1)
    assert len(found) == 20
    assert set(found) == expected


@pytest.mark.sqlite
def test_an_sqlite_that_ends_texts_at_a_zero_is_read_all_the_same(database):
    expected = fill(database, 1, 20)
    cut = []

    @event.listens_for(database.engine, "before_cursor_execute", retval=True)
    def cut_off(_connection, _cursor, statement, parameters, _context, _many):
        joined = "CAST(group_concat(CAST(record AS TEXT), '') AS BLOB)"
        cut.append(joined in statement)
        return statement.replace(joined, "CAST('x' AS BLOB)"), parameters

    assert set(gathered(database, 1)) == expected
    assert any(cut)


def test_only_one_version_is_emptied(database):
    fill(database, 1, 20)
    others = fill(database, 2, 5)
    for version, left in ((3, 25), (1, 5)):
        with database.writing(sealing=version) as connection:
            database.inbox.empty_inbox(connection, version)
            assert count(connection) == left
    assert set(gathered(database, 2)) == others
    with database.writing(sealing=2) as connection:
        database.inbox.empty_inbox(connection, 2)
    assert gathered(database, 2) == []


def test_emptying_is_undone_with_its_transaction(database):
    expected = fill(database, 1, 20)

    def seal():
        with database.writing(sealing=1) as connection:
            database.inbox.empty_inbox(connection, 1)
            assert count(connection) == 0
            raise OSError("power")

    with pytest.raises(OSError, match="power"):
        seal()
    assert set(gathered(database, 1)) == expected


def test_reader_during_a_seal_sees_the_state_before_it(database):
    fill(database, 1, 20)
    with database.reading() as reader:
        assert count(reader) == 20
        with database.writing(sealing=1) as connection:
            database.inbox.empty_inbox(connection, 1)
        assert count(reader) == 20
    assert gathered(database, 1) == []


def test_counts_that_are_asked_for_while_a_seal_ends_are_of_one_moment(site, database_url):
    """On PostgreSQL, an emptied table would be empty for those that had begun before, too."""
    published = site.publish()
    site.fill(published, 50)
    version = site.row().id
    store: SegmentStore = site.services.segments
    answers = []
    asking = threading.Thread(target=lambda: answers.append(store.counts(version)))
    with site.services.database.writing(sealing=version) as connection:
        connection.execute(
            text(
                "INSERT INTO aggregates (version_id, reports, support, joint, shuffled) "
                "VALUES (:version, 50, :none, :none, :mixed)"
            ),
            {"version": version, "none": b"", "mixed": False},
        )
        site.services.database.inbox.empty_inbox(connection, version)
        asking.start()
        asking.join(0.3)
    asking.join(LONGEST_SECONDS)
    assert answers in ([(50, 0)], [(0, 50)])


def test_connection_waits_for_other_processes_after_a_log_could_not_be_emptied(tmp_path):
    """Guards: it had the short patience of emptying from then on, and reports were refused."""
    database = Database(f"sqlite:///{tmp_path}/busy.sqlite", pool_size=1)
    try:

        def fail(_code, name, *_):
            return sqlite3.SQLITE_DENY if name == "wal_checkpoint" else sqlite3.SQLITE_OK

        with database.engine.connect() as connection:
            driver = connection.connection.driver_connection
            driver.set_authorizer(fail)
        with pytest.raises(sqlite3.DatabaseError):
            database.vacuum()
        driver.set_authorizer(None)
        with database.engine.connect() as connection:
            assert connection.connection.driver_connection is driver
            patience = connection.exec_driver_sql("PRAGMA busy_timeout").scalar_one()
        assert patience == session.BUSY_MILLISECONDS
    finally:
        database.close()
