"""Reports are stored in groups, by several processes at once: each id exactly once."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sqlalchemy import event, make_url, text
from sqlalchemy.exc import OperationalError

from chunks import unpack
from hushpoll_server.errors import Refused
from hushpoll_server.store.database import Database
from hushpoll_server.store.reports import Batch, Outcome, ReportRow, ReportStore
from hushpoll_server.store.segment_store import SegmentStore
from hushpoll_shared.wire import reports as wire
from sample_survey import make_report
from waiting import LONGEST_SECONDS, run_together

# Where it is one exchange as well, so that repeats are compared afterwards.


@pytest.fixture
def group(site):
    """A store of the site's database, and what makes arrivals of its survey."""
    published = site.publish()
    version = site.row().id

    def arrive():
        report = make_report(published)
        return ReportRow(version, report.id, report.record)

    return site.services.reports, arrive


def changed(arrival):
    return arrival._replace(record=bytes(arrival.record[:-1]) + b"\x01")


def test_new_reports_of_one_group_are_stored_at_once(site, group):
    store, arrive = group
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
    row = site.row()
    assert site.services.segments.seal(row.id, row.record_size, minimum=1) == 12
    new = arrive()
    assert list(map(list, store.insert([[new], [changed(arrivals[0])]]))) == [
        [Outcome.ACCEPTED],
        [Outcome.DUPLICATE],  # its record is not known any more
    ]
    assert sum(store.waiting().values()) == 1


def test_reports_are_stored_after_a_statement_failed_on_their_connection(site, group):
    """Guards: what was begun on it stayed, and kept everybody else from writing."""
    store, arrive = group
    first, second = arrive(), arrive()
    store.insert([[first]])  # on a connection that is kept
    engine = site.services.database.engine

    def fail(*_):
        raise OperationalError("COMMIT", None, OSError("disk full"))

    event.listen(engine, "before_cursor_execute", fail)
    with pytest.raises(OperationalError):
        store.insert([[second]])
    event.remove(engine, "before_cursor_execute", fail)
    assert list(store.insert([[second]])[0]) == [Outcome.ACCEPTED]
    assert sum(store.waiting().values()) == 2


@pytest.mark.postgresql
def test_connections_older_than_a_hang_up_are_not_used_again(site, group):
    """Guards: the next report would find out by failing."""
    store, arrive = group
    store.insert([[arrive()]])
    # As in a restart, of which another connection gets to know.
    hang_up = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() ORDER BY pid = pg_backend_pid()"
    )
    with pytest.raises(Refused), site.services.database.reading() as connection:
        connection.execute(hang_up)
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


@pytest.mark.postgresql
def test_stored_report_is_acknowledged_when_repeats_cannot_be_compared(group, monkeypatch):
    store, arrive = group
    old, new = arrive(), arrive()
    store.insert([[old]])

    def away(_upload):
        raise Refused("unavailable", "away", retry_after=1)

    with monkeypatch.context() as patched:
        patched.setattr(store, "look_up", away)
        assert store.insert([[new], [old]]) == [[Outcome.ACCEPTED], None]
    assert store.insert([[new], [old]]) == [[Outcome.DUPLICATE], [Outcome.DUPLICATE]]


@pytest.mark.postgresql
def test_a_repeat_that_was_not_compared_is_told_to_come_again(site, group, monkeypatch):
    store, arrive = group
    old = arrive()
    store.insert([[old]])

    def away(_upload):
        raise Refused("unavailable", "away", retry_after=1)

    monkeypatch.setattr(store, "look_up", away)
    published = site.services.surveys.published_of(old.version_id)
    answer = site.send(published, wire.Report(old.report_id, old.record))
    assert site.problem(answer) == (503, "unavailable", None)
    assert answer.headers["Retry-After"] == "1"


@pytest.mark.postgresql
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


@pytest.fixture
def opened(database_url):
    databases = []

    def make():
        databases.append(Database(database_url))
        return databases[-1]

    yield make
    for one in databases:
        one.close()


