"""Estimates, cross-tables, records and counts over HTTP."""

from __future__ import annotations

import subprocess
import sys
import threading
from collections import Counter

import pytest

from hushpoll_server.services.results import release_source
from hushpoll_server.services.results.analysis import WAITING_QUESTIONS
from hushpoll_server.store import segments
from hushpoll_shared.wire.records_file import RECORDS_MEDIA_TYPE, read_records
from sample_survey import VERSION, encoded
from waiting import LONGEST_SECONDS, run_together, wait_until

# At this epsilon a device lies with a probability below 2^-60, so the truth is known exactly and
# the estimate differs from it by rounding alone.
LOUD = {
    "epsilon": "64",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "frequency", "role": "plain", "categories": ["low", "middle", "high"]},
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
}
PEOPLE = [("Female", "low")] * 6 + [("Male", "high")] * 3 + [("Male", "low")]


@pytest.fixture
def loud(site):
    published = site.publish(**LOUD, allow_weak=True)
    reports = [encoded(published, {"gender": one, "frequency": two}) for one, two in PEOPLE]
    for half, minimum in ((reports[:4], 4), (reports[4:], 99)):  # some sealed, some in the inbox
        site.send_batch(published, half)
        site.services.segments.seal(1, published.layout.record_size, minimum=minimum)
    assert site.counts(published)["sealed"] == 4
    assert site.counts(published)["inbox"] == 6
    return published


def test_estimates_are_the_truth_where_devices_do_not_lie(site, loud):
    answer = site.get(f"{VERSION}/estimates")
    assert answer.status_code == 200
    body = answer.json
    assert (body["survey"], body["version"], body["digest"]) == ("work", 1, loud.digest)
    assert (body["n"], body["confidence"]) == (10, 0.95)
    gender, often = body["attributes"]
    assert (gender["protocol"], gender["epsilon"]) == ("GRR", "64")
    assert (often["protocol"], often["epsilon"]) == (None, None)
    found = {row["category"]: row for row in gender["categories"] + often["categories"]}
    truth = {"Female": 0.6, "Male": 0.4, "low": 0.7, "middle": 0.0, "high": 0.3}
    assert {name: row["frequency"] for name, row in found.items()} == pytest.approx(truth, abs=1e-9)
    for name, row in found.items():
        assert row["lower"] - 1e-9 <= truth[name] <= row["upper"] + 1e-9


@pytest.mark.sqlite
def test_a_higher_confidence_gives_wider_intervals(site, loud):
    def width(confidence):
        query = {"confidence": confidence}
        answer = site.get(f"{VERSION}/estimates", query_string=query).json
        row = answer["attributes"][0]["categories"][0]
        return answer["confidence"], row["upper"] - row["lower"]

    (low, narrow), (high, wide) = width(0.5), width(0.99)
    assert (low, high) == (0.5, 0.99)
    assert narrow < wide


@pytest.mark.sqlite
@pytest.mark.parametrize("name", ["projected", "likelihood", "shrunk"])
def test_an_estimator_without_an_interval_says_so(site, loud, name):
    answer = site.get(f"{VERSION}/estimates", query_string={"estimator": name}).json
    assert answer["estimator"] == name
    assert "have no interval" in answer["intervals"]
    gender, _ = answer["attributes"]
    assert gender["poisoning"] is None
    assert [row["lower"] for row in gender["categories"]] == [None, None]
    assert gender["categories"][0]["frequency"] == pytest.approx(0.6, abs=0.1)


@pytest.mark.sqlite
def test_an_unknown_estimator_is_refused(site, loud):
    answer = site.get(f"{VERSION}/estimates", query_string={"estimator": "best"})
    assert site.problem(answer) == (422, "invalid-request", "estimator")


@pytest.mark.sqlite
def test_records_too_many_for_the_likelihood_are_refused(site, loud, monkeypatch):
    monkeypatch.setattr(release_source, "LARGEST_HELD", 10)
    answer = site.get(f"{VERSION}/estimates", query_string={"estimator": "likelihood"})
    assert site.problem(answer) == (422, "invalid-request", "estimator")


