"""Reports sent several times from many threads are counted exactly once."""

from __future__ import annotations

import json
import random
import signal
import threading
import time
from collections import Counter

import pytest

from hushpoll_shared.wire import reports as wire
from served import Process, admin_token, publish, send_all

REPORTS = 400
THREADS = 8
REPORTS_IN_FULL = 100_000
THREADS_IN_FULL = 16
UNLIMITED = ("--rate-limit-submit", "0", "--log-level", "warning")


def run(threads):
    threads = list(threads)
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


@pytest.fixture
def served(tmp_path, database_url):
    """Start ``hushpoll serve`` on the test's database; give it and an administrator's token."""
    started = []

    def serve(*options):
        started.append(Process(tmp_path, *UNLIMITED, *options, database_url=database_url))
        (token,) = admin_token(tmp_path)
        return started[-1], token

    yield serve
    for process in started:
        process.kill(signal.SIGTERM)
        process.wait()


def test_reports_sent_one_to_five_times_are_counted_once(served, make_draft, make_report):
    # Aggregate again and again while reports and their repeats arrive.
    server, token = served("--seal-at", "6")
    counted_once(server, token, make_draft(), make_report, REPORTS, THREADS)


@pytest.mark.slow
def test_a_hundred_thousand_reports_are_counted_once(served, make_draft, make_report):
    server, token = served()
    counted_once(server, token, make_draft(), make_report, REPORTS_IN_FULL, THREADS_IN_FULL)


def counted_once(server, token, draft, make_report, reports, threads):
    """Send each report 1 to 5 times, in any order, each thread on a connection that it keeps."""
    published = publish(server, token, draft)
    bodies = [
        json.dumps(wire.encode_report_json(published.digest, make_report(published))).encode()
        for _ in range(reports)
    ]
    chooser = random.Random(1)
    sendings = [body for body in bodies for _ in range(chooser.randint(1, 5))]
    chooser.shuffle(sendings)
    statuses = []

    def send(share):
        statuses.extend(send_all(server.url, share))

    run(threading.Thread(target=send, args=(sendings[i::threads],)) for i in range(threads))
    assert Counter(statuses) == {201: reports, 200: len(sendings) - reports}
    # What the last report made enough is sealed after it is acknowledged.
    deadline = time.monotonic() + 60
    while True:
        status, body = server.request(
            "/api/v1/surveys/work/versions/1/counts", Authorization=f"Bearer {token}"
        )
        assert status == 200
        counts = json.loads(body)
        assert counts["accepted"] == reports
        assert counts["duplicate"] <= len(sendings) - reports
        assert counts["rejected"] == {}
        # Repeats are counted within a second of their answers.
        if counts["sealed"] >= 60 and counts["duplicate"] == len(sendings) - reports:
            break
        assert time.monotonic() < deadline
        time.sleep(0.2)


def test_batches_and_single_reports_of_two_versions_do_not_mix(make_site, make_report):
    site = make_site(SEAL_AT=4)
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