def test_a_retry_that_races_with_a_seal_is_a_duplicate(site, opened):
    """While an id is on its way from the inbox to the seen ids, it is in neither for a moment."""
    published = site.publish()
    (report, *_) = site.fill(published, 5)
    version = site.row().id
    sealing, server = opened(), ReportStore(opened(), site.services.surveys.cutoff)
    moved, outcomes = threading.Event(), []

    def seal():
        with sealing.writing(sealing=version) as connection:
            keep = (
                "INSERT INTO sealed_ids (version_id, age, first, tags, ids) "
                "SELECT version_id, 0, report_id, substr(report_id, 15), report_id FROM inbox"
            )
            connection.execute(text("DELETE FROM inbox WHERE report_id <> :id"), {"id": report.id})
            connection.execute(text(keep))
            connection.execute(text("DELETE FROM inbox"))
            moved.set()
            late.join(0.5)
            assert outcomes == []  # it waits for the end of the seal

    def take():
        assert moved.wait(LONGEST_SECONDS)
        outcomes.extend(server.insert([[ReportRow(version, report.id, report.record)]])[0])

    late = threading.Thread(target=take)
    late.start()
    seal()
    late.join(LONGEST_SECONDS)
    assert outcomes == [Outcome.DUPLICATE]


def test_the_same_reports_from_two_processes_are_stored_once(site, opened):
    """The token of a retry is gone, and the retry is a duplicate all the same."""
    published = site.publish(submission="token")
    row = site.row()
    tokens = [bytes([number]) * 32 for number in range(60)]
    site.services.tokens.add_respondents(row.survey_id, tokens)
    arrivals = [
        ReportRow(row.id, report.id, report.record, row.survey_id, token)
        for report, token in ((make_report(published), token) for token in tokens)
    ]
    stores = [ReportStore(opened(), site.services.surveys.cutoff) for _ in range(4)]
    found = [[] for _ in stores]

    def take(store, into, order):
        for arrival in order:
            into.append((arrival.report_id, store.insert([[arrival]])[0][0]))

    run_together(
        *(
            lambda s=store, f=into, o=order: take(s, f, o)
            for store, into, order in zip(
                stores, found, (arrivals, arrivals, arrivals[::-1], arrivals[::-1]), strict=True
            )
        )
    )
    outcomes = [outcome for into in found for _, outcome in into]
    assert outcomes.count(Outcome.ACCEPTED) == len(arrivals)
    assert outcomes.count(Outcome.DUPLICATE) == 3 * len(arrivals)
    assert site.counts(published)["accepted"] == len(arrivals)
    with opened().reading() as connection:
        assert connection.scalar(text("SELECT count(*) FROM respondent_tokens")) == 0


def test_one_token_and_many_reports_from_two_processes(site, opened):
    published = site.publish(submission="token")
    row = site.row()
    site.services.tokens.add_respondents(row.survey_id, [bytes(32)])
    stores = [ReportStore(opened(), site.services.surveys.cutoff) for _ in range(4)]
    outcomes = []

    def take(store):
        for _ in range(10):
            report = make_report(published)
            arrival = ReportRow(row.id, report.id, report.record, row.survey_id, bytes(32))
            outcomes.extend(store.insert([[arrival]])[0])

    run_together(*(lambda s=store: take(s) for store in stores))
    assert outcomes.count(Outcome.ACCEPTED) == 1
    assert outcomes.count(Outcome.UNAUTHORIZED) == 39


def test_batches_that_overlap_and_seals_keep_every_report_once(site, opened):
    published = site.publish()
    row = site.row()
    reports = [make_report(published) for _ in range(300)]
    body = b"".join(report.id + report.record for report in reports)
    width = wire.ID_SIZE + row.record_size
    rows = np.frombuffer(body, dtype=np.uint8).reshape(-1, width)
    stores = [ReportStore(opened(), site.services.surveys.cutoff) for _ in range(3)]
    segments: SegmentStore = site.services.segments
    outcomes = []

    def take(store, start):
        for first in range(start, 300, 50):
            some = rows[max(0, first - 25) : first + 50]
            batch = Batch(row.id, some[:, : wire.ID_SIZE], some[:, wire.ID_SIZE :])
            outcomes.extend(store.insert([batch])[0])

    def seal():
        for _ in range(10):
            segments.seal(row.id, row.record_size, minimum=1)

    run_together(*(lambda s=store: take(s, 0) for store in stores), seal)
    assert outcomes.count(Outcome.ACCEPTED) == 300
    assert set(outcomes) == {Outcome.ACCEPTED, Outcome.DUPLICATE}
    segments.seal(row.id, row.record_size, minimum=1)
    assert segments.counts(row.id) == (0, 300)
    with opened().reading() as connection:
        found = connection.execute(text("SELECT ids FROM sealed_ids")).scalars()
        assert sorted(unpack(found)) == sorted(report.id for report in reports)
