"""Every query about a domain: the same over HTTP, on a file and of the records chosen by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest

from asked_queries import ASKED, SECOND
from hushpoll_analysis import Records
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.counts import count_pairs
from hushpoll_analysis.records.records import RecordStream
from hushpoll_analysis.records.source import OfCounts, OfRecords
from hushpoll_client.cli.commandline import main
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.querying.query import NAMING
from hushpoll_shared.querying.registry import all_queries
from hushpoll_shared.wire.records_file import pack_records_header

pytestmark = pytest.mark.sqlite
QUERIES = {name: query for name, query in all_queries().items() if name in ASKED}
WHERE = "education=low,middle"
# Parameters that are words, and name no attribute of the version that is asked about.
OTHER_WORDS = {"reference", "since_survey", "since_attribute"}


@pytest.fixture
def answering(site):
    """A site with two versions, of which half of the reports are in the domain."""
    for version in (1, 2):
        published = site.publish(version=version)
        site.fill(published, 12, gender="Female", income="poor", country="2", education="low")
        site.fill(published, 12, education="middle")
        site.fill(published, 20)
        site.seal()
    return site


@pytest.fixture
def files(answering, tmp_path):
    """The records of both versions, as files that export would save."""
    paths = {}
    for version in (1, 2):
        row = answering.services.surveys.version("work", version)
        published = answering.services.surveys.published(row)
        rows = np.concatenate(list(answering.services.segments.blocks(row.id, row.record_size)))
        paths[version] = tmp_path / f"{version}.records"
        paths[version].write_bytes(pack_records_header(published, len(rows)) + rows.tobytes())
    return paths


def said(capsys, *words):
    with pytest.raises(SystemExit) as ended:
        main([str(word) for word in words])
    captured = capsys.readouterr()
    assert not ended.value.code, captured.err
    return captured.out


def numbers(document):
    about = ("survey", "version", "digest", "pending", "release", "released_at", "next_release")
    return {name: one for name, one in document.items() if name not in (*about, "inputs")}


def in_clear(records, *categories):
    attribute = records.published.attribute("education")
    codes = [attribute.domain.index(one) for one in categories]
    return records.take(np.isin(records.codes("education"), codes))


def test_every_parameter_that_names_an_attribute_is_known():
    for query in all_queries().values():
        for one in query.parameters():
            if one.kind is str and not one.choices and one.spelling is None:
                assert one.name in {*NAMING, *OTHER_WORDS}, (query.name, one.name)


@pytest.mark.parametrize("name", QUERIES)
def test_domain_gives_what_its_records_alone_give(answering, files, name):
    kind = QUERIES[name]
    asked = kind.read(ASKED[name] | {"where": WHERE})
    chosen = [in_clear(Records.read(files[version]), "low", "middle") for version in (2, 1)]
    sides = [OfRecords(one) for one in chosen[: 1 + kind.compares]]
    found = answering.get(f"{SECOND}/{name}", query_string=ASKED[name] | {"where": WHERE})
    assert found.status_code == 200, found.json
    assert found.json["where"] == {"education": ["low", "middle"]}
    if name != "dependencies":  # it leaves out pairs with the attribute of the domain
        alone = result_of(kind.read(ASKED[name]), *sides).to_dict()
        expected = json.loads(json.dumps(alone)) | {"where": found.json["where"]}
        assert numbers(found.json) == expected
    whole = [OfRecords(Records.read(files[version])) for version in (2, 1)]
    by_function = result_of(asked, *whole[: 1 + kind.compares])
    assert numbers(found.json) == numbers(json.loads(json.dumps(by_function.to_dict())))
    assert kind.result_of(found.json).to_dict() == found.json
    table = answering.get(
        f"{SECOND}/{name}", query_string=ASKED[name] | {"where": WHERE, "format": "csv"}
    )
    lines = table.data.decode().splitlines()
    assert lines[0].startswith('"verdict","reports where",')
    assert all(',"education is low or middle",' in line for line in lines[1:])


def test_dependencies_test_no_pair_with_the_attribute_of_the_domain(answering):
    body = answering.get(f"{SECOND}/dependencies", query_string={"where": WHERE}).json
    assert body["n"] == 24
    named = {one for pair in body["pairs"] for one in (pair["a"], pair["b"])}
    assert named == {"gender", "age", "country", "income"}


def test_several_conditions_are_read_from_the_records(site):
    attributes = [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "education", "role": "plain", "categories": ["low", "middle", "high"]},
        {"name": "income", "role": "plain", "categories": ["poor", "rich"]},
    ]
    published = site.publish(attributes=attributes)
    for education, income, people in (("low", "poor", 4), ("low", "rich", 5), ("high", "rich", 6)):
        site.fill(published, people, education=education, income=income)
    site.seal()
    path = "/api/v1/surveys/work/versions/1"

    def asked(where, query="estimates", **more):
        return site.get(f"{path}/{query}", query_string={"where": where, **more})

    assert asked("education=low;income=rich").json["n"] == 5
    assert asked("education=low,high;income=rich").json["n"] == 11
    body = asked("education=low", "cross-tables", a="gender", b="income").json
    assert body["n"] == 9
    empty = asked("education=high;income=poor")
    assert site.problem(empty) == (422, "invalid-request", "where")
    assert "no report where education is high and income is poor" in empty.json["detail"]
    assert site.problem(asked("education=middle")) == (422, "invalid-request", "where")
    likely = asked("education=low;income=rich", estimator="likelihood").json
    assert (likely["n"], likely["estimator"]) == (5, "likelihood")
    looks = [one for one in site.services.actions.newest(20) if one.act == "looked-at-estimates"]
    assert "education is low and income is rich" in {one.subject for one in looks}


@pytest.mark.parametrize(
    ("name", "where", "words"),
    [
        ("estimates", "town=Rome", "town"),
        ("estimates", "education=none", "no category of education"),
        ("estimates", "education", "ATTRIBUTE=CATEGORY"),
        ("estimates", "education=low;education=high", "two conditions on 'education'"),
        ("cross-tables", "age=30s", "age, which is perturbed"),
        ("cross-tables", "gender=Male", "gender, which a asks for"),
        ("conditional-shares", "gender=Male", "gender, which given asks for"),
        ("simultaneous-means", "country=1", "country, which attributes asks for"),
        ("changes", "age=30s", "age, which attribute asks for"),
    ],
)
def test_other_conditions_are_refused_by_name(answering, name, where, words):
    answer = answering.get(f"{SECOND}/{name}", query_string=ASKED[name] | {"where": where})
    assert answering.problem(answer) == (422, "invalid-request", "where")
    assert words in answer.json["detail"]


def test_commands_of_a_file_take_conditions(files, capsys, tmp_path):
    file, out = files[2], tmp_path / "out.xlsx"
    words = ("records", "estimate", file, "--where", "education=low,middle")
    assert "Only of reports where education is low or middle." in said(capsys, *words)
    body = json.loads(said(capsys, *words, "--attribute", "gender", "--json"))
    assert (body["n"], body["where"]) == (24, {"education": ["low", "middle"]})
    text = said(capsys, "records", "shares", file, "--of", "age", "--given", "gender",
                "--where", "education=high", "--out", out)  # fmt: skip
    assert "Only of reports where education is high." in text
    assert "24 reports" not in text


def test_counts_alone_answer_where_they_suffice_and_refuse_otherwise(files):
    records = Records.read(files[2])
    source = OfCounts(records.published, count_pairs(records))
    where = {"education": ("low",)}
    of_counts = result_of(Estimates(where=where), source)
    assert of_counts == result_of(Estimates(where=where), OfRecords(records))
    assert of_counts.n == 12
    with pytest.raises(InvalidParameter, match="compute them from the records"):
        result_of(CrossTable(a="gender", b="age", where=where), source)
    with pytest.raises(InvalidParameter, match="no report where education is low"):
        result_of(Estimates(where=where), OfRecords(in_clear(records, "high")))
    stream = RecordStream(records.published, (in_clear(records, "high"),))
    with pytest.raises(InvalidParameter, match="no report where education is low"):
        result_of(Estimates(where=where), OfRecords(stream))


def test_means_take_a_condition_on_a_perturbed_question_as_one_group(answering):
    def asked(**more):
        query = {"attribute": "country"} | more
        answer = answering.get(f"{SECOND}/ordered-answers", query_string=query)
        assert answer.status_code == 200
        return answer.json

    inside, groups = asked(where="gender=Female"), asked(given="gender")["groups"]
    (female,) = (one for one in groups if one["group"] == "Female")
    assert inside["groups"] == [female | {"group": None}]
    assert inside["where"] == {"gender": ["Female"]}
