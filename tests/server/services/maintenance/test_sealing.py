"""From the inbox into sealed segments: counts kept, order and ids gone."""

from __future__ import annotations

from collections import Counter

import pytest

from hushpoll_server.services.maintenance.sealing import most_waiting
from hushpoll_shared.wire import reports as wire
from sample_survey import VERSION, make_report


def records_of(reports):
    return Counter(report.record for report in reports)


def segments(site):
    with site.services.database.reading() as connection:
        statement = "SELECT reports, data FROM segments ORDER BY id"
        return [tuple(row) for row in connection.exec_driver_sql(statement)]


def test_sealing_keeps_every_record_and_empties_the_inbox(site):
    published = site.publish()
    reports = site.fill(published, 200)
    assert Counter(site.sealed_rows()) == Counter()
    assert site.seal() == 200
    counts = site.counts(published)
    assert (counts["inbox"], counts["sealed"], counts["accepted"]) == (0, 200, 200)
    assert Counter(site.sealed_rows()) == records_of(reports)
    ((number, data),) = segments(site)
    assert (number, len(data)) == (200, 200 * published.layout.record_size)


def test_fewer_than_the_minimum_batch_are_not_sealed(site):
    published = site.publish(minimum_batch=10)
    site.fill(published, 9)
    assert site.seal() == 0
    assert site.counts(published)["inbox"] == 9
    site.fill(published, 1)
    assert site.seal() == 10


def test_sealing_nothing_does_nothing(site):
    site.publish()
    assert site.seal() == 0
    assert site.seal(last=True) == 0
    assert segments(site) == []


def test_seals_share_a_segment_until_it_is_half_full(site, monkeypatch):
    monkeypatch.setattr("hushpoll_server.store.segments.SEGMENT_REPORTS", 60)
    published = site.publish(minimum_batch=10)
    everything = Counter()
    found = []
    for number in (20, 30, 15, 70):
        everything += records_of(site.fill(published, number))
        site.seal()
        found.append([number for number, _ in segments(site)])
        assert Counter(site.sealed_rows()) == everything
    # 50 is more than half of 60, so what comes later starts anew; 85 rows need two segments.
    assert found == [[20], [50], [50, 15], [50, 43, 42]]


def test_the_rest_of_an_ended_survey_is_mixed_with_all_the_others(site, monkeypatch):
    monkeypatch.setattr("hushpoll_server.store.segments.SEGMENT_REPORTS", 16)
    published = site.publish(minimum_batch=10)
    everything = records_of(site.fill(published, 20))
    site.seal()
    everything += records_of(site.fill(published, 30))
    site.seal()
    late = site.fill(published, 3)
    assert [number for number, _ in segments(site)] == [10, 10, 15, 15]
    assert site.seal(last=True) == 3
    assert [number for number, _ in segments(site)] == [14, 13, 13, 13]
    assert Counter(site.sealed_rows()) == everything + records_of(late)
    for report in late:
        assert site.send(published, report).json == {"status": "duplicate"}


def test_a_survey_that_ends_below_its_minimum_is_sealed_all_the_same(site):
    published = site.publish(minimum_batch=10)
    site.fill(published, 4)
    site.close()
    assert [number for number, _ in segments(site)] == [4]
    assert site.counts(published)["inbox"] == 0


def test_closing_seals_and_the_end_of_the_grace_period_seals_the_rest(make_site):
    site = make_site(CLOSE_GRACE_SECONDS=60)
    published = site.publish(minimum_batch=10)
    site.fill(published, 12)
    site.post(f"{VERSION}/close")
    assert site.counts(published)["sealed"] == 12
    site.fill(published, 2)
    site.services.sealing.seal_ended()
    assert site.counts(published)["inbox"] == 2
    site.clock.advance(60)
    site.services.sealing.seal_ended()
    assert site.counts(published)["inbox"] == 0
    assert site.counts(published)["sealed"] == 14


def test_an_inbox_is_sealed_when_the_server_is_quiet(make_site):
    site = make_site(SEAL_AT=5)
    published = site.publish(minimum_batch=1)
    site.fill(published, 4)
    for now, sealed in ((0, 0), (59.9, 0), (60, 4)):
        site.services.sealing.turn(now)
        assert site.counts(published)["sealed"] == sealed
    site.fill(published, 5)  # as many as are sealed in any pause
    site.services.sealing.turn(60)
    assert site.counts(published)["sealed"] == 4
    site.services.sealing.turn(60)
    assert site.counts(published)["sealed"] == 9


