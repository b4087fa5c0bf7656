"""Several writers on one database, as several processes are: an id is stored exactly once."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from sqlalchemy import text

from chunks import unpack
from hushpoll_server.store.database import Database
from hushpoll_server.store.reports import Batch, Outcome, ReportRow, ReportStore
from hushpoll_server.store.sealing import SegmentStore
from hushpoll_shared.wire import reports as wire


@pytest.fixture
def opened(database_url):
    databases = []

    def make():
        databases.append(Database(database_url))
        return databases[-1]

    yield make
    for one in databases:
        one.close()


def together(*actions):
    threads = [threading.Thread(target=action) for action in actions]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()


def test_a_retry_that_races_with_a_seal_is_a_duplicate(site, opened, make_report):
    """While an id is on its way from the inbox to the seen ids, it is in neither for a moment."""
    published = site.publish()
    (report, *_) = site.fill(published, 5)
    version = site.services.surveys.latest("work").id
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
        assert moved.wait(60)
        outcomes.extend(server.insert([[ReportRow(version, report.id, report.record)]])[0])

    late = threading.Thread(target=take)
    late.start()
    seal()
    late.join(60)
    assert outcomes == [Outcome.DUPLICATE]


def test_the_same_reports_from_two_processes_are_stored_once(site, opened, make_report):
    """The token of a retry is gone, and the retry is a duplicate all the same."""
    published = site.publish(submission="token")
    row = site.services.surveys.latest("work")
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

    together(
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


def test_one_token_and_many_reports_from_two_processes(site, opened, make_report):
    published = site.publish(submission="token")
    row = site.services.surveys.latest("work")
    site.services.tokens.add_respondents(row.survey_id, [bytes(32)])
    stores = [ReportStore(opened(), site.services.surveys.cutoff) for _ in range(4)]
    outcomes = []

    def take(store):
        for _ in range(10):
            report = make_report(published)
            arrival = ReportRow(row.id, report.id, report.record, row.survey_id, bytes(32))
            outcomes.extend(store.insert([[arrival]])[0])

    together(*(lambda s=store: take(s) for store in stores))
    assert outcomes.count(Outcome.ACCEPTED) == 1
    assert outcomes.count(Outcome.UNAUTHORIZED) == 39


def test_batches_that_overlap_and_seals_keep_every_report_once(site, opened, make_report):
    published = site.publish()
    row = site.services.surveys.latest("work")
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

    together(*(lambda s=store: take(s, 0) for store in stores), seal)
    assert outcomes.count(Outcome.ACCEPTED) == 300
    assert set(outcomes) == {Outcome.ACCEPTED, Outcome.DUPLICATE}
    segments.seal(row.id, row.record_size, minimum=1)
    assert segments.counts(row.id) == (0, 300)
    with opened().reading() as connection:
        found = connection.execute(text("SELECT ids FROM sealed_ids")).scalars()
        assert sorted(unpack(found)) == sorted(report.id for report in reports)
