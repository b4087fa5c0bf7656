"""Reports sent several times from many threads are counted exactly once."""

from __future__ import annotations

import random
import threading

import pytest

from hushpoll_shared import wire

REPORTS = 400
THREADS = 8
REPORTS_IN_FULL = 100_000
THREADS_IN_FULL = 16


def run(threads):
    threads = list(threads)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_reports_sent_one_to_five_times_are_counted_once(make_site, make_report):
    # Folded again and again while reports and their repeats arrive.
    counted_once(make_site(FOLD_AT=60), make_report, REPORTS, THREADS)


@pytest.mark.slow
def test_a_hundred_thousand_reports_are_counted_once(make_site, make_report):
    counted_once(make_site(), make_report, REPORTS_IN_FULL, THREADS_IN_FULL)


def counted_once(site, make_report, reports, threads):
    published = site.publish()
    bodies = [
        wire.encode_report_json(published.digest, make_report(published)) for _ in range(reports)
    ]
    chooser = random.Random(1)
    sendings = [body for body in bodies for _ in range(chooser.randint(1, 5))]
    chooser.shuffle(sendings)
    statuses = []

    def send(share):
        statuses.extend(site.send("work", body).status_code for body in share)

    run(threading.Thread(target=send, args=(sendings[i::threads],)) for i in range(threads))
    assert len(statuses) == len(sendings)
    assert statuses.count(201) == reports
    assert statuses.count(200) == len(sendings) - reports
    counts = site.counts(published)
    assert counts["accepted"] == reports
    assert counts["duplicate"] == len(sendings) - reports
    assert counts["rejected"] == {}
    assert counts["sealed"] >= 60


def test_batches_and_single_reports_of_two_versions_do_not_mix(make_site, make_report):
    site = make_site(FOLD_AT=40)
    versions = [site.publish(), site.publish(version=2)]
    accepted = {published.version: 0 for published in versions}
    lock = threading.Lock()

    def send(published, seed):
        chooser = random.Random(seed)
        for _ in range(10):
            reports = [make_report(published) for _ in range(chooser.randint(1, 12))]
            body = wire.pack_reports(published.digest, reports)
            taken = site.send_batch("work", body).json["accepted"]
            alone = wire.encode_report_json(published.digest, make_report(published))
            taken += site.send("work", alone).status_code == 201
            with lock:
                accepted[published.version] += taken

    run(threading.Thread(target=send, args=(versions[i % 2], i)) for i in range(6))
    assert all(accepted.values())
    for published in versions:
        assert site.counts(published)["accepted"] == accepted[published.version]