def test_while_reports_arrive_an_inbox_is_sealed_when_ten_times_as_many_wait(make_site):
    site = make_site(SEAL_AT=5)
    published = site.publish(minimum_batch=1)
    for count, sealed in ((49, 0), (3, 52)):
        site.fill(published, count)
        site.services.sealing.turn(0)
        assert site.counts(published)["sealed"] == sealed


def test_while_reports_arrive_in_bulk_as_many_times_as_suits_the_database(make_site, database_url):
    site = make_site(SEAL_AT=5, MAX_BULK_REPORTS=100)
    published = site.publish(minimum_batch=1)
    seal_at = {"sqlite": 5, "postgresql": 500}[database_url.partition(":")[0].partition("+")[0]]
    stored = 0
    for _ in range(5):
        site.fill(published, 100)
        stored += 100
        site.services.sealing.turn(0)
        assert site.counts(published)["sealed"] == (stored if stored >= seal_at else 0)


@pytest.mark.parametrize("ended", [False, True])
def test_version_that_fails_to_seal_delays_no_other(make_site, monkeypatch, debug_log, ended):
    """Guards: the first failure ended the turn, so nothing after it was ever sealed."""
    site = make_site(METRICS_TOKEN="metrics-token-of-tests")
    turn, now = site.services.sealing.turn, 0
    surveys = [
        site.publish(name=name, minimum_batch=1, closes="2026-03-02T12:00:00Z")
        for name in ("broken", "work")
    ]
    for published in surveys:
        site.fill(published, 4)
    store = site.services.segments
    seal = store.seal
    broken = site.services.surveys.latest("broken").id

    def failing(version_id, *arguments, **options):
        if version_id == broken:
            raise OSError("of this version alone")
        return seal(version_id, *arguments, **options)

    monkeypatch.setattr(store, "seal", failing)
    if ended:
        site.clock.advance(100 * 86_400)
    turn(now)
    for _ in range(3):
        now += 61
        turn(now)
    assert [site.counts(published)["sealed"] for published in surveys] == [0, 4]
    gauge = "hushpoll_maintenance_failing 1.0"
    assert gauge in site.services.metrics.exposition()[0].decode()
    acts = {"seal", "end"} if ended else {"seal"}
    lines = [line for line in debug_log.messages if '"version-not-maintained"' in line]
    assert len(lines) == len(acts)
    assert all('"survey": "broken"' in line and '"error": "OSError"' in line for line in lines)
    monkeypatch.setattr(store, "seal", seal)
    now += 61
    turn(now)
    assert [site.counts(published)["sealed"] for published in surveys] == [4, 4]
    turn(now)
    assert gauge.replace("1.0", "0.0") in site.services.metrics.exposition()[0].decode()


def test_large_records_are_sealed_sooner():
    assert most_waiting(5, 100, 10) == 50
    assert most_waiting(5, 100, 100) == 500
    assert most_waiting(5, 2**20, 100) == 64
    assert most_waiting(5, 2**26, 100) == 5
    assert most_waiting(5, 0, 10) == 50


def test_sealed_rows_are_in_another_order_than_ids(site):
    """The inbox is kept in the order of the ids; sealed rows must not be."""
    published = site.publish()
    low, high = (make_report(published, education=level).record for level in ("low", "high"))
    reports = [
        wire.Report(place.to_bytes(16, "big"), low if place < 1500 else high)
        for place in range(3000)
    ]
    site.send_batch(published, reports)
    site.seal()
    lows = Counter(site.sealed_rows()[:1500])[low]
    # Hypergeometric: mean 750, standard deviation 13.7; seven of them.
    assert abs(lows - 750) < 96


def test_segments_are_cut_at_their_bound(site, monkeypatch):
    monkeypatch.setattr("hushpoll_server.store.segments.SEGMENT_REPORTS", 16)
    monkeypatch.setattr("hushpoll_server.store.segments.BLOCK_BYTES", 100)
    published = site.publish()
    reports = site.fill(published, 50)
    site.seal()
    assert [number for number, _ in segments(site)] == [13, 13, 12, 12]
    assert Counter(site.sealed_rows()) == records_of(reports)
