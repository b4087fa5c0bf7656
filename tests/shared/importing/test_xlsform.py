from __future__ import annotations

import io
import zipfile

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.importing import workbook as bounds
from hushpoll_shared.importing.formats import import_bytes, import_file
from hushpoll_shared.survey.manifest import Manifest
from workbooks import workbook, xlsform

YES_NO = [("yn", "y", "Yes"), ("yn", "n", "No")]


def imported(survey, choices=YES_NO, header=("type", "name", "label"), **settings):
    made = import_bytes(xlsform(survey, choices, header, **settings), name="form.xlsx")
    assert manifest_problems(made.manifest) == ()
    return made


def attribute(made, name):
    return next(one for one in made.manifest["attributes"] if one["name"] == name)


def entry(made, name):
    return next(one for one in made.entries if one.question == name)


@pytest.mark.data
@pytest.mark.parametrize(
    ("file", "counts", "refusal"),
    [
        ("choice_filter_test.xlsx", (1, 2, 0, 0), None),
        ("flat_xlsform_test.xlsx", (1, 7, 4, 36), None),
        ("group.xlsx", (0, 0, 1, 2), None),
        ("or_other.xlsx", (0, 2, 0, 0), None),
        ("survey_no_name.xlsx", None, "'state' (sheet1, row 2): It asks for free text"),
        ("table-list.xls", (0, 4, 0, 1), None),
        ("text_and_integer.xlsx", (0, 0, 1, 1), None),
        ("tutorial.xls", (0, 0, 9, 1), None),
        ("widgets.csv", (4, 3, 1, 13), None),
        ("yes_or_no_question.xlsx", (1, 0, 0, 0), None),
    ],
)
def test_real_forms_become_drafts_that_can_be_published_or_are_refused_with_the_reason(
    data_dir, file, counts, refusal
):
    path = data_dir / "xlsform" / file
    if refusal is not None:
        with pytest.raises(InvalidParameter) as refused:
            import_file(path)
        assert refusal in str(refused.value)
        return
    made = import_file(path)
    assert tuple(made.counts().values()) == counts
    assert manifest_problems(made.manifest) == ()
    published = Manifest.from_dict(made.manifest).resolve()
    assert len(published.attributes) >= len(made.manifest["attributes"])
    assert {one.attribute for one in made.entries if one.attribute} == {
        one["name"] for one in made.manifest["attributes"]
    }
    assert all(one.messages for one in made.entries if one.outcome != "taken")


def test_choices_keep_their_codes_and_their_words_in_every_language():
    header = ("type", "name", "required", "label::English (en)", "label::Deutsch (de)")
    sheets = {
        "survey": [header, ("select_one yn", "smokes", "yes", "Do you smoke?", "Rauchen Sie?")],
        "choices": [
            ("list_name", "name", "label::English (en)", "label::Deutsch (de)"),
            ("yn", 1, "Yes", "Ja"),
            ("yn", 0, "No", "Nein"),
        ],
        "settings": [
            ("form_title", "form_id", "default_language"),
            ("Health", "h1", "English (en)"),
        ],
    }
    made = import_bytes(workbook(sheets), name="h.xlsx")
    assert manifest_problems(made.manifest) == ()
    assert made.manifest["name"] == "h1"
    assert made.manifest["language"] == "en"
    assert attribute(made, "smokes") == {
        "name": "smokes",
        "role": "sensitive",
        "question": "Do you smoke?",
        "categories": ["Yes", "No"],
    }
    german = made.manifest["translations"]["de"]
    assert german["attributes"]["smokes"] == {
        "question": "Rauchen Sie?",
        "categories": ["Ja", "Nein"],
    }
    assert entry(made, "smokes").codes == ("1", "0")
    assert entry(made, "smokes").outcome == "taken"
    assert "In 'de' 1 text is missing; those of 'en' stand there." not in made.survey


