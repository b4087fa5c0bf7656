from __future__ import annotations

import json

import pytest

from decoded import clear_answers
from hushpoll_client import InvalidParameter, MalformedRecord, Report, randomize
from hushpoll_protocols import ReplayBits


def test_json_round_trip(published, answers):
    report = randomize(published, answers)
    again = Report.from_json(report.to_json())
    assert again == report
    assert Report.from_json(report.to_json().encode()) == report


def test_two_reports_have_different_ids(published, answers):
    assert randomize(published, answers).id != randomize(published, answers).id


def test_the_same_words_give_the_same_record(published, answers):
    words = [3**40 * number % 2**64 for number in range(500)]
    first = randomize(published, answers, bits=ReplayBits(words))
    again = randomize(published, answers, bits=ReplayBits(words))
    assert first.record == again.record
    assert clear_answers(published.layout, first.record) == {
        "education": "college",
        "income": ">26000",
    }


def test_the_repr_shows_no_record(published, answers):
    report = randomize(published, answers)
    record = json.loads(report.to_json())["record"]
    assert record not in repr(report)
    assert report.record.hex() not in repr(report)
    assert repr(report.record)[2:-1] not in repr(report)


def corrupt(report: Report, **changes: object) -> str:
    return json.dumps(json.loads(report.to_json()) | changes)


@pytest.mark.parametrize(
    ("changes", "field"),
    [
        ({"id": "AAAAAAAAAAAAAAAAAAAAAB"}, "id"),
        ({"id": "AAAAAAAAAAAAAAAAAAAAAA=="}, "id"),
        ({"id": "AAAA"}, "id"),
        ({"record": "AB"}, "record"),
        ({"record": "+A"}, "record"),
        ({"record": None}, "record"),
        ({"digest": "00"}, "digest"),
        ({"extra": 1}, "extra"),
    ],
)
def test_a_report_that_is_not_canonical_is_refused(published, answers, changes, field):
    text = corrupt(randomize(published, answers), **changes)
    with pytest.raises(InvalidParameter) as caught:
        Report.from_json(text)
    assert caught.value.field == field


@pytest.mark.parametrize("text", ["", "{", "[]", '"report"', "null", b"\xff"])
def test_text_that_is_no_report_is_refused(text):
    with pytest.raises(InvalidParameter):
        Report.from_json(text)


@pytest.mark.parametrize("change", [lambda r: r[:-1], lambda r: r + b"\0"])
def test_a_record_one_byte_short_or_long_is_malformed(published, answers, change):
    record = randomize(published, answers).record
    with pytest.raises(MalformedRecord) as caught:
        published.layout.check(change(record))
    assert caught.value.reason == "length"
