"""What holds for every query: over HTTP, on a file and in Python it has one result and one table.

A query that is added is taken from the registry; it needs a row of `ASKED` in `asked_queries`.
"""

from __future__ import annotations

import csv
import io
import json
import math
import re
import zipfile
from xml.etree import ElementTree

import numpy as np
import pytest

from asked_queries import ASKED, SECOND
from hushpoll_analysis import Records
from hushpoll_analysis.query_results import RESULTS, result_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_client.cli.commandline import main
from hushpoll_protocols.errors import TransportError
from hushpoll_server.survey_reports.markup.shown import html_of_result
from hushpoll_shared.cli.result_text import text_of_query
from hushpoll_shared.cli.terminal import check_answer
from hushpoll_shared.qualifying.possible import CUT
from hushpoll_shared.querying.registry import all_queries
from hushpoll_shared.querying.result import Line
from hushpoll_shared.querying.shown import cut_notes, shown_sections
from hushpoll_shared.querying.table import table_of_result
from hushpoll_shared.spelling.text import printable
from hushpoll_shared.wire.records_file import pack_records_header

pytestmark = pytest.mark.sqlite

QUERIES = {name: query for name, query in all_queries().items() if name in ASKED}
BAD = {float: ("x", "nan", "1e999"), int: ("x", "0", "1.5"), bool: ("perhaps",)}
CSI = "\x9b31m\u202e\n"


def test_every_query_is_answered_and_asked_here():
    assert set(RESULTS) == set(all_queries().values())
    assert set(QUERIES) == set(all_queries())


@pytest.fixture
def answering(site):
    """A site with two versions whose reports are sealed; the first answers differ."""
    for version in (1, 2):
        published = site.publish(version=version)
        site.fill(published, 20, gender="Female", income="poor", country="2")
        site.fill(published, 30)
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


def query_of(name):
    return QUERIES[name].read(ASKED[name])


def on_file(query, files, *options):
    """The command of a query on a file: its words."""
    words = ["records", query.command.rpartition(" ")[2], str(files[2])]
    asked = ASKED[query.name]
    for one in query.parameters():
        if one.name not in asked or one.elsewhere:
            continue
        value = str(asked[one.name])
        words += [value] if one.positional else [f"--{one.flag}", value]
    if query.compares:
        words += ["--since", str(files[1])]
    return [*words, *options]


def said(capsys, words):
    with pytest.raises(SystemExit) as ended:
        main(words)
    captured = capsys.readouterr()
    assert not ended.value.code, captured.err
    return captured.out


def numbers(document):
    about = ("survey", "version", "digest", "pending", "release", "released_at", "next_release")
    return {name: one for name, one in document.items() if name not in (*about, "inputs")}


@pytest.mark.parametrize("name", QUERIES)
def test_server_file_and_function_give_one_result(answering, files, name, capsys):
    kind, query = QUERIES[name], query_of(name)
    sources = [OfRecords(Records.read(files[version])) for version in (2, 1)]
    expected = result_of(query, *sources[: 1 + kind.compares])
    over_http = answering.get(f"{SECOND}/{name}", query_string=ASKED[name])
    assert over_http.status_code == 200, over_http.json
    assert numbers(over_http.json) == numbers(json.loads(json.dumps(expected.to_dict())))
    document = json.loads(said(capsys, on_file(kind, files, "--json")))
    assert numbers(document) == numbers(over_http.json)
    assert kind.result_of(document).to_dict() == document
    assert kind.result_of(over_http.json).to_dict() == over_http.json


def sheet(data):
    """The cells of a workbook's first sheet, texts and numbers."""
    space = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        strings = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        texts = ["".join(one.itertext()) for one in strings]
        root = ElementTree.fromstring(book.read("xl/worksheets/sheet1.xml"))
    rows = []
    for row in root.iter(f"{space}row"):
        cells = {}
        for cell in row:
            value = cell.findtext(f"{space}v")
            column = cell.get("r").rstrip("0123456789")
            cells[column] = texts[int(value)] if cell.get("t") == "s" else float(value)
        rows.append(cells)
    return [[row.get(column) for column in rows[0]] for row in rows]


