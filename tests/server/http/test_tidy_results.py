"""Results of all queries as one table: over HTTP, on a file, by commands and on the dashboard."""

from __future__ import annotations

import csv
import io
import json

import numpy as np
import pytest

from asked_queries import ASKED, SECOND
from hushpoll_client.cli.commandline import main
from hushpoll_shared.querying.registry import all_queries
from hushpoll_shared.tidying import TIDY, tidy_rows, tidy_table
from hushpoll_shared.wire.records_file import pack_records_header

pytestmark = pytest.mark.sqlite
QUERIES = {name: query for name, query in all_queries().items() if name in ASKED}
PATH = f"{SECOND}/tidy-results"
NAMES = [column.name for column in TIDY]


@pytest.fixture
def answering(site):
    """A site with two versions whose reports are sealed."""
    for version in (1, 2):
        published = site.publish(version=version)
        site.fill(published, 20, gender="Female", income="poor", country="2")
        site.fill(published, 30)
        site.seal()
    return site


@pytest.fixture
def files(answering, tmp_path):
    paths = {}
    for version in (1, 2):
        row = answering.services.surveys.version("work", version)
        published = answering.services.surveys.published(row)
        rows = np.concatenate(list(answering.services.segments.blocks(row.id, row.record_size)))
        paths[version] = tmp_path / f"{version}.records"
        paths[version].write_bytes(pack_records_header(published, len(rows)) + rows.tobytes())
    return paths


def query_of(name):
    return QUERIES[name].read(ASKED[name])


def said(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    return ended.value.code or 0, captured.out, captured.err


def estimates_in(value):
    """Every number of a result that is beside an interval, wherever it stands."""
    if isinstance(value, dict):
        if "lower" in value:
            yield value.get("frequency", value.get("value")), value["lower"], value["upper"]
        for one in value.values():
            yield from estimates_in(one)
    elif isinstance(value, list):
        for one in value:
            yield from estimates_in(one)


@pytest.mark.parametrize("name", QUERIES)
def test_every_estimate_of_every_query_is_one_row(answering, name):
    query = query_of(name)
    found = answering.get(f"{SECOND}/{name}", query_string=ASKED[name])
    result = QUERIES[name].result_of(found.json)
    rows = list(tidy_rows(result))
    assert rows
    assert all(set(row) == set(NAMES) for row in rows)
    names = {one.name for one in answering.services.surveys.published(
        answering.services.surveys.version("work", 2)).attributes}  # fmt: skip
    for row in rows:
        assert row["statistic"]
        assert set(row["question"].split(" & ")) <= names, row
        assert row["verdict"] in ("informative", "too noisy to tell")
        assert row["estimate"] is None or isinstance(row["estimate"], float | int)
    there = sorted(str(one) for one in estimates_in(found.json))
    told = [(row["estimate"], row["lower"], row["upper"]) for row in rows]
    if there:
        assert sorted(map(str, told)) == there
    else:  # a test has no interval
        assert {row["statistic"] for row in rows} >= {"chi-square", "p-value"}
    # rows are told apart
    keys = [
        tuple(row[one] for one in ("statistic", "question", "category", "group")) for row in rows
    ]
    assert len(keys) == len(set(keys))
    over_http = answering.get(PATH, query_string={"queries": query.address()})
    assert over_http.status_code == 200, over_http.json
    assert over_http.json["rows"] == json.loads(json.dumps(rows))
    assert over_http.json["left_out"] == {}


def test_group_names_its_question_and_what_is_subtracted(answering):
    asked = "conditional-shares?of=income&given=gender&reference=Male"
    rows = answering.get(PATH, query_string={"queries": asked}).json["rows"]
    assert {row["group"] for row in rows} == {
        "gender=Female", "gender=Male", "gender=Female minus Male",
    }  # fmt: skip
    assert {row["statistic"] for row in rows} == {"share within a group", "difference of shares"}
    asked = "ordered-answers?attribute=country&where=region=x"
    assert answering.problem(answering.get(PATH, query_string={"queries": asked}))[0] == 422


def test_whole_survey_is_one_table_and_names_what_it_leaves_out(answering):
    found = answering.get(PATH).json
    statistics = {row["statistic"] for row in found["rows"]}
    assert {"share", "share, intervals together", "mean", "median", "p-value"} <= statistics
    (left,) = [one for one in found["left_out"] if one.startswith("ordered-answers")]
    assert "gender" in left
    table = tidy_table(found)
    as_csv = answering.get(PATH, query_string={"format": "csv"})
    read = list(csv.reader(io.StringIO(as_csv.data.decode(), newline="")))
    assert read[0] == NAMES
    assert len(read) == 1 + len(table.rows) == 1 + len(found["rows"])
    as_xlsx = answering.get(PATH, query_string={"format": "xlsx"})
    assert as_xlsx.headers["Content-Disposition"].endswith('work-2-results.xlsx"')
    assert as_xlsx.data.startswith(b"PK")
    methods = dict(table.methods)
    assert methods["survey"] == "work"
    assert any(name.startswith("left out: ") for name in methods)
    assert "estimates: how to read it" in methods


def test_a_server_a_file_and_a_command_give_the_same_rows(answering, files, tmp_path, capsys):
    over_http = answering.get(PATH).json
    code, out, err = said(capsys, "records", "results", files[2], "--json")
    assert code == 0, err
    assert json.loads(out)["rows"] == over_http["rows"]
    assert json.loads(out)["left_out"] == over_http["left_out"]
    saved = tmp_path / "results.csv"
    code, out, err = said(capsys, "records", "results", files[2], "--out", saved)
    assert code == 0, err
    assert "share, intervals" in out
    as_csv = answering.get(PATH, query_string={"format": "csv"})
    assert saved.read_bytes() == as_csv.data
    changed = "changes?attribute=age&since_version=1"
    code, out, err = said(capsys, "records", "results", files[2], "--query", changed)
    assert code == 1
    assert "give --since" in err
    since = ("--since", files[1], "--json")
    code, out, err = said(capsys, "records", "results", files[2], "--query", changed, *since)
    asked = {"queries": changed}
    assert json.loads(out)["rows"] == answering.get(PATH, query_string=asked).json["rows"]


def test_a_query_that_is_named_and_cannot_be_answered_is_refused(answering):
    for asked in ("no-such", "cross-tables?a=gender", "cross-tables?a=gender&b=nothing",
                  "ordered-answers?attribute=gender"):  # fmt: skip
        answer = answering.get(PATH, query_string={"queries": asked})
        assert answering.problem(answer)[:2] == (422, "invalid-request"), asked
    many = " ".join(f"estimates?confidence=0.{n}" for n in range(100, 301))
    assert answering.problem(answering.get(PATH, query_string={"queries": many}))[0] == 422


def test_nothing_is_told_before_a_release(site):
    site.publish(minimum_batch=10)
    answer = site.get("/api/v1/surveys/work/versions/1/tidy-results")
    assert site.problem(answer)[:2] == (409, "not-enough-reports")