def test_a_condition_on_one_answer_becomes_a_follow_up():
    header = ("type", "name", "label", "required", "relevant", "constraint")
    made = imported(
        [
            ("select_one yn", "smokes", "Do you smoke?", "yes", "", ""),
            ("integer", "daily", "How many a day?", "yes", "${smokes} = 'y'", ". >= 1 and . <= 80"),
            ("select_one yn", "stop", "Will you stop?", "yes", "not(selected(${smokes}, 'n'))", ""),
            ("select_one yn", "both", "Both?", "yes", "${smokes}='y' and ${stop}='y'", ""),
            ("select_one yn", "odd", "Odd?", "yes", "today() > 1", ""),
            ("select_one yn", "never", "Never?", "yes", "${smokes} = 'x'", ""),
        ],
        header=header,
    )
    assert attribute(made, "daily")["ask_if"] == {"smokes": ["Yes"]}
    assert attribute(made, "daily")["number"] == {"low": 1, "high": 80}
    assert attribute(made, "stop")["ask_if"] == {"smokes": ["Yes"]}
    assert "ask_if" not in attribute(made, "both")
    assert "it is about 2 questions" in entry(made, "both").messages[0]
    assert "today() > 1" in entry(made, "odd").messages[0]
    assert entry(made, "never").outcome == "dropped"


def test_a_skipped_router_asks_no_follow_up_and_the_report_says_so():
    made = imported(
        [
            ("select_one yn", "a", "A?", ""),
            ("select_one yn", "b", "B?", "${a} != 'y'"),
        ],
        header=("type", "name", "label", "relevant"),
    )
    assert attribute(made, "b")["ask_if"] == {"a": ["No"]}
    assert entry(made, "b").messages == (
        "Here it is not asked of those who skip 'a'; in the form it is.",
    )


def test_numbers_ranges_and_scales():
    header = ("type", "name", "label", "required", "constraint", "parameters")
    made = imported(
        [
            ("integer", "children", "Children?", "yes", ". >= 0 and . < 13", ""),
            ("decimal", "income", "Income?", "yes", ". > 0.5 and . < 9000.5", ""),
            ("range", "likely", "Recommend us?", "yes", "", "start=0 end=10 step=1"),
            ("range", "half", "Grade?", "yes", "", "start=1 end=3 step=0.5"),
            ("integer", "age", "Age?", "yes", "", ""),
            ("integer", "none", "None?", "yes", ". > 3 and . < 3", ""),
        ],
        header=header,
    )
    assert attribute(made, "children")["range"] == [0, 12]
    assert attribute(made, "income")["number"] == {"low": 1, "high": 9000}
    assert (attribute(made, "likely")["range"], attribute(made, "likely")["scale"]) == (
        [0, 10],
        "nps",
    )
    assert attribute(made, "half")["categories"] == ["1", "1.5", "2", "2.5", "3"]
    assert "0 is a suggestion" in entry(made, "age").messages[0]
    assert entry(made, "none").outcome == "dropped"


def test_select_multiple_keeps_its_limits():
    made = imported(
        [("select_multiple yn", "many", "Which?", "count-selected(.) <= 1")],
        header=("type", "name", "label", "constraint"),
    )
    assert attribute(made, "many")["select"] == {"at_most": 1}
    assert "missing" not in attribute(made, "many")


def test_groups_give_sections_and_repeats_must_be_decided():
    made = imported(
        [
            ("begin group", "g", "About you"),
            ("select_one yn", "a", "A?"),
            ("begin repeat", "r", "Children"),
            ("select_one yn", "b", "B?"),
            ("end repeat", "", ""),
            ("select_one yn", "c", "C?"),
            ("end group", "", ""),
        ]
    )
    sections = [one["section"] for one in made.manifest["attributes"]]
    assert sections == ["About you", "Children", "About you (2)"]
    assert entry(made, "b").outcome == "to be decided"
    for survey, words in (
        ([("end group", "g", "")], "ends a group in survey, row 2 that none began"),
        ([("begin group", "g", "")], "never ends the group that begins in survey, row 2"),
    ):
        with pytest.raises(InvalidParameter, match=words):
            imported(survey)


def test_what_has_no_form_here_is_named_with_its_reason():
    rows = [
        ("select_one yn", "kept", "Kept?"),
        ("text", "t", "Name?"),
        ("rank yn", "r", "Order?"),
        ("select_one_from_file x.csv", "f", "File?"),
        ("select_one nowhere", "n", "Nowhere?"),
        ("geopoint", "g", "Where?"),
        ("new-thing", "x", "New?"),
        ("select_one yn", "", "Nameless?"),
    ]
    made = imported(rows)
    dropped = [one for one in made.entries if one.outcome == "dropped"]
    assert len(dropped) == len(rows) - 1
    assert len({one.messages for one in dropped}) == len(dropped)


