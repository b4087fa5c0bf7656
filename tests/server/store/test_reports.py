"""A group of reports that is stored by one statement, and what becomes of its repeats."""

from __future__ import annotations

import pytest
from sqlalchemy import make_url, text
from sqlalchemy.exc import OperationalError

from hushpoll_server.errors import Refused
from hushpoll_server.store.database import Database
from hushpoll_server.store.reports import Outcome, ReportRow, ReportStore
from hushpoll_shared.wire import reports as wire

# Where it is one exchange as well, so that repeats are compared afterwards.
on_postgresql = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


@pytest.fixture
def group(site, make_report):
    """A store of the site's database, and what makes arrivals of its survey."""
    published = site.publish()
    version = site.services.surveys.latest("work").id

    def arrive():
        report = make_report(published)
        return ReportRow(version, report.id, report.record)

    return site.services.reports, arrive


def changed(arrival):
    return arrival._replace(record=bytes(arrival.record[:-1]) + b"\x01")


def test_new_reports_of_one_group_are_stored_at_once(site, group, monkeypatch):
    store, arrive = group
    monkeypatch.setattr(ReportStore, "_insert_each", None)  # what is done otherwise
    uploads = [[arrive()], [arrive(), arrive()], [arrive()]]
    outcomes = store.insert(uploads)
    assert [list(some) for some in outcomes] == [[Outcome.ACCEPTED] * len(some) for some in uploads]
    assert sum(store.waiting().values()) == 4
    with site.services.database.reading() as connection:
        found = connection.execute(text("SELECT version_id, report_id, record FROM inbox"))
        stored = {ReportRow(row[0], bytes(row[1]), bytes(row[2])) for row in found}
    assert stored == {arrival for upload in uploads for arrival in upload}


def test_an_id_that_is_sealed_is_not_new(site, group):
    store, arrive = group
    arrivals = [arrive() for _ in range(12)]
    store.insert([arrivals])
    row = site.services.surveys.latest("work")
    assert site.services.segments.seal(row.id, row.record_size, minimum=1) == 12
    new = arrive()
    assert list(map(list, store.insert([[new], [changed(arrivals[0])]]))) == [
        [Outcome.ACCEPTED],
        [Outcome.DUPLICATE],  # its record is not known any more
    ]
    assert sum(store.waiting().values()) == 1


def test_a_connection_on_which_anything_fails_is_given_up(site, group):
    _, arrive = group
    new = arrive()
    standing = site.services.database._autocommit
    site.services.reports.insert([[new]])
    with standing.use() as connection:
        driven = connection.connection.driver_connection
    with pytest.raises(OperationalError), standing.use() as connection:  # noqa: PT012
        assert connection.connection.driver_connection is driven  # it has been kept
        connection.exec_driver_sql("BEGIN")
        connection.exec_driver_sql("DELETE FROM inbox")
        raise OperationalError("COMMIT", None, OSError("disk full"))
    assert connection.closed
    assert not standing._unused
    # What was deleted is back, and nobody is kept from writing.
    assert sum(site.services.reports.waiting().values()) == 1
    assert list(site.services.reports.insert([[arrive()]])[0]) == [Outcome.ACCEPTED]


@on_postgresql
def test_a_connection_older_than_a_hang_up_is_not_used_again(site, group):
    """Guards: the next report would find out by failing."""
    store, arrive = group
    store.insert([[arrive()]])
    database = site.services.database
    with database._autocommit.use() as connection:
        (standing,) = connection.exec_driver_sql("SELECT pg_backend_pid()").one()
    with pytest.raises(Refused), database.reading() as connection:  # noqa: PT012
        connection.exec_driver_sql("SELECT pg_terminate_backend(%s)", (standing,))
        # As in a restart: somebody else has noticed.
        connection.exec_driver_sql("SELECT pg_terminate_backend(pg_backend_pid())")
    assert list(store.insert([[arrive()]])[0]) == [Outcome.ACCEPTED]


def test_new_reports_repeats_and_conflicts_of_one_group(group):
    store, arrive = group
    old, new, other = arrive(), arrive(), arrive()
    other = other._replace(record=other.record[:-1] + b"\x00")
    assert store.insert([[old], [other]]) == [(Outcome.ACCEPTED,), (Outcome.ACCEPTED,)]
    assert store.insert([[new], [old], [changed(other)], [new, new]]) == [
        [Outcome.ACCEPTED],
        [Outcome.DUPLICATE],
        [Outcome.CONFLICT],
        [Outcome.DUPLICATE, Outcome.DUPLICATE],
    ]
    assert sum(store.waiting().values()) == 3


@on_postgresql
def test_what_is_stored_is_acknowledged_though_the_repeats_cannot_be_compared(group, monkeypatch):
    store, arrive = group
    old, new = arrive(), arrive()
    store.insert([[old]])

    def away(_upload):
        raise Refused("unavailable", "away", retry_after=1)

    with monkeypatch.context() as patched:
        patched.setattr(store, "look_up", away)
        assert store.insert([[new], [old]]) == [[Outcome.ACCEPTED], None]
    assert store.insert([[new], [old]]) == [[Outcome.DUPLICATE], [Outcome.DUPLICATE]]


@on_postgresql
def test_a_repeat_that_was_not_compared_is_told_to_come_again(site, group, monkeypatch):
    store, arrive = group
    old = arrive()
    store.insert([[old]])

    def away(_upload):
        raise Refused("unavailable", "away", retry_after=1)

    monkeypatch.setattr(store, "look_up", away)
    published = site.services.surveys.published_of(old.version_id)
    body = wire.encode_report_json(published.digest, wire.Report(old.report_id, old.record))
    answer = site.send("work", body)
    assert site.problem(answer) == (503, "unavailable", None)
    assert answer.headers["Retry-After"] == "1"


@on_postgresql
def test_a_role_without_temporary_functions_stores_reports_as_well(
    site, database_url, group, postgres
):
    _, arrive = group
    name = make_url(database_url).database
    postgres.run("DROP ROLE IF EXISTS plain")
    postgres.run("CREATE ROLE plain LOGIN")
    database = None
    try:
        postgres.run(f'REVOKE TEMPORARY ON DATABASE "{name}" FROM PUBLIC')
        postgres.run("GRANT ALL ON ALL TABLES IN SCHEMA public TO plain", database=name)
        database = Database(database_url.replace("postgres@", "plain@"))
        with database.reading() as connection:
            assert connection.execute(text("SELECT current_user")).scalar_one() == "plain"
        new = arrive()
        cutoff = site.services.surveys.cutoff
        assert database.insert_at_once([(*new.key, new.record)], cutoff()) is None
        assert ReportStore(database, cutoff).insert([[new], [new]]) == [
            [Outcome.ACCEPTED],
            [Outcome.DUPLICATE],
        ]
    finally:
        if database is not None:
            database.close()
        postgres.run(f'GRANT TEMPORARY ON DATABASE "{name}" TO PUBLIC')
        postgres.run("DROP OWNED BY plain", database=name)
        postgres.run("DROP ROLE plain")
