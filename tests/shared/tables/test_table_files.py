"""Files of tables: no text is a formula or a link, numbers are numbers, an absent one is empty."""

from __future__ import annotations

import csv
import io
import sys
import zipfile
from pathlib import Path
from xml.etree import ElementTree

import pytest

from hushpoll_protocols.errors import InvalidParameter, MissingExtra
from hushpoll_shared.spelling.csv_cells import unescaped
from hushpoll_shared.statistic_tables import TABLES, table_of
from hushpoll_shared.tables.result_table import Column, ResultTable, columns
from hushpoll_shared.tables.table_files import csv_bytes, format_of, xlsx_bytes

HOSTILE = (
    '=HYPERLINK("http://192.0.2.1/","x")',
    "+1+1",
    "-2",
    "@SUM(A1)",
    "\tx",
    "'=1",
    "http://192.0.2.1/",
    "\u202eright to left",
    "שלום, עולם",
    "\x1b[31mred",
    'with "quotes", a comma\r\nand a line',
    "007",
    "",
)
MAIN = "{http://schemas.openxmlformats.org/spreadsheetml/2006/main}"


def table(texts=HOSTILE) -> ResultTable:
    shape = columns(category="text", frequency="number", n="whole")
    rows = [{"category": text, "frequency": place - 0.5, "n": place}
            for place, text in enumerate(texts)]  # fmt: skip
    rows[0]["frequency"] = None
    return ResultTable.of("test", shape, rows, {"survey": "=cmd", "n": 3, "gone": None})


def sheet(data: bytes, number: int) -> list[list[object]]:
    """The cells of a sheet: texts, numbers, None where there is no cell."""
    with zipfile.ZipFile(io.BytesIO(data)) as book:
        names = book.namelist()
        assert not any("externalLink" in name or "rels/sheet" in name for name in names), names
        shared = ElementTree.fromstring(book.read("xl/sharedStrings.xml"))
        texts = ["".join(part.itertext()) for part in shared]
        read = ElementTree.fromstring(book.read(f"xl/worksheets/sheet{number}.xml"))
    assert not list(read.iter(f"{MAIN}f")), "a formula"
    assert not list(read.iter(f"{MAIN}hyperlink"))
    rows = []
    for row in read.iter(f"{MAIN}row"):
        cells: dict[str, object] = {}
        for cell in row:
            value = cell.find(f"{MAIN}v").text
            place = cell.get("r").rstrip("0123456789")
            cells[place] = texts[int(value)] if cell.get("t") == "s" else float(value)
        rows.append([cells.get(place) for place in "ABC"])
    return rows


def test_csv_has_no_formula_and_can_be_read_back():
    data = csv_bytes(table())
    assert data.endswith(b"\r\n")
    header, *rows = csv.reader(io.StringIO(data.decode(), newline=""))
    assert header == ["category", "frequency", "n"]
    assert not [row for row in rows if row[0].startswith(("=", "+", "-", "@", "\t", "\r"))]
    assert [unescaped(row[0]) for row in rows] == list(HOSTILE)
    assert [row[1:] for row in rows[:2]] == [["", "0"], ["0.5", "1"]]
    assert data.splitlines()[1].endswith(b",,0")  # a number that there is not: an empty cell
    assert b'"007"' in data


def test_xlsx_has_texts_and_numbers_alone():
    data = xlsx_bytes(table())
    header, *rows = sheet(data, 1)
    assert header == ["category", "frequency", "n"]
    # as the format spells characters that XML cannot hold
    expected = [text.replace("\x1b", "_x001B_").replace("\r", "_x000D_") for text in HOSTILE]
    assert [row[0] for row in rows] == expected
    assert [row[1:] for row in rows[:3]] == [[None, 0.0], [0.5, 1.0], [1.5, 2.0]]
    methods = dict(row[:2] for row in sheet(data, 2))
    assert methods == {"about": "value", "statistic": "test", "survey": "=cmd", "n": 3.0}