def test_a_cross_table_is_the_truth_where_devices_do_not_lie(site, loud):
    """One attribute is called like a column of the answer, which must not confuse the two."""
    answer = site.get(
        f"{VERSION}/cross-tables", query_string={"a": "gender", "b": "frequency"}
    ).json
    assert (answer["a"], answer["b"], answer["n"]) == ("gender", "frequency", 10)
    assert "of these 6 at 95 %, 0.3 are expected to miss" in answer["intervals"]
    assert set(answer["poisoning"]) == {
        "one_fake_adds",
        "one_fake_removes",
        "fake_share",
        "raised_by",
        "lowered_by",
    }
    shares = {(cell["a"], cell["b"]): cell["frequency"] for cell in answer["cells"]}
    people = Counter(PEOPLE)
    assert shares == pytest.approx(
        {
            (gender, often): people[gender, often] / 10
            for gender in ("Female", "Male")
            for often in ("low", "middle", "high")
        },
        abs=1e-9,
    )


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"a": "gender"}, "b"),
        ({"a": "gender", "b": "frequency", "confidence": "1"}, "confidence"),
        ({"a": "gender", "b": "frequency", "confidence": "nan"}, "confidence"),
        ({"a": "gender", "b": "frequency", "c": "x"}, "c"),
    ],
)
def test_a_question_of_another_form_is_refused_by_field(site, loud, query, field):
    answer = site.get(f"{VERSION}/cross-tables", query_string=query)
    assert site.problem(answer) == (422, "invalid-request", field)


@pytest.mark.sqlite
@pytest.mark.parametrize("query", [{"a": "gender", "b": "race"}, {"a": "gender", "b": "gender"}])
def test_a_cross_table_needs_two_attributes_of_the_survey(site, loud, query):
    answer = site.get(f"{VERSION}/cross-tables", query_string=query)
    assert site.problem(answer)[:2] == (422, "invalid-request")
    assert query["b"] in answer.json["detail"]


def test_the_export_holds_every_record_and_nothing_else(site, loud):
    answer = site.get(f"{VERSION}/records")
    assert answer.mimetype == RECORDS_MEDIA_TYPE
    assert int(answer.headers["Content-Length"]) == len(answer.data)
    published, records = read_records(answer.data)
    assert published == loud
    code = {"Female": 0, "Male": 1, "low": 0, "middle": 1, "high": 2}
    assert Counter(map(tuple, records.tolist())) == Counter(
        (code[gender], code[often]) for gender, often in PEOPLE
    )


def test_the_export_is_in_another_order_each_time(site):
    published = site.publish()
    site.fill(published, 200)
    first, second = (read_records(site.get(f"{VERSION}/records").data)[1] for _ in range(2))
    assert sorted(map(bytes, first)) == sorted(map(bytes, second))
    assert first.tolist() != second.tolist()


@pytest.mark.sqlite
@pytest.mark.parametrize("what", ["estimates", "cross-tables?a=gender&b=age", "records"])
def test_below_the_minimum_batch_nothing_is_answered(site, what):
    published = site.publish(minimum_batch=5)
    site.fill(published, 4)
    answer = site.get(f"{VERSION}/{what}")
    assert site.problem(answer) == (409, "not-enough-reports", None)
    assert (answer.json["reports"], answer.json["minimum_batch"]) == (4, 5)
    site.fill(published, 1)
    assert site.get(f"{VERSION}/{what}").status_code == 200


@pytest.mark.sqlite
@pytest.mark.parametrize("what", ["estimates", "cross-tables?a=gender&b=age", "records", "counts"])
def test_questions_about_an_unpublished_version_are_not_found(site, what):
    site.publish()
    answer = site.get(f"/api/v1/surveys/work/versions/7/{what}")
    assert site.problem(answer) == (404, "unknown-survey", "version")


def test_blocks_join_small_segments(site, monkeypatch):
    monkeypatch.setattr(segments, "SEGMENT_REPORTS", 10)
    monkeypatch.setattr(segments, "BLOCK_BYTES", 100)
    published = site.publish()
    for _ in range(5):
        site.fill(published, 10)  # 50 bytes each
        site.services.segments.seal(1, 5, minimum=10)
    site.fill(published, 3)
    blocks = list(site.services.segments.blocks(1, 5))
    assert [len(block) for block in blocks] == [20, 20, 10]


