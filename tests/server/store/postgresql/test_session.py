"""What holds for PostgreSQL alone: durability asserted, one state per reading, nothing left."""

from __future__ import annotations

import numpy as np
import psycopg
import pytest
from sqlalchemy import text
from sqlalchemy.exc import InternalError

from hushpoll_server import create_app
from hushpoll_server.errors import NotDurable, Refused
from hushpoll_server.store.backend import Deletions
from hushpoll_server.store.database import Database
from hushpoll_server.store.postgresql.session import SESSION
from hushpoll_server.store.reports import Batch, Outcome
from hushpoll_shared.wire.batch import encode_many
from postgres_files import stored_rows
from sample_survey import make_report
from waiting import wait_until

pytestmark = pytest.mark.postgresql


@pytest.fixture
def database(database_url):
    database = Database(database_url)
    yield database
    database.close()


@pytest.mark.parametrize("setting", ["fsync", "full_page_writes"])
def test_a_server_that_would_not_be_durable_is_refused(database_url, postgres, setting):
    def configure(statement, expected):
        postgres.run(statement)
        postgres.run("SELECT pg_reload_conf()")
        wait_until(lambda: postgres.run(f"SHOW {setting}") == [(expected,)])

    configure(f"ALTER SYSTEM SET {setting} = off", "off")
    try:
        with pytest.raises(NotDurable, match=f"{setting} = 'off' where 'on'"):
            create_app({"DATABASE_URL": database_url})
    finally:
        configure(f"ALTER SYSTEM RESET {setting}", "on")
    Database(database_url).close()


def test_commits_are_synchronous_whatever_the_role_says(database_url, postgres):
    postgres.run("ALTER ROLE postgres SET synchronous_commit = off")
    try:
        assert postgres.run("SHOW synchronous_commit") == [("off",)]
        database = Database(database_url)
        with database.reading() as connection:
            assert connection.scalar(text("SHOW synchronous_commit")) == "on"
        database.close()
    finally:
        postgres.run("ALTER ROLE postgres RESET synchronous_commit")


def test_a_reading_sees_one_state_and_changes_nothing(database):
    names = text("SELECT name FROM surveys")
    with database.reading() as connection:
        assert connection.execute(names).all() == []
        with database.writing() as other:
            other.execute(text("INSERT INTO surveys (name) VALUES ('meanwhile')"))
        assert connection.execute(names).all() == []
        with pytest.raises(InternalError, match="read-only"):
            connection.execute(text("INSERT INTO surveys (name) VALUES ('mine')"))


def test_a_database_that_is_away_is_unavailable(database, postgres, database_url):
    with database.reading():
        pass
    name = database.engine.url.database
    closed = f"UPDATE pg_database SET datallowconn = %s WHERE datname = '{name}'"
    postgres.run(closed % "false")
    try:
        postgres.run(f"SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'")  # fmt: skip # noqa: E501
        for _ in range(2):  # the connection that was open, and a new one
            with pytest.raises(Refused) as refused, database.reading() as connection:
                connection.execute(text("SELECT 1"))
            assert (refused.value.code, refused.value.retry_after) == ("unavailable", 2)
    finally:
        postgres.run(closed % "true")
    database.probe()


def test_after_a_seal_neither_inbox_nor_spent_tokens_are_on_any_page(make_site, postgres):
    site = make_site()
    published = site.publish(submission="token")
    tokens = site.tokens(20)
    reports = [make_report(published) for _ in tokens]
    for report, token in zip(reports, tokens, strict=True):
        assert site.send(published, report, token).status_code == 201
    database = site.services.database

    def scalar(statement):
        with database.reading() as connection:
            return connection.scalar(text(statement))

    assert scalar("SELECT pg_relation_size('inbox')") > 0
    site.seal()
    # Vacuuming gives empty pages at the end of a table back, unless a statement is in the way.
    everything = Deletions(sealed=True, erased=frozenset())
    both = "SELECT pg_relation_size('inbox') + pg_relation_size('respondent_tokens')"
    wait_until(lambda: database.inbox.vacuum(database.engine, everything) and not scalar(both))
    assert scalar("SELECT count(DISTINCT CAST(xmin AS text)) FROM sealed_ids") == 1


LOCKED_IDS = np.arange(32, dtype=np.uint8).reshape(2, 16)
CHUNKS = {
    "version": 1,
    "age": 0,
    "first": b"",
    "count": 2,
    "most": 96,
    "ids": LOCKED_IDS.tobytes(),
    "tags": bytes(4),
}


