"""A survey with a block on the server: published, answered, sealed, exported; no wrong number."""

from __future__ import annotations

import csv
from io import BytesIO

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.records.counts import count, count_pairs
from hushpoll_analysis.report_shape import report_shape
from hushpoll_protocols import InvalidParameter, MalformedRecord
from hushpoll_shared import Manifest
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import encode_many
from hushpoll_shared.wire.records_file import pack_records_header, read_records
from sample_survey import VERSION, encoded, make_draft

TOGETHER = {
    "epsilon": "4",
    "protocol": "SS",
    "attributes": [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "town", "role": "plain", "categories": ["a", "b"]},
        {"name": "age", "role": "sensitive", "range": [1, 3]},
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
    ],
    "protected": {"attribute": "gender", "unprivileged": "Female", "privileged": "Male"},
    "together": [{"name": "habits", "attributes": ["gender", "smokes"]}],
}
ANSWERS = {"gender": "Male", "town": "b", "age": 2, "smokes": "yes"}


def made_records(n: int = 50) -> Records:
    published = Manifest.from_dict(make_draft(**TOGETHER)).resolve()
    rng = np.random.default_rng(5)
    codes = {one.name: rng.integers(0, one.k, n) for one in published.attributes}
    return Records(published, encode_many(published, codes, rng))


def test_a_survey_with_a_block_is_taken_sealed_and_exported(site):
    published = site.publish(**TOGETHER)
    assert site.get(VERSION).json["format"] == 2
    reports = [encoded(published, ANSWERS) for _ in range(5)]
    assert [site.send(published, report).status_code for report in reports] == [201] * 5
    spoiled = wire.Report(bytes(16), b"\xff" + reports[0].record[1:])
    assert site.problem(site.send(published, spoiled))[1:] == ("malformed-report", "habits")
    site.seal()
    exported = site.get(f"{VERSION}/records")
    again, rows = read_records(exported.data)
    assert again == published
    assert sorted(row.tobytes() for row in rows) == sorted(one.record for one in reports)


STATISTICS = (
    "estimates",
    "cross-tables?a=smokes&b=gender",
    "conditional-shares?of=age&given=smokes",
    "independence?a=gender&b=smokes",
    "ordered-answers?attribute=age&given=gender",
    "dependencies",
)


def test_every_statistic_and_file_takes_questions_of_a_block(site):
    published = site.publish(**TOGETHER)
    site.send_batch(published, [encoded(published, ANSWERS) for _ in range(60)])
    site.seal()
    answers = {query: site.get(f"{VERSION}/{query}") for query in STATISTICS}
    for query, answer in answers.items():
        assert answer.status_code == 200, (query, answer.json)
        assert answer.json["verdict"]["says"], query
    columns = {
        content: csv.reader(
            site.get(f"{VERSION}/records?format=csv&content={content}").data.decode().splitlines()
        )
        for content in ("records", "indicators", "debiased")
    }
    names = next(columns["records"])
    block = published.layout.field("habits").oracle.name
    if block == "GRR":
        assert names[:2] == ["habits", "town"]
    else:
        assert names[:2] == ["habits=Female & no", "habits=Female & yes"]
    assert next(columns["indicators"])[:2] == ["habits=Female & no", "habits=Female & yes"]
    names, *rows = columns["debiased"]
    means = dict(zip(names, np.array(rows, float).mean(axis=0), strict=True))
    estimated = {
        f"{one['name']}={row['category']}": row["frequency"]
        for one in site.get(f"{VERSION}/estimates").json["attributes"]
        for row in one["categories"]
    }
    assert means == pytest.approx(estimated)


def test_records_of_blocks_go_through_tables_of_arrow_and_back():
    records = made_records()
    table = records.to_arrow()
    assert table.column_names == ["habits", "town", "age"]
    assert Records.from_table(table).rows.tolist() == records.rows.tolist()
    frame = records.frame()
    assert list(frame)[:2] == ["habits=Female & no", "habits=Female & yes"]
    assert frame.shape == (50, 4 + 2 + 3)


def test_nothing_takes_the_counts_of_a_block_for_those_of_a_question():
    records = made_records()
    assert count(records).support.keys() == {"habits", "town", "age"}
    assert count_pairs(records).joint.keys() == {
        ("habits", "town"), ("habits", "age"), ("town", "age"),
    }  # fmt: skip
    for ask in (
        lambda: records.indicators("gender"),
        lambda: records.codes("gender"),
        lambda: records.column("smokes"),
        lambda: count(records).support["gender"],
    ):
        with pytest.raises(InvalidParameter, match=r"(gender|smokes).* block"):
            ask()


def test_a_damaged_field_of_a_block_is_named():
    records = made_records()
    rows = records.rows.copy()
    rows[3, 0] = 0xFF
    with pytest.raises(MalformedRecord, match=r"records\[3\].*habits") as caught:
        Records(records.published, rows)
    assert caught.value.field == "habits"


def test_the_shape_of_reports_is_that_of_the_blocks():
    shape = report_shape(made_records(200))
    assert [one.name for one in shape.attributes] == ["habits", "town", "age"]


def test_the_file_of_records_has_format_2():
    published = made_records().published
    head = pack_records_header(published, 1)
    again, rows = read_records(head + bytes(published.layout.record_size))
    assert (again.digest, len(rows)) == (published.digest, 1)
    assert BytesIO(head).read(4) == b"HREC"
