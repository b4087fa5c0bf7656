"""Reports sent several times from many threads are counted exactly once."""

from __future__ import annotations

import random
from collections import Counter

import pytest

from sample_survey import bytes_of, make_draft, make_report
from served import send_all
from waiting import run_together, wait_until

REPORTS = 400
THREADS = 8
REPORTS_IN_FULL = 100_000
THREADS_IN_FULL = 16
UNLIMITED = ("--rate-limit-submit", "0", "--log-level", "warning")


def test_reports_sent_one_to_five_times_are_counted_once(serve, database_url):
    # Aggregate again and again while reports and their repeats arrive.
    server = serve(*UNLIMITED, "--seal-at", "6", database_url=database_url)
    counted_once(server, REPORTS, THREADS)


@pytest.mark.slow
def test_a_hundred_thousand_reports_are_counted_once(serve, database_url):
    counted_once(serve(*UNLIMITED, database_url=database_url), REPORTS_IN_FULL, THREADS_IN_FULL)


def counted_once(server, reports, threads):
    """Send each report 1 to 5 times, in any order, each thread on a connection that it keeps."""
    published = server.publish(make_draft())
    bodies = [bytes_of(published) for _ in range(reports)]
    chooser = random.Random(1)
    sendings = [body for body in bodies for _ in range(chooser.randint(1, 5))]
    chooser.shuffle(sendings)
    repeats = len(sendings) - reports
    statuses = []
    shares = [sendings[start::threads] for start in range(threads)]
    run_together(
        *(lambda share=share: statuses.extend(send_all(server, share)) for share in shares),
        longest=600,
    )
    assert Counter(statuses) == {201: reports, 200: repeats}

    def settled():
        counts = server.counts()
        assert counts["accepted"] == reports
        assert counts["duplicate"] <= repeats
        assert counts["rejected"] == {}
        return counts["sealed"] >= 60 and counts["duplicate"] == repeats

    # What the last report made enough is sealed, and repeats are counted, after their answers.
    wait_until(settled, pause=0.2)
    server.stop()


def test_batches_and_single_reports_of_two_versions_do_not_mix(make_site):
    site = make_site(SEAL_AT=4)
    versions = [site.publish(), site.publish(version=2)]
    accepted = {published.version: [] for published in versions}

    def send(published, seed):
        chooser = random.Random(seed)
        for _ in range(10):
            reports = [make_report(published) for _ in range(chooser.randint(1, 12))]
            accepted[published.version].append(site.send_batch(published, reports).json["accepted"])
            accepted[published.version].append(site.send(published).status_code == 201)

    run_together(*(lambda i=i: send(versions[i % 2], i) for i in range(6)))
    for published in versions:
        assert site.counts(published)["accepted"] == sum(accepted[published.version]) > 0