def test_table_of_five_hundred_categories():
    texts = [f"category {number}" for number in range(500)]
    assert len(sheet(xlsx_bytes(table(texts)), 1)) == 501
    assert csv_bytes(table(texts)).count(b"\r\n") == 501


def test_sheet_refuses_what_it_cannot_hold(monkeypatch):
    with pytest.raises(InvalidParameter, match="a text has 40000 characters") as caught:
        xlsx_bytes(table(["x" * 40_000]))
    assert caught.value.field == "format"
    assert len(csv_bytes(table(["x" * 40_000]))) > 40_000
    monkeypatch.setattr("hushpoll_shared.tables.table_files.MOST_ROWS", 2)
    with pytest.raises(InvalidParameter, match="has 3 rows, and a sheet holds at most 2"):
        xlsx_bytes(table("abc"))


def test_without_the_library_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "xlsxwriter", None)
    with pytest.raises(MissingExtra, match=r"'\.\[cli\]'"):
        xlsx_bytes(table())


def test_endings_name_formats():
    assert format_of(Path("a.b/shares.XLSX")).name == "xlsx"
    for path in ("shares", "shares.txt", "csv", "shares.csv.gz"):
        with pytest.raises(InvalidParameter, match=r"ends in \.csv or \.xlsx") as caught:
            format_of(Path(path))
        assert caught.value.field == "out"


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("text", 1), ("text", b"x"), ("text", ["x"]), ("number", "1"), ("number", True),
        ("number", float("nan")), ("number", float("inf")), ("whole number", 1.5),
    ],
)  # fmt: skip
def test_cells_of_another_kind_are_refused(kind, value):
    with pytest.raises((TypeError, ValueError)):
        Column("x", kind).cell(value)
    assert Column("x", kind).cell(None) is None


def test_answers_of_another_form_are_refused():
    for statistic in TABLES:
        for answer in ({}, {"attributes": [1]}, {"shares": None}, {"cells": [{"a": {}}]}):
            with pytest.raises((KeyError, TypeError, ValueError, AttributeError)):
                table_of(statistic, answer)


def test_columns_of_a_cross_table_have_the_names_of_its_questions():
    numbers = {"frequency": 0.5, "standard_error": 0.1, "lower": 0.3, "upper": 0.7}
    cell = {"a": "yes", "b": "x", **numbers}
    fakes = dict.fromkeys(
        ("one_fake_adds", "one_fake_removes", "fake_share", "raised_by", "lowered_by"), 0.0
    )
    about = {"n": 9, "confidence": 0.95, "intervals": "", "poisoning": fakes}
    table = table_of("cross-table", {"a": "smoker", "b": "b", "cells": [cell], **about})
    assert csv_bytes(table).splitlines()[0].startswith(b'"smoker","b","frequency"')
    assert table.rows[0][:3] == ("yes", "x", 0.5)
    # A question may be called as another column is.
    table = table_of("cross-table", {"a": "b", "b": "lower", "cells": [cell], **about})
    assert [column.name for column in table.columns][:3] == ["b", "b: lower", "frequency"]
    assert table.rows[0] == ("yes", "x", 0.5, 0.1, 0.3, 0.7)
    answer = {
        "attributes": ["c", "a", "likelihood"],
        "likelihood": {"interval": "none"},
        "cells": [{"categories": ["p", "q", "r"], **numbers, "likelihood": 0.4}],
    }
    table = table_of("joint-table", answer)
    names = [column.name for column in table.columns]
    assert names == ["c", "a", "c: likelihood", *numbers, "likelihood"]
    assert table.rows[0] == ("p", "q", "r", *numbers.values(), 0.4)


@pytest.mark.parametrize("encode", [csv_bytes, xlsx_bytes])
def test_a_text_that_is_no_unicode_is_refused_before_a_file_is_begun(encode):
    with pytest.raises(ValueError, match="surrogates"):
        encode(ResultTable("a", columns(b="text"), (("\ud800",),)))
