"""Clear rows in the manifest's terms: exactly those, or an error that says where and what."""

import numpy as np
import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.data.rows import read_rows

HEADER = "gender,age,job,income\n"
GOOD = 'Female,1,"a, b",low\n'


@pytest.fixture
def file(tmp_path):
    def write(text, encoding="utf-8"):
        path = tmp_path / "rows.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode(encoding))
        return path

    return write


def test_what_is_written_is_read(survey, people, write_rows, tmp_path):
    published, codes = survey(), people(500)
    found = read_rows(write_rows(tmp_path / "a.csv", published, codes), published)
    assert list(found) == ["gender", "age", "job", "income"]
    for name, values in codes.items():
        assert found[name].dtype == np.int64
        assert found[name].tolist() == values.tolist()


def test_categories_that_look_like_formulas_are_read_with_and_without_an_apostrophe(survey, file):
    notes = ["=1+1", "-2", "@a"]
    attributes = [
        {"name": "gender", "role": "sensitive", "categories": ["Female", "Male"]},
        {"name": "note", "role": "plain", "categories": notes},
    ]
    published = survey(attributes=attributes)
    for cells in (notes, ["'" + note for note in notes]):
        text = "gender,note\n" + "".join(f"Male,{cell}\n" for cell in cells)
        assert read_rows(file(text), published)["note"].tolist() == [0, 1, 2]


def test_the_order_of_columns_blank_lines_and_a_byte_order_mark_do_not_matter(survey, file):
    path = file('job,income,gender,age\n\n{c},high,Male,6\n"a: b",low,,2\n', "utf-8-sig")
    found = read_rows(path, survey())
    assert {name: values.tolist() for name, values in found.items()} == {
        "gender": [1, 2],
        "age": [5, 1],
        "job": [2, 1],
        "income": [1, 0],
    }


def test_a_column_with_a_missing_category_may_be_absent(survey, file):
    found = read_rows(file('age,job,income\n1,"a, b",low\n2,{c},high\n'), survey())
    assert found["gender"].tolist() == [2, 2]


def test_an_optional_column_may_be_absent_and_is_checked_if_present(survey, file):
    rows = read_rows(file('gender,age,job\nMale,1,"a, b"\n'), survey(), optional=["income"])
    assert list(rows) == ["gender", "age", "job"]
    assert "income" in read_rows(file(HEADER + GOOD), survey(), optional=["income"])
    with pytest.raises(InvalidParameter, match="column income: 'no' is no category"):
        read_rows(file(HEADER + GOOD + "Male,1,{c},no\n"), survey(), optional=["income"])


def test_chunks_change_nothing_not_even_row_numbers(survey, people, write_rows, tmp_path, file):
    published, codes = survey(), people(50)
    path = write_rows(tmp_path / "a.csv", published, codes)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("hushpoll_training.data.rows.CHUNK", 7)
        found = read_rows(path, published)
        with pytest.raises(InvalidParameter, match=r"row 30 \(line 31\), column age: '9' is no"):
            read_rows(file(HEADER + GOOD * 29 + "Male,9,{c},low\n" + GOOD * 20), published)
        assert read_rows(file(HEADER + GOOD * 14), published)["age"].tolist() == [0] * 14
    assert all((found[name] == codes[name]).all() for name in codes)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (HEADER + GOOD + "Male,7,{c},low\n", r"row 2 \(line 3\), column age: '7' is no category; "),
        (HEADER + "Male,,{c},low\n", r"row 1 \(line 2\), column age: the cell is empty; answer "),
        (HEADER + "male,1,{c},low\n", "column gender: 'male' is no category; answer with one of"),
        (HEADER + 'Male,1,"{c}\n",low\n', r"row 1 \(line 2\), column job: "),
        (HEADER + GOOD + "Male,1,{c}\n", r"row 2 \(line 3\) has 3 values, and the header names 4"),
        (HEADER + GOOD + "Male,1,{c},low,x\n", r"row 2 \(line 3\) has 5 values"),
        ("gender,age,job\n" + GOOD, "has no column income.*The columns are gender, age, job"),
        ("gender,age,job,income,id\n" + GOOD, "column 'id', which small does not ask; remove it"),
        ("gender,age,age,job,income\n" + GOOD, "the column 'age' twice"),
        ("", "is empty; give a header"),
        (HEADER, "has no rows"),
        (HEADER + 'Male,1,"{c},low\n', "line 2 is no CSV: .*correct the quotes"),
        (HEADER + 'Male,1,"{c}"x,low\n', "line 2 is no CSV"),
        (
            b"gender,age,job,income\nM\xe4nnlich,1,{c},low\n",
            "is no UTF-8 text .byte 23 is 0xe4.; save it as CSV",
        ),
        (b"HREC\x01\xff\xfe", "is no UTF-8 text .byte 5 is 0xff.; save it as CSV"),
    ],
)
def test_each_mistake_is_named(survey, file, text, words):
    path = file(text)
    with pytest.raises(InvalidParameter, match=words) as caught:
        read_rows(path, survey(), option="panel")
    assert str(path) in str(caught.value)
    assert caught.value.field == "panel"


def test_columns_can_be_ignored_but_not_attributes(survey, file):
    path = file("id," + HEADER + "," + GOOD)
    assert "id" not in read_rows(path, survey(), ignored=["id"])
    with pytest.raises(InvalidParameter, match="ignore names 'age', an attribute of small"):
        read_rows(path, survey(), ignored=["id", "age"])


def test_a_file_that_is_not_there_is_an_os_error(survey, tmp_path):
    with pytest.raises(FileNotFoundError):
        read_rows(tmp_path / "nowhere.csv", survey())


def test_an_empty_line_of_one_column_keeps_the_rows_after_it_in_place(survey, file):
    attributes = [
        {"name": "mode", "role": "sensitive", "categories": ["Walk", "Car"], "missing": "-"},
        {"name": "late", "role": "target", "categories": ["no", "yes"], "positive": "yes"},
    ]
    published = survey(
        attributes=attributes,
        protected={"attribute": "mode", "privileged": "Car", "unprivileged": "Walk"},
    )
    for empty in ("", '""'):
        path = file(f"mode\nWalk\n{empty}\nCar\n{empty}\nWalk\n")
        assert read_rows(path, published, optional=["late"])["mode"].tolist() == [0, 2, 1, 2, 0]
