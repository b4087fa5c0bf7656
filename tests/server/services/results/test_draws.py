"""A survey with a draw on a server: malformed masks, sealing, results, exports and refusals."""

from __future__ import annotations

import csv
import io
import json

import pyarrow.parquet as parquet
import pytest

from hushpoll_analysis.estimates.cross_table import cross_table
from hushpoll_analysis.estimates.frequencies import frequencies
from hushpoll_analysis.records.records import Records
from hushpoll_server.survey_reports.files.bundle import read_bundle
from hushpoll_server.survey_reports.files.offline import remade
from hushpoll_shared.wire import reports as wire
from hushpoll_shared.wire.batch import answered
from sample_survey import VERSION, encoded

pytestmark = pytest.mark.sqlite

ATTRIBUTES = [
    {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
    {"name": "age", "role": "sensitive", "protocol": "OUE", "range": [1, 4]},
    {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
    {"name": "sleep", "role": "sensitive", "categories": ["bad", "good"]},
    {"name": "town", "role": "plain", "categories": ["a", "b"]},
]
DRAWS = [{"name": "rota", "blocks": ["age", "smokes", "sleep"], "answer": 2}]


@pytest.fixture
def published(site):
    return site.publish(attributes=ATTRIBUTES, draws=DRAWS, protected=None, split="uniform")


@pytest.fixture
def records(site, published):
    answers = {"gender": "Male", "age": "3", "smokes": "yes", "sleep": "bad", "town": "a"}
    site.send_batch(published, [encoded(published, answers) for _ in range(300)])
    site.seal()
    (rows,) = site.services.segments.blocks(1, published.layout.record_size)
    return Records(published, rows)


def test_results_of_a_release_are_those_of_its_records(site, records):
    body = site.get(f"{VERSION}/estimates").json
    expected = frequencies(records).to_dict()
    assert body["attributes"] == json.loads(json.dumps(expected["attributes"]))
    n = {one["name"]: one["n"] for one in body["attributes"]}
    assert body["n"] == 300
    assert n["gender"] is None
    fields = {field.name: field for field in records.published.layout.fields}
    assert n["age"] == answered(records.rows, fields["age"]).sum()
    table = site.get(f"{VERSION}/cross-tables", query_string={"a": "age", "b": "sleep"}).json
    by_hand = cross_table(records, "age", "sleep").to_dict()
    assert table["n"] == by_hand["n"] < 200
    assert table["cells"] == json.loads(json.dumps(by_hand["cells"]))
    inside = {"a": "smokes", "b": "gender", "where": "town=a"}
    assert site.get(f"{VERSION}/cross-tables", query_string=inside).json["n"] == n["smokes"]


def test_all_pairs_and_weighted_shares_are_of_those_who_answer(site, records):
    tested = site.get(f"{VERSION}/dependencies").json
    pairs = {(one["a"], one["b"]): one["n"] for one in tested["pairs"]}
    assert pairs["age", "sleep"] == records.answer(["age", "sleep"]).sum()
    margin = {"attributes": ["smokes"], "shares": {"no": 0.5, "yes": 0.5}}
    for design, names in (({}, ["sleep"]), ({"margins": [margin]}, ["sleep", "smokes"])):
        body = {"attribute": "sleep", "design": design}
        weighted = site.post(f"{VERSION}/weighted-shares", json=body)
        assert weighted.status_code == 200, weighted.json
        assert weighted.json["n"] == records.answer(names).sum()


def test_an_export_has_no_cells_for_blocks_that_were_not_chosen(site, records):
    for content in ("records", "indicators", "debiased"):
        query = {"format": "parquet", "content": content}
        table = parquet.read_table(
            io.BytesIO(site.get(f"{VERSION}/records", query_string=query).data)
        )
        for column in table.column_names:
            of = column.partition("=")[0]
            missing = table.column(column).null_count
            assert (missing > 0) == (of in ("age", "smokes", "sleep")), (content, column)
    text = site.get(
        f"{VERSION}/records", query_string={"format": "csv", "cells": "hexadecimal"}
    ).text
    rows = list(csv.DictReader(io.StringIO(text)))
    assert len(rows) == 300
    assert all(sum(row[name] != "" for name in ("age", "smokes", "sleep")) == 2 for row in rows)


def test_a_malformed_mask_is_refused_over_the_wire(site, published):
    answers = {"gender": "Male", "age": "3", "smokes": "yes", "sleep": "bad", "town": "a"}
    whole = encoded(published, answers)
    (mask,) = published.layout.masks
    for value, field in ((7, "rota"), (0, "rota"), (8, "rota")):
        record = bytearray(whole.record)
        record[mask.offset] = value
        answer = site.send(published, wire.Report(whole.id, bytes(record)))
        assert answer.status_code == 422, answer.json
        assert answer.json["field"] == field
    assert site.send(published, whole).status_code == 201


def test_a_report_has_the_numbers_of_the_api_and_is_made_again_from_its_bundle(site, records):
    asked = "cross=age:sleep,smokes:gender&attributes=gender,age,smokes,sleep"
    page = site.get(f"{VERSION}/report?{asked}")
    assert page.status_code == 200, page.json
    bundle = site.get(f"{VERSION}/report?{asked}&format=bundle").data
    files = read_bundle(bundle)[1]
    results = json.loads(files["results.json"])
    estimates = site.get(f"{VERSION}/estimates").json
    own = [one for one in estimates["attributes"] if one["name"] != "town"]
    assert results["estimates"]["attributes"] == own
    for table, (a, b) in zip(
        results["cross_tables"], [("age", "sleep"), ("smokes", "gender")], strict=True
    ):
        told = site.get(f"{VERSION}/cross-tables", query_string={"a": a, "b": b}).json
        assert table["cells"] == told["cells"]
        assert table["n"] == told["n"] == records.answer([a, b]).sum()
    ordered = site.get(f"{VERSION}/ordered-answers", query_string={"attribute": "age"}).json
    assert results["ordered"]["age"]["groups"] == ordered["groups"]
    with remade(bundle) as made:
        assert made.different == ()
        assert made.file("html") == page.data


def test_results_in_a_report_are_those_of_the_api(site, records):
    queries = [
        "dependencies",
        "independence?a=age&b=sleep",
        "simultaneous-estimates",
        "simultaneous-means?attributes=age&given=gender",
        "conditional-shares?of=age&given=sleep",
    ]
    query = {"results": ",".join(queries), "format": "bundle"}
    answer = site.get(f"{VERSION}/report", query_string=query)
    assert answer.status_code == 200, answer.json
    results = json.loads(read_bundle(answer.data)[1]["results.json"])["results"]
    for one, address in zip(results, queries, strict=True):
        told = site.get(f"{VERSION}/{address}").json
        assert one["result"] == {name: told[name] for name in one["result"]}, address
    with remade(answer.data) as made:
        assert made.different == ()


def test_a_report_of_what_nobody_answers_is_refused(site):
    draws = [{"name": "rota", "blocks": ["age", "smokes", "sleep"], "answer": 1}]
    published = site.publish(attributes=ATTRIBUTES, draws=draws, protected=None, split="uniform")
    answers = {"gender": "Male", "age": "3", "smokes": "yes", "sleep": "bad", "town": "a"}
    site.send_batch(published, [encoded(published, answers) for _ in range(60)])
    site.seal()
    refused = site.get(f"{VERSION}/report?cross=age:sleep")
    assert refused.status_code == 422
    assert "nobody answers both" in refused.json["detail"]
