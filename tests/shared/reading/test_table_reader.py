"""Tables that people bring: what is read, and that everything else is refused by its row."""

from __future__ import annotations

import csv
import io

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.reading.table_reader import open_table
from hushpoll_shared.tables.result_table import Column, ResultTable
from hushpoll_shared.tables.table_files import csv_bytes


def read(content: bytes) -> tuple[tuple[str, ...], list[tuple[int, int | None, list[str]]]]:
    with open_table(content, field="data", name="people.csv") as table:
        return table.header, [tuple(row) for row in table.rows()]


def cells(content: bytes) -> list[list[str]]:
    return [row for _, _, row in read(content)[1]]


@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
@pytest.mark.parametrize("end", [b"\n", b"\r\n", b"\r"])
@pytest.mark.parametrize("last", [True, False])
def test_marks_and_line_ends_change_nothing(mark, end, last):
    content = mark + end.join([b"mode,x", b'"Walk, fast",1', b"Car,2"]) + (end if last else b"")
    assert read(content) == (("mode", "x"), [(1, 2, ["Walk, fast", "1"]), (2, 3, ["Car", "2"])])


@pytest.mark.parametrize("empty", [b"", b'""'])
def test_an_empty_line_of_one_column_is_an_empty_cell(empty):
    lines = [b"mode", b"Walk", empty, b"Car", empty, empty, b"Walk"]
    assert cells(b"\n".join(lines) + b"\n") == [["Walk"], [""], ["Car"], [""], [""], ["Walk"]]
    assert cells(b"\r\n".join(lines) + b"\r\n") == cells(b"\n".join(lines) + b"\n")


def test_an_empty_line_of_several_columns_is_no_row():
    assert read(b"a,b\n\n1,2\n\n,\n\n") == (("a", "b"), [(1, 3, ["1", "2"]), (2, 5, ["", ""])])


def test_a_row_of_several_lines_is_named_by_its_first():
    assert read(b'a,b\n"x\ny",1\n2,"3""4"\n')[1] == [(1, 2, ["x\ny", "1"]), (2, 4, ["2", '3"4'])]


def test_the_apostrophe_of_own_files_is_taken_back_and_another_stays():
    assert read(b"'-a,b\n'-1,'quoted\n''-1,it's\n'=1+1,'\n") == (
        ("-a", "b"),
        [(1, 2, ["-1", "'quoted"]), (2, 3, ["'-1", "it's"]), (3, 4, ["=1+1", "'"])],
    )


TEXTS = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=8)


@given(st.lists(st.tuples(TEXTS, TEXTS), min_size=1, max_size=5))
def test_what_is_written_is_read_back(rows):
    table = ResultTable("t", (Column("-a", "text"), Column("b", "text")), tuple(rows))
    assert cells(csv_bytes(table)) == [list(row) for row in rows]


