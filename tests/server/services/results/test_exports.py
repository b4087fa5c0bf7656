"""Files of records: what is in them, in which order, and in how much memory."""

from __future__ import annotations

import csv
import io
import json
from collections import Counter

import numpy as np
import pandas as pd
import pyarrow.parquet as parquet
import pyreadstat
import pytest

from decoded import clear_answers, part_of
from hushpoll_analysis import Records, RecordStream, count
from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.records.counts import Counts
from hushpoll_analysis.records.parquet import ParquetRecords, read_row_group
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.services.results import exports
from hushpoll_server.store import segments
from hushpoll_shared.spelling.csv_cells import unescaped
from sample_survey import VERSION, encoded

PATH = f"{VERSION}/records"
# Texts that a spreadsheet or a careless writer would change.
AWKWARD = ["=1+1", 'say "hush", please', "@SUM(A1)", "-2"]


@pytest.fixture
def published(site):
    attributes = [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "age", "role": "sensitive", "protocol": "OUE", "range": [1, 12]},
        {"name": "country", "role": "sensitive", "protocol": "OLH", "range": [1, 5]},
        {"name": "note", "role": "plain", "categories": AWKWARD},
    ]
    return site.publish(attributes=attributes)


@pytest.fixture
def records(site, published):
    answers = {"gender": "Male", "age": "3", "country": "4"}
    reports = [encoded(published, answers | {"note": AWKWARD[n % 4]}) for n in range(60)]
    site.send_batch(published, reports)
    return np.frombuffer(b"".join(one.record for one in reports), np.uint8).reshape(60, -1)


def exported(site, **query):
    answer = site.get(PATH, query_string=query)
    assert answer.status_code == 200, answer.json
    return answer


def rows_of(table):
    return Counter(tuple(row) for row in table)


@pytest.mark.sqlite
def test_parquet_holds_the_records_and_their_manifest(site, published, records):
    answer = exported(site, format="parquet")
    assert answer.mimetype == "application/vnd.apache.parquet"
    assert 'filename="work-1.parquet"' in answer.headers["Content-Disposition"]
    table = parquet.read_table(io.BytesIO(answer.data))
    assert table.column_names == ["gender", "age", "country", "note"]
    metadata = table.schema.metadata
    assert metadata[b"hushpoll.digest"].decode() == published.digest
    assert metadata[b"hushpoll.manifest"] == published.canonical
    assert metadata[b"hushpoll.content"] == b"records"
    columns = [column.to_pylist() for column in table.columns]
    layout = published.layout
    expected = (
        (*(part_of(layout, bytes(row), name) for name in ("gender", "age", "country")), note)
        for row in records
        for note in [clear_answers(layout, bytes(row))["note"]]
    )
    assert rows_of(zip(*columns, strict=True)) == rows_of(expected)


CATEGORIES = [f"age={n}" for n in range(1, 13)], [f"country={n}" for n in range(1, 6)]


@pytest.mark.sqlite
@pytest.mark.parametrize("cells", [None, "labels", "codes"])
def test_csv_of_records_is_such_as_an_analyst_can_read(site, published, records, cells):
    answer = exported(site, format="csv", **({} if cells is None else {"cells": cells}))
    header, *rows = csv.reader(io.StringIO(answer.data.decode(), newline=""))
    ages, countries = CATEGORIES
    if cells == "codes":
        ages = [f"age={n}" for n in range(12)]
        countries = [f"country={n}" for n in range(5)]
    assert header == ["gender", *ages, *countries, "note"]
    decoded = Records(published, records)
    gender = decoded.indicators("gender").argmax(axis=1)
    bits = [decoded.indicators(name).astype(str).tolist() for name in ("age", "country")]
    notes = decoded.codes("note")
    named = cells != "codes"
    expected = (
        (
            ["Female", "Male"][one] if named else str(one),
            *bits[0][n],
            *bits[1][n],
            AWKWARD[notes[n]] if named else str(notes[n]),
        )
        for n, one in enumerate(gender)
    )
    assert rows_of((*row[:-1], unescaped(row[-1])) for row in rows) == rows_of(expected)