def test_names_and_words_that_a_manifest_cannot_have_are_mended_and_told():
    long = "x" * 300
    made = imported(
        [
            ("select_one odd", "My Question!", "Line one\nline\u200b two"),
            ("select_one odd", "my_question", "Again?"),
        ],
        [("odd", "a", "Same"), ("odd", "b", "Same "), ("odd", "c", long), ("odd", "d", "")],
    )
    first, second = made.manifest["attributes"]
    assert (first["name"], second["name"]) == ("my_question", "my_question_2")
    assert first["question"] == "Line one line two"
    assert first["categories"][:2] == ["Same (a)", "Same (b)"]
    assert first["categories"][3] == "d"
    assert len(first["categories"][2]) == 200
    assert entry(made, "My Question!").outcome == "to be decided"


def test_150_questions_are_read_as_one_form():
    made = imported([("select_one yn", f"q{n}", f"Question {n}?") for n in range(150)])
    assert len(made.manifest["attributes"]) == 150
    with pytest.raises(InvalidParameter, match=r"has 257 questions .* at most 256; divide it"):
        imported([("select_one yn", f"q{n}", f"Question {n}?") for n in range(257)])


def zipped(**parts):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in {"xl/workbook.xml": b"<x/>", **parts}.items():
            archive.writestr(name, content)
    return out.getvalue()


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (b"%PDF-1.7 \x80", "a PDF file"),
        (b"\x00" * 100, "UTF-8"),
        (b"a,b\n1,2\n", "no sheet 'survey'"),
        (b"PK\x03\x04 no archive", "damaged or encrypted"),
        (bounds.OLD_WORKBOOK + b"\x00" * 600, "no workbook of the format XLS"),
        (zipped(**{"xl/vbaProject.bin": b"x"}), "has macros; save it as XLSX"),
        (
            zipped(**{"xl/a.xml": b'<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'}),
            "entities",
        ),
        (zipped(**{"xl/a.xml": "<x/>".encode("utf-16")}), "not in UTF-8"),
        (zipped(), "damaged workbook, or none"),
        (xlsform([])[:-300], "damaged"),
        (b"x" * (bounds.MOST_BYTES + 1), "larger than 10 MB"),
        (b'{"pages": ', "is no JSON"),
        (b'{"a": 1}', "no pages or elements"),
    ],
    ids=range(14),
)
def test_files_that_are_no_questionnaire_are_refused_with_what_to_do(content, words):
    with pytest.raises(InvalidParameter) as refused:
        import_bytes(content, name="a form.xlsx")
    assert words in str(refused.value)
    assert "'a form.xlsx'" in str(refused.value)
    assert refused.value.field == "file"


def test_what_an_archive_unpacks_to_is_counted_and_bounded(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_UNPACKED", 100_000)
    with pytest.raises(InvalidParameter, match="unpacks to more than"):
        import_bytes(zipped(**{"xl/a.bin": b"\0" * 10_000_000}), name="bomb.xlsx")


def test_rows_and_cells_beyond_the_bounds_are_refused_and_not_left_out(monkeypatch):
    monkeypatch.setattr(bounds, "MOST_ROWS", 10)
    with pytest.raises(InvalidParameter, match="more than 10 rows in the sheet 'survey'"):
        imported([("select_one yn", f"q{n}", "Q?") for n in range(10)])
    monkeypatch.setattr(bounds, "MOST_CELLS", 20)
    with pytest.raises(InvalidParameter, match="more than 20 cells"):
        imported([("select_one yn", f"q{n}", "Q?") for n in range(8)])


def test_a_row_far_below_is_found_or_refused_within_the_bounds():
    book = io.BytesIO(xlsform([("select_one yn", "a", "A?")], YES_NO))
    out = io.BytesIO()
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.infolist():
            content = old.read(part)
            if part.filename == "xl/worksheets/sheet1.xml":
                content = content.replace(b'<row r="2"', b'<row r="1000000"')
            new.writestr(part.filename, content)
    with pytest.raises(InvalidParameter, match="more than 20,000 rows"):
        import_bytes(out.getvalue(), name="far.xlsx")