@given(st.lists(TEXTS, min_size=1, max_size=6))
def test_one_column_of_another_writer_loses_no_row(texts):
    file = io.StringIO(newline="")
    csv.writer(file).writerows([["name"], *([text] for text in texts)])
    assert len(cells(file.getvalue().encode())) == len(texts)


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"weight\n1,9\n", r"row 1 \(line 2\) has 2 values, and the header names 1 column; "),
        (b"a,b\n1,2\n1\n", r"row 2 \(line 3\) has 1 value, and the header names 2 columns; "),
        (b"a,b\n1,2,\n", r"row 1 \(line 2\) has 3 values"),
        (b"a,b\n   \n", r"row 1 \(line 2\) has 1 value,"),
        (b"a;b\n1;2\n", "has semicolons between its cells, and a table has commas; save it as CSV"),
        (b"a;b;c\n1,5;2;3\n", "has semicolons between its cells"),
        (b"a\tb\n1\t2\n", "has tabs between its cells"),
        (b"a|b\n", "has vertical bars between its cells"),
        (b"sep=,\na,b\n", "begins with the line 'sep=,', which is no header; remove it"),
        (b"a,b,a\n", "has the column 'a' twice; remove one"),
        (b"'-1,-1\n", "has the column '-1' twice"),
        (b"a,,b\n", "has no name for its column 2; give each column a name"),
        (b",a\n", "has no name for its column 1"),
        (b"", "is empty; give a header"),
        (b"\xef\xbb\xbf", "is empty; give a header"),
        (b"\na,b\n", "begins with an empty line"),
        (b'a\n1\n"x\ny\n', "line 3 is no CSV: the quotes of the row that begins there are not clo"),
        (b'a\n"x"y\n', "line 2 is no CSV: .* write a quote inside it twice"),
        (b'a\nx"y\n', "line 2 is no CSV: .*middle of a cell"),
        (b'a,b\n1, "2"\n', "line 2 is no CSV: .*middle of a cell"),
        (b'a\n"' + b"x\n" * 100_000, "line 2 is no CSV: the quotes of the row"),
        (b"a\n" + b"x" * 200_000 + b"\n", "line 2 is no CSV: field larger"),
        (b"a\r\r\n1\r\r\n", "line 2 ends in another way than the lines before it"),
        (b"a\n1\r2\n", "line 2 ends in another way"),
        (b"a\n\xe4\n", "people.csv is no UTF-8 text .byte 2 is 0xe4.; save it as CSV in UTF-8"),
        (b"a\n" + b"b\n" * 20_000 + b"\xff\n", "byte 40002 is 0xff"),
        (b"a\n" + "\u20ac".encode() * 700_000 + b"\x80\n", "byte 2100002 is 0x80"),
        (b"a\n\0\n", "byte 2 is 0x00"),
        ("a\nb\n".encode("utf-16"), "is no UTF-8 text, but text in UTF-16"),
        ("a\nb\n".encode("utf-16-le"), "byte 1 is 0x00"),
        ("a\nb\n".encode("utf-32"), "but text in UTF-32"),
        (b"PK\x03\x04\x14\x00\xff", "but a workbook or another archive"),
    ],
)
def test_what_is_no_table_is_refused(content, words):
    with pytest.raises(InvalidParameter, match=words) as caught:
        read(content)
    assert str(caught.value).startswith("people.csv ")
    assert caught.value.field == "data"


def test_a_name_that_a_shell_would_run_stands_in_quotes(tmp_path):
    path = tmp_path / "$(touch gone)`x`.csv"
    path.write_bytes(b"a;b\n")
    with pytest.raises(InvalidParameter) as caught, open_table(path, field="data"):
        pass
    assert str(caught.value).startswith(f"'{path}' has semicolons")


@pytest.mark.parametrize(
    ("cell", "words"),
    [
        ("1_5", "'1_5' is no number; give a number such as 1.5"),
        ("0,8", "'0,8' has a comma; write the decimals after a point, such as 1.5"),
        ("1,000", "may have a separator of thousands, or a comma for a point"),
        ("1.000,5", "may have a separator of thousands"),
        ("1 000", "may have a separator of thousands"),
        ("1\u202f000.5", "may have a separator of thousands"),
        (" 1", "' 1' has blanks beside the number; remove them"),
        ("1\t", "has blanks beside the number"),
        ("\u0661", "is no number"),
        ("\uff11", "is no number"),
        ("nan", "is no number"),
        ("inf", "is no number"),
        ("1e999", "is no number"),
        ("0x10", "is no number"),
        ("", "there is no number; give a number"),
        ("1/2", "is no number"),
        ("50%", "is no number"),
    ],
)
def test_a_number_has_one_spelling(cell, words):
    content = f'id,weight\na,1\nb,"{cell}"\n'.encode()
    with open_table(content, field="weights", name="w.csv") as table:
        rows = list(table.rows())
        assert table.number(rows[0], 1) == 1
        with pytest.raises(InvalidParameter, match=words) as caught:
            table.number(rows[1], 1)
    assert str(caught.value).startswith("w.csv row 2 (line 3), column weight: ")


@pytest.mark.parametrize(
    ("cell", "number"),
    [("1.5", 1.5), (".5", 0.5), ("5.", 5), ("+2", 2), ("'-1", -1), ("1e-3", 0.001), ("1.000", 1)],
)
def test_each_spelling_of_the_rule_is_read(cell, number):
    with open_table(f"w\n{cell}\n".encode(), field="weights") as table:
        assert table.number(next(table.rows()), 0) == number


def test_results_have_numbers_beyond_all(tmp_path):
    with open_table(b"w\ninf\nnan\nInfinity\n", field="results") as table:
        rows = list(table.rows())
        assert table.number(rows[0], 0, beyond=True) == float("inf")
        assert table.number(rows[1], 0, beyond=True) != table.number(rows[1], 0, beyond=True)
        with pytest.raises(InvalidParameter, match="'Infinity' is no number"):
            table.number(rows[2], 0, beyond=True)