@pytest.mark.sqlite
def test_csv_is_in_the_language_that_is_asked_for(site):
    attributes = [
        {"name": "smokes", "role": "sensitive", "protocol": "GRR", "categories": ["no", "yes"]},
        {"name": "pain", "role": "sensitive", "protocol": "OUE", "categories": ["mild", "=bad"]},
    ]
    german = {"smokes": {"categories": ["nein", "ja"]}, "pain": {"categories": ["leicht", "=arg"]}}
    site.publish(
        attributes=attributes,
        protected=None,
        language="en",
        translations={"de": {"title": "Arbeit", "attributes": german}},
    )
    published = site.services.surveys.published(site.services.surveys.version("work", 1))
    site.send_batch(
        published, [encoded(published, {"smokes": "yes", "pain": "mild"}) for _ in range(20)]
    )
    for language, labels, columns in (
        (None, {"no", "yes"}, ["pain=mild", r"pain=\=bad"]),
        ("de", {"nein", "ja"}, ["pain=leicht", r"pain=\=arg"]),
    ):
        asked = {} if language is None else {"language": language}
        header, *rows = csv.reader(
            io.StringIO(exported(site, format="csv", **asked).data.decode(), newline="")
        )
        assert header == ["smokes", *(one.replace("\\", "") for one in columns)]
        assert {row[0] for row in rows} <= labels


@pytest.mark.sqlite
def test_weights_and_strata_of_a_design_are_columns(site, published, records, tmp_path):
    sizes = dict(zip(AWKWARD, (100, 200, 300, 400), strict=True))
    design = json.dumps({"strata": {"attributes": ["note"], "sizes": sizes}})
    for form in ("csv", "parquet"):
        data = exported(site, format=form, content="debiased", design=design).data
        frame = (
            pd.read_csv(io.BytesIO(data)) if form == "csv" else pd.read_parquet(io.BytesIO(data))
        )
        assert list(frame.columns[:3]) == ["weight", "stratum", "stratum_size"]
        called = frame["stratum"].map(unescaped) if form == "csv" else frame["stratum"]
        assert frame["stratum_size"].tolist() == [sizes[one] for one in called]
        assert frame["weight"].tolist() == pytest.approx([sizes[one] / 15 for one in called])
    path = tmp_path / "work.sav"
    path.write_bytes(exported(site, format="sav", content="debiased", design=design).data)
    labelled, about = pyreadstat.read_sav(str(path))
    assert sorted(labelled["weight"]) == pytest.approx(sorted(frame["weight"]))
    assert list(about.variable_value_labels["stratum"].values()) == AWKWARD
    for query, field in (
        ({"format": "csv", "design": "{"}, "design"),
        ({"format": "csv", "design": '{"no": 1}'}, "design"),
        ({"format": "csv", "design": '{"weights": {"attributes": ["gender"], "weights": {}}}'},
         "design"),
        ({"format": "records", "design": design}, "design"),
        ({"format": "parquet", "cells": "labels"}, "cells"),
        ({"format": "csv", "content": "debiased", "cells": "codes"}, "cells"),
        ({"format": "csv", "language": "fr"}, "language"),
    ):  # fmt: skip
        assert site.problem(site.get(PATH, query_string=query))[2] == field, query


@pytest.mark.sqlite
@pytest.mark.parametrize("raw", [False, True])
def test_csv_holds_the_same_and_no_formula_unless_it_is_raw(site, published, records, raw):
    """Guards: a category such as =WEBSERVICE(...) was run by the spreadsheet of an analyst."""
    asked = {"format": "csv", "cells": "hexadecimal"}
    answer = exported(site, **asked, **({"raw": "true"} if raw else {}))
    assert answer.mimetype == "text/csv"
    header, *rows = csv.reader(io.StringIO(answer.data.decode(), newline=""))
    assert header == ["gender", "age", "country", "note"]
    layout = published.layout
    notes = {row[3] for row in rows}
    assert notes == set(AWKWARD if raw else ["'=1+1", AWKWARD[1], "'@SUM(A1)", "'-2"])
    assert rows_of((*row[:3], row[3] if raw else unescaped(row[3])) for row in rows) == rows_of(
        (
            *(part_of(layout, bytes(row), name).hex() for name in ("gender", "age", "country")),
            clear_answers(layout, bytes(row))["note"],
        )
        for row in records
    )