@pytest.mark.parametrize("name", QUERIES)
def test_json_csv_and_xlsx_have_one_table(answering, name):
    kind, asked = QUERIES[name], ASKED[name]
    path = f"{SECOND}/{name}"
    table = table_of_result(kind.result_of(answering.get(path, query_string=asked).json))
    assert table.rows
    wide = [[column.name for column in table.columns], *map(list, table.rows)]
    as_csv = answering.get(path, query_string=asked | {"format": "csv"})
    assert as_csv.mimetype == "text/csv"
    assert as_csv.headers["Content-Disposition"].endswith(f'work-2-{kind.file_name}.csv"')
    read = list(csv.reader(io.StringIO(as_csv.data.decode(), newline="")))
    assert read == [
        ["" if cell is None else cell if isinstance(cell, str) else repr(cell) for cell in row]
        for row in wide
    ]
    as_xlsx = answering.get(path, query_string=asked | {"format": "xlsx"})
    assert as_xlsx.headers["Cache-Control"] == as_csv.headers["Cache-Control"] == "no-store"
    for found, row in zip(sheet(as_xlsx.data), wide, strict=True):
        # the library writes numbers with sixteen digits
        assert found == [pytest.approx(one) if isinstance(one, float) else one for one in row]


@pytest.mark.parametrize("name", QUERIES)
def test_bad_parameter_is_refused_by_its_name(answering, name):
    path = f"{SECOND}/{name}"
    for one in QUERIES[name].parameters():
        values = ("no such choice",) if one.choices else BAD.get(one.kind, ())
        if one.least is not None:
            values = (*values, str(one.least - 1), str(one.most + 1))
        for value in values:
            answer = answering.get(path, query_string=ASKED[name] | {one.name: value})
            found = answering.problem(answer)
            assert found == (422, "invalid-request", one.name), (value, answer.json)
        if one.spelling is not None:
            for text in ("?", "1" * (one.spelling.longest + 1)):
                answer = answering.get(path, query_string=ASKED[name] | {one.name: text})
                assert answering.problem(answer) == (422, "invalid-request", one.name)
        if one.elsewhere:
            other = {int: "999", str: "nobody"}[one.kind]
            answer = answering.get(path, query_string=ASKED[name] | {one.name: other})
            assert answering.problem(answer) == (404, "unknown-survey", one.name)
        if one.required:
            asked = {key: value for key, value in ASKED[name].items() if key != one.name}
            answer = answering.get(path, query_string=asked)
            assert answering.problem(answer) == (422, "invalid-request", one.name)
    answer = answering.get(path, query_string=ASKED[name] | {"unknown": "1"})
    assert answering.problem(answer) == (422, "invalid-request", "unknown")


def interval_of(section, line):
    """What can be of a row of a section, and the row's estimate that has the shown interval."""
    row, possible = line, section.possible
    if isinstance(line, Line):
        row, possible = line.row, line.possible or possible
    return possible, getattr(row, section.interval_of) if section.interval_of else row


def ends_in(texts):
    """The ends of the intervals that texts show."""
    found = (re.fullmatch(r"(\S+) to (\S+?)(?:, cannot conclude)?", text) for text in texts)
    return [(float(one[1]), float(one[2])) for one in found if one]