@pytest.fixture
def no_pairs(monkeypatch):
    """Cross-tables read the records, as those of large domains do."""
    monkeypatch.setattr("hushpoll_analysis.records.counts.PAIRED_CATEGORIES", 2)


@pytest.mark.sqlite
@pytest.mark.usefixtures("no_pairs")
@pytest.mark.parametrize("what", ["records", "records?format=csv", "cross-tables?a=gender&b=age"])
def test_questions_past_those_that_may_wait_are_refused(site, monkeypatch, what):
    """Guards: each question that waited held one of the server's threads, without a bound."""
    published = site.publish()
    site.fill(published, 3)
    site.seal()
    blocks, go = site.services.segments.blocks, threading.Event()

    def slow(*arguments, **options):
        assert go.wait(LONGEST_SECONDS)
        return blocks(*arguments, **options)

    monkeypatch.setattr(site.services.segments, "blocks", slow)
    answers = []

    def ask():
        answers.append(site.get(f"{VERSION}/{what}"))

    def look():
        (refused,) = wait_until(lambda: answers)
        assert site.problem(refused) == (503, "unavailable", None)
        assert refused.headers["Retry-After"] == "5"
        assert site.send(published).status_code == 201
        # A question that counts answer does not wait for the others.
        assert site.get(f"{VERSION}/estimates").status_code == 200
        go.set()

    run_together(look, *[ask] * (2 + WAITING_QUESTIONS))
    assert [answer.status_code for answer in answers[1:]] == [200] * (1 + WAITING_QUESTIONS)
    assert site.get(f"{VERSION}/{what}").status_code == 200


@pytest.mark.sqlite
def test_a_question_that_fails_gives_its_place_back(site, monkeypatch):
    site.fill(site.publish(), 3)

    def fail(*_arguments, **_options):
        raise MemoryError

    with monkeypatch.context() as broken:
        broken.setattr("hushpoll_server.services.results.exports.ShuffledRows", fail)
        for _ in range(2 + WAITING_QUESTIONS):
            assert site.problem(site.get(f"{VERSION}/records"))[:2] == (500, "internal")
    assert site.get(f"{VERSION}/records").status_code == 200


# Numba takes its compiler's lock for each kernel that it has to load or compile.
SCRIPT = """
import numpy as np
from numba.core.event import install_recorder
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.records import RecordStream
from hushpoll_protocols import SecureBits
from hushpoll_server.services.results.analysis import prepare
from hushpoll_shared.wire.batch import malformed_many
from hushpoll_shared.drafts.manifest import Manifest

with install_recorder("numba:compiler_lock") as prepared:
    prepare()
assert prepared.buffer
protocols = ["GRR", "BLH", "OLH", "RAPPOR", "OUE", "SS", "THE"]
attributes = [
    {"name": name.lower(), "role": "sensitive", "protocol": name, "range": [1, 90]}
    for name in protocols
]
attributes.append({"name": "town", "role": "plain", "range": [1, 300]})
published = Manifest.from_dict(
    {"name": "work", "version": 1, "title": "Work", "epsilon": "14", "attributes": attributes}
).resolve()
codes = published.layout.code_answers({one.name: "3" for one in published.attributes})
records = [published.layout.encode(codes, SecureBits()) for _ in range(500)]
body = np.frombuffer(b"".join(records), dtype=np.uint8).reshape(len(records), -1)
with install_recorder("numba:compiler_lock") as counting:
    bad, _ = malformed_many(published, body)
    assert not bad.any()
    assert count_pairs(RecordStream.trusted(published, [body.copy()])).counts.n == len(records)
assert not counting.buffer, counting.buffer
"""


def test_the_first_seal_finds_its_machine_code_loaded():
    """Guards: 0.45 s for everybody who had a report under way."""
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        capture_output=True,
        text=True,
        timeout=LONGEST_SECONDS,
        check=False,
    )
    assert done.returncode == 0, done.stderr