@pytest.mark.parametrize(
    ("table", "work"),
    [
        ("inbox", lambda inbox, connection: inbox.read_inbox(connection, 1, 8)),
        (
            "inbox",
            lambda inbox, connection: inbox.insert_batch(
                connection, 1, LOCKED_IDS, np.zeros((2, 8), np.uint8)
            ),
        ),
        (
            "sealed_ids",
            lambda inbox, connection: inbox.insert_chunks(connection, CHUNKS),
        ),
    ],
    ids=["reading the inbox", "a batch", "sealing ids"],
)
def test_error_of_the_driver_itself_is_unavailable(
    make_site, database_url, monkeypatch, table, work
):
    """Guards: a cancelled statement of a seal, which is not SQLAlchemy's, was an internal error."""
    database = make_site().services.database
    with monkeypatch.context() as patched, psycopg.connect(database_url) as other:
        patched.setitem(SESSION, "lock_timeout", "50ms")
        database.engine.dispose()  # whose sessions wait for longer
        other.execute(f"LOCK TABLE {table} IN ACCESS EXCLUSIVE MODE")
        with pytest.raises(Refused) as refused, database.writing() as connection:
            work(database.inbox, connection)
        assert isinstance(refused.value.__cause__, psycopg.OperationalError)
        assert (refused.value.code, refused.value.retry_after) == ("unavailable", 2)
        other.rollback()
    database.engine.dispose()
    with database.writing() as connection:
        work(database.inbox, connection)


def test_a_mistake_in_a_statement_is_not_called_unavailable(database):
    with pytest.raises(psycopg.ProgrammingError), database.writing() as connection:
        connection.connection.driver_connection.execute("SELECT nothing FROM nowhere")


def vacuum(site):
    """Vacuum until that is done: an autovacuum can be in the way."""
    wait_until(site.services.database.vacuum)


@pytest.mark.parametrize("holds", ["a snapshot", "changes of its own"])
def test_a_token_spent_under_an_older_transaction_is_gone_when_that_has_ended(
    make_site, database_url, postgres, holds
):
    """Guards: vacuuming left its row, with the number of its report's transaction, for good."""
    site = make_site()
    published = site.publish(submission="token")
    tokens = site.tokens(3)
    vacuum(site)  # what no seal calls for is then all there is
    with psycopg.connect(database_url) as older:
        if holds == "a snapshot":
            older.isolation_level = psycopg.IsolationLevel.REPEATABLE_READ
            older.execute("SELECT 1")
        else:
            older.execute("INSERT INTO surveys (name) VALUES ('other')")
        assert site.send(published, token=tokens[0]).status_code == 201
        site.stop_storing()
        site.services.database.vacuum()
        (spent,) = set(stored_rows(postgres, site, "respondent_tokens")) - {0}
        with site.services.database.reading() as connection:
            assert connection.scalar(text("SELECT xmin::text::bigint FROM inbox")) == spent
        older.rollback()
    vacuum(site)
    assert stored_rows(postgres, site, "respondent_tokens") == [0, 0]


def test_sealed_ids_are_looked_for_in_the_index_though_there_were_none_before(
    make_site, database_url
):
    site = make_site(SEALING="worker")
    published = site.publish()
    services = site.services
    row = services.surveys.latest("work")
    rng = np.random.default_rng(1)

    def take(reports):
        ids = rng.integers(0, 256, (reports, 16), dtype=np.uint8)
        codes = {one.name: np.zeros(reports, np.int64) for one in published.attributes}
        records = encode_many(published, codes, rng)
        (outcomes,) = services.reports.insert([Batch(row.id, ids, records)])
        assert set(outcomes) == {Outcome.ACCEPTED}

    with psycopg.connect(database_url, autocommit=True) as connection:
        connection.execute("VACUUM sealed_ids")
        for _ in range(20):  # until sessions keep their plans
            take(1000)
        with psycopg.connect(database_url) as older:
            # Hinders the vacuum, and so has the next report come before it.
            older.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
            older.execute("SELECT 1")
            assert services.sealing.seal(row) == 20_000
            take(1000)
        site.stop()  # sessions have told what they read when they have ended
        sessions = (
            "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() "
            "AND backend_type = 'client backend' AND pid <> pg_backend_pid()"
        )
        wait_until(lambda: connection.execute(sessions).fetchone() == (0,))
        read = "SELECT seq_tup_read FROM pg_stat_user_tables WHERE relname = 'sealed_ids'"
        ((rows,),) = connection.execute(read).fetchall()
    # The ids fill about 200 rows. A plan that reads them all does so for each of 1,000 ids.
    assert rows < 100_000
