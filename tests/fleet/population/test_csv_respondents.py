from __future__ import annotations

import csv
import shlex

import pytest

from hushpoll_fleet.population.respondents import BadRows, read_respondents
from hushpoll_fleet.population.simulated_respondents import SimulatedRespondents
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.questions.attributes import Attribute

ATTRIBUTES = (
    Attribute("gender", "sensitive", ("Female", "Male"), missing="Not said"),
    Attribute("age", "sensitive", tuple(str(age) for age in range(17, 91))),
    Attribute("job", "plain", ("Craft", "Care, other")),
)


@pytest.fixture
def read(tmp_path):
    def call(text: str | bytes, **options: object) -> SimulatedRespondents:
        path = tmp_path / "people.csv"
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
        return read_respondents(path, ATTRIBUTES, **options)

    return call


def test_rows_become_answers_whatever_the_order_of_the_columns(read):
    respondents = read('job,gender,age\n"Care, other",Male,17\nCraft,,90\n')
    assert len(respondents) == 2
    assert list(respondents.answers()) == [
        {"gender": "Male", "age": "17", "job": "Care, other"},
        {"gender": "Not said", "age": "90", "job": "Craft"},
    ]


def test_a_byte_order_mark_blank_lines_and_crlf_are_no_trouble(read):
    respondents = read("\ufeffgender,age,job\r\nMale,17,Craft\r\n\r\nFemale,18,Craft\r\n")
    assert respondents.columns == {"gender": (1, 0), "age": (0, 1), "job": (0, 0)}


def test_a_column_may_be_left_out_where_missing_is_an_answer(read):
    assert read("age,job\n20,Craft\n").columns["gender"] == (2,)


def test_a_file_without_rows_is_a_roster_of_nobody(read):
    assert len(read("gender,age,job\n")) == 0


def test_columns_can_be_ignored(read):
    assert len(read("id,gender,age,job\n7,Male,20,Craft\n", ignored=["id"])) == 1


def test_what_is_written_is_read_back(read, tmp_path):
    respondents = read('job,gender,age\n"Care, other",Male,17\nCraft,,90\n')
    respondents.write_csv(tmp_path / "again.csv")
    again = read_respondents(tmp_path / "again.csv", ATTRIBUTES)
    assert list(again.answers()) == list(respondents.answers())


def test_answers_that_look_like_formulas_are_written_as_texts_and_read_back(tmp_path):
    answers = ("=1+1", "'=1+1", "-2", "@a", "plain", "'quoted'")
    attributes = (Attribute("-note", "plain", answers),)
    path = tmp_path / "people.csv"
    SimulatedRespondents.of_rows(attributes, [(code,) for code in range(len(answers))]).write_csv(
        path
    )
    header, *cells = [cell for (cell,) in csv.reader(path.read_text().splitlines())]
    assert header == "'-note"
    assert cells == ["'=1+1", "''=1+1", "'-2", "'@a", "plain", "'quoted'"]
    again = read_respondents(path, attributes)
    assert [one["-note"] for one in again.answers()] == list(answers)
    # A file that others wrote has the categories as they are.
    path.write_text("-note\n=1+1\n-2\n")
    assert [one["-note"] for one in read_respondents(path, attributes).answers()] == ["=1+1", "-2"]


def test_every_bad_value_is_reported_with_row_column_value_and_remedy(read):
    text = "gender,age,job\nMale,17,Craft\nmale,16,Craft\nFemale,,Craft\nFemale,20\n"
    with pytest.raises(BadRows) as caught:
        read(text)
    found = [(one.row, one.line, one.column, one.value) for one in caught.value.values]
    assert found == [
        (2, 3, "gender", "male"),
        (2, 3, "age", "16"),
        (3, 4, "age", ""),
        (4, 5, "(row length)", "2 values"),
    ]
    message = str(caught.value)
    assert "4 bad values in 3 rows (2 in age, 1 in gender, 1 in (row length))" in message
    assert "nothing was sent" in message
    assert "row 2 (line 3), column gender: 'male'; answer with one of 'Female', 'Male'" in message
    assert "the header names 3 columns: give as many values" in message


def test_the_message_shows_twenty_and_counts_the_rest(read):
    with pytest.raises(BadRows) as caught:
        read("gender,age,job\n" + "Male,0,Craft\n" * 25)
    assert len(caught.value.values) == 25
    assert str(caught.value).count("column age: '0'") == 20
    assert "and 5 more" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "options", "words"),
    [
        ("", {}, "is empty"),
        ("gender,age\nMale,17\n", {}, "no column 'job'"),
        ("gender,age,job,shoe\n", {}, "the column 'shoe'.*--ignore shoe"),
        ("gender,age,job,age\n", {}, "'age' twice"),
        ("gender,age,job\n", {"ignored": ["age"]}, "--ignore names 'age'"),
        (b"gender,age,job\nM\xe4nnlich,17,Craft\n", {}, "no UTF-8 text"),
        ("gender,age,job\nMale,17,\0\n", {}, "."),
    ],
)
def test_a_file_of_another_form_is_refused(read, text, options, words):
    with pytest.raises(InvalidParameter, match=words):
        read(text, **options)


def test_a_very_long_field_is_a_clear_error(read):
    with pytest.raises(InvalidParameter, match="line 2 is no CSV: field larger"):
        read("gender,age,job\n" + "x" * (csv.field_size_limit() + 1) + ",17,Craft\n")


@pytest.mark.parametrize("empty", ["", '""'])
def test_an_empty_line_of_one_question_is_a_skipped_answer(tmp_path, empty):
    path = tmp_path / "one.csv"
    path.write_text(f"mode\nWalk\n{empty}\nCar\n{empty}\n{empty}\nWalk\n")
    attributes = (Attribute("mode", "sensitive", ("Walk", "Car"), missing="Not answered"),)
    assert read_respondents(path, attributes).columns == {"mode": (0, 2, 1, 2, 2, 0)}
    with pytest.raises(BadRows, match=r"row 2 \(line 3\), column mode: ''"):
        read_respondents(path, (Attribute("mode", "sensitive", ("Walk", "Car")),))


@pytest.mark.parametrize("column", ["a;b", "$(touch x)", "`x`", "it's", "a b"])
def test_no_remedy_has_a_name_that_a_shell_would_run(read, column):
    with pytest.raises(InvalidParameter) as caught:
        read(f"gender,age,job,{column}\n")
    remedy = str(caught.value).partition("--ignore ")[2].partition(". The survey")[0]
    assert shlex.split(remedy) == [column]


def test_a_file_with_semicolons_is_refused_with_a_remedy(read):
    with pytest.raises(InvalidParameter, match="has semicolons between its cells") as caught:
        read("gender;age;job\r\nMale;17;Craft\r\n")
    assert "--ignore" not in str(caught.value)
