"""Analysts' questions never keep respondents' reports out."""

from __future__ import annotations

import threading
import time

import pytest

from hushpoll_server.services.results.analysis import WAITING_QUESTIONS
from hushpoll_shared.wire import reports as wire

PATH = "/api/v1/surveys/work/versions/1/"


@pytest.fixture(autouse=True)
def no_pairs(monkeypatch):
    """Cross-tables read the records, as those of large domains do."""
    monkeypatch.setattr("hushpoll_analysis.records.pair_counts.PAIRED_CATEGORIES", 2)


@pytest.mark.parametrize("what", ["records", "records?format=csv", "cross-tables?a=gender&b=age"])
def test_more_questions_than_may_wait_are_refused(site, make_report, what):
    """Guards: each question that waited held one of the server's threads, without a bound."""
    published = site.publish()
    site.fill(published, 3)
    analysis = site.services.analysis
    answers = []
    threads = [
        threading.Thread(target=lambda: answers.append(site.get(PATH + what).status_code))
        for _ in range(1 + WAITING_QUESTIONS)
    ]
    with analysis._turn:  # one question that takes long
        for thread in threads:
            thread.start()
        deadline = time.monotonic() + 60
        while analysis._places._value:
            assert time.monotonic() < deadline
            time.sleep(0.001)
        refused = site.get(PATH + what)
        body = wire.encode_report_json(published.digest, make_report(published))
        assert site.send("work", body).status_code == 201
    for thread in threads:
        thread.join(60)
    assert site.problem(refused) == (503, "unavailable", None)
    assert refused.headers["Retry-After"] == "5"
    assert answers == [200] * (1 + WAITING_QUESTIONS)
    assert site.get(PATH + what).status_code == 200


def test_a_question_that_fails_gives_its_place_back(site, monkeypatch):
    site.fill(site.publish(), 3)

    def fail(*_arguments, **_options):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr("hushpoll_server.services.results.exports.ShuffledRows", fail)
        for _ in range(2 + WAITING_QUESTIONS):
            assert site.problem(site.get(PATH + "records"))[:2] == (500, "internal")
    assert site.get(PATH + "records").status_code == 200


def test_what_counts_answer_does_not_queue(site):
    site.fill(site.publish(), 3)
    with site.services.analysis._turn:
        assert site.get(PATH + "estimates").status_code == 200