@pytest.mark.parametrize("name", QUERIES)
def test_shown_interval_stays_within_what_is_possible(answering, name):
    kind = QUERIES[name]
    document = answering.get(f"{SECOND}/{name}", query_string=ASKED[name]).json
    result = kind.result_of(document)
    beyond = False
    for section, shown in zip(result.sections(), shown_sections(result), strict=True):
        told, folded = [], []
        for line in section.rows:
            row = line.row if isinstance(line, Line) else line
            possible, estimate = interval_of(section, line)
            if not hasattr(estimate, "lower"):
                continue
            assert possible is not None, f"{name} does not say what {estimate} can be"
            outside = False
            if None not in (estimate.lower, estimate.upper):
                outside = estimate.lower > possible[1] or estimate.upper < possible[0]
                within = possible[0] <= estimate.lower and estimate.upper <= possible[1]
                beyond |= not (outside or within)
            # An interval that is outside as a whole, which chance gives now and then, is not cut.
            shown_as = (-math.inf, math.inf) if outside else possible
            (folded if result.too_noisy(section.part_of(row)) else told).append(shown_as)
        for allowed, lines in ((told, shown.lines), (folded, shown.folded)):
            texts = [pair for line in lines for pair in ends_in(line)]
            for possible, (lower, upper) in zip(allowed, texts, strict=False):
                assert possible[0] <= lower <= upper <= possible[1], (name, lower, upper)
    assert bool(cut_notes(shown_sections(result), folded=True)) == beyond
    assert result.to_dict() == document  # which has the exact ends


CUT_QUERIES = ("changes", "conditional-shares", "cross-tables", "ordered-answers")


@pytest.mark.parametrize("name", CUT_QUERIES)
def test_cut_interval_is_said_once_where_it_is_shown(answering, name):
    document = answering.get(f"{SECOND}/{name}", query_string=ASKED[name]).json
    # whatever the records were, each interval reaches beyond what is possible
    document = widened(document) | {"verdict": None}
    text = text_of_query(QUERIES[name])(document)
    assert " ".join(text.split()).count(CUT) == 1
    page = html_of_result(QUERIES[name].result_of(document), level=2, key="x")
    assert page.count(CUT) == 1


def widened(document):
    """The document with intervals whose upper ends are far up."""
    if isinstance(document, dict):
        found = {name: widened(value) for name, value in document.items()}
        if isinstance(found.get("upper"), float) and isinstance(found.get("lower"), float):
            found["upper"] += 1000.0
        return found
    return [widened(one) for one in document] if isinstance(document, list) else document


def changed(document):
    """The document with each of its members, at any depth, gone or of another kind."""
    if isinstance(document, dict):
        for name, value in document.items():
            yield {key: one for key, one in document.items() if key != name}
            for wrong in (None, 3, "x", [1], {"a": 1}, float("nan"), float("inf"), True):
                yield document | {name: wrong}
            yield from (document | {name: one} for one in changed(value))
    elif isinstance(document, list) and document:
        yield from ([one, *document[1:]] for one in changed(document[0]))


def short(document):
    """The document with one item of each list."""
    if isinstance(document, dict):
        return {name: short(one) for name, one in document.items()}
    return [short(one) for one in document[:1]] if isinstance(document, list) else document


def is_refused(body, text):
    """Whether a body is refused, in the one way that there is, and not shown."""
    try:
        check_answer(body, text)
    except TransportError:
        return True
    return False


def hostile(document):
    if isinstance(document, dict):
        return {name: hostile(one) for name, one in document.items()}
    if isinstance(document, list):
        return [hostile(one) for one in document]
    fixed = ("bounded", "no bound", "dependent", "no dependence found")
    fixed += ("informative", "too noisy to tell")
    return document + CSI if isinstance(document, str) and document not in fixed else document


@pytest.mark.parametrize("name", QUERIES)
def test_any_other_body_is_shown_or_refused_in_one_way(answering, name):
    text = text_of_query(QUERIES[name])
    document = answering.get(f"{SECOND}/{name}", query_string=ASKED[name]).json
    assert check_answer(document, text)
    bodies = list(changed(short(document)))
    refused = [body for body in bodies if is_refused(body, text)]
    assert len(document) < len(refused) < len(bodies)
    try:
        shown = check_answer(hostile(document), text)
    except TransportError:
        return  # a choice, such as a role, that is none of those that there are
    assert all(printable(line) == line for line in shown.split("\n"))