@pytest.mark.sqlite
@pytest.mark.parametrize("content", ["indicators", "debiased"])
def test_tables_of_numbers_are_those_of_the_analysis(site, published, records, content):
    decoded = Records(published, records)
    frame = decoded.frame()
    if content == "debiased":
        for one in published.attributes:
            columns = [f"{one.name}={category}" for category in one.domain]
            frame = frame.astype(dict.fromkeys(columns, float))
            frame[columns] = RowWeights.of_records(decoded, one.name).rows(decoded)
    expected = rows_of(frame.to_numpy())
    binary = exported(site, format="parquet", content=content).data
    table = parquet.read_table(io.BytesIO(binary))
    assert table.column_names == list(frame.columns)
    assert set(map(str, table.schema.types)) == {"uint8" if content == "indicators" else "double"}
    assert rows_of(table.to_pandas().to_numpy()) == expected
    text = exported(site, format="csv", content=content).data.decode()
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert header == list(frame.columns)
    assert rows_of(tuple(map(float, row)) for row in rows) == expected


@pytest.mark.sqlite
def test_a_file_in_many_pieces_is_the_same_file(site, published, records, monkeypatch):
    monkeypatch.setattr(segments, "ROWS_PER_BLOCK", 16)
    monkeypatch.setattr(exports, "CELLS", 7 * 4)
    pieces = parquet.ParquetFile(io.BytesIO(exported(site, format="parquet").data))
    assert pieces.metadata.num_row_groups == 11  # 16 is cut into 7, 7 and 2; 12 into 7 and 5
    assert pieces.metadata.num_rows == 60
    assert exported(site, format="csv").data.count(b"\n") == 1 + 60


@pytest.mark.sqlite
@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"format": "xlsx"}, "format"),
        ({"content": "raw"}, "content"),
        ({"content": "debiased"}, "content"),
        ({"rows": "5"}, "rows"),
    ],
)
def test_a_form_that_does_not_exist_is_refused_by_field(site, published, records, query, field):
    answer = site.get(PATH, query_string=query)
    assert site.problem(answer) == (422, "invalid-request", field)


@pytest.mark.parametrize("query", [{}, {"format": "csv"}, {"format": "parquet"}])
def test_two_exports_never_differ_by_fewer_than_a_minimum_batch(site, query):
    """Guards: an analyst who exported after every report saw each one by itself."""
    published = site.publish(minimum_batch=10)
    sizes = []
    for _ in range(35):
        site.send(published)
        answer = site.get(PATH, query_string=query)
        if answer.status_code == 200:
            estimates = site.get(PATH.replace("records", "estimates")).json
            sizes.append(estimates["n"])
            assert estimates["pending"] < 10
    assert sizes == [10] * 10 + [20] * 10 + [30] * 6


@pytest.mark.sqlite
def test_counts_of_parquet_are_those_of_one_machine(site, tmp_path):
    published = site.publish()
    site.fill(published, 200)
    path = tmp_path / "work.parquet"
    path.write_bytes(site.get(f"{VERSION}/records?format=parquet").data)
    blocks = site.services.segments.blocks(1, published.layout.record_size)
    expected = count(RecordStream.trusted(published, blocks))
    described = ParquetRecords.of([path, path])
    assert described.published == published
    assert described.n == 2 * expected.n == 400
    found = sum(
        (count(read_row_group(*group)) for group in described.groups), Counts.none(published)
    )
    for name, support in expected.support.items():
        np.testing.assert_array_equal(found.support[name], 2 * support)
    other = tmp_path / "other.parquet"
    other.write_bytes(site.get(f"{VERSION}/records?format=parquet&content=indicators").data)
    with pytest.raises(InvalidParameter, match="content records"):
        ParquetRecords.of([other])
    with pytest.raises(InvalidParameter, match="at least one"):
        ParquetRecords.of([])


@pytest.mark.sqlite
@pytest.mark.parametrize("form", ["sav", "dta"])
def test_files_of_spss_and_stata_have_every_record(site, records, tmp_path, form):
    answer = exported(site, format=form)
    assert answer.mimetype == exports.MEDIA_TYPES[form]
    assert f'filename="work-1.{form}"' in answer.headers["Content-Disposition"]
    path = tmp_path / f"work.{form}"
    path.write_bytes(answer.data)
    frame, about = getattr(pyreadstat, f"read_{form}")(str(path))
    assert len(frame) == 60
    assert sorted(about.variable_value_labels["note"].values()) == sorted(AWKWARD)
    for query, field in (({"language": "de"}, "language"), ({"raw": "true"}, "raw")):
        refused = site.get(PATH, query_string={"format": form, **query})
        assert site.problem(refused) == (422, "invalid-request", field)
