from __future__ import annotations

import io
import zipfile

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.importing import workbook as bounds
from hushpoll_shared.importing.formats import import_bytes, import_file
from hushpoll_shared.importing.workbook import Sheets
from hushpoll_shared.importing.xlsform import read_xlsform
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
        ("flat_xlsform_test.xlsx", (1, 6, 4, 37), None),
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
        item["name"] for one in made.manifest["attributes"] for item in one.get("items", [one])
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


def test_a_row_far_below_is_found_or_refused_within_the_bounds(monkeypatch):
    book = io.BytesIO(xlsform([("select_one yn", "a", "A?")], YES_NO))
    out = io.BytesIO()
    with zipfile.ZipFile(book) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.infolist():
            content = old.read(part)
            if part.filename == "xl/worksheets/sheet1.xml":
                content = content.replace(b'<row r="2"', b'<row r="100000"')
            new.writestr(part.filename, content)
    made = import_bytes(out.getvalue(), name="far.xlsx")
    assert made.entries[0].where == "survey, row 100000"
    monkeypatch.setattr(bounds, "MOST_PLACES", 1000)
    with pytest.raises(InvalidParameter, match="more than 1,000 rows"):
        import_bytes(out.getvalue(), name="far.xlsx")


TWO = ("label::English (en)", "label::Français (fr)", "hint::English (en)", "hint::Français (fr)")
WIDE = (
    "type", "name", *TWO, "relevant", "constraint", "constraint_message", "required", "appearance",
    "choice_filter", "calculation", "default", "media::image::English (en)", "parameters",
    "guidance_hint", "trigger",
)  # fmt: skip
CHOICES = [
    ("list_name", "name", "label::English (en)", "label::Français (fr)", "region", "media::image"),
    ("yn", "y", "Yes", "Oui", "", ""),
    ("yn", "n", "No", "Non", "", ""),
    ("fruit", "ap", "Apple", "Pomme", "n", "ap.png"),
    ("fruit", "ba", "Banana", "", "s", ""),
    ("twice", "1", "One", "Un", "", ""),
    ("twice", "1", "Uno", "", "", ""),
    ("twice", "2", "Two", "Deux", "", ""),
    ("bare", "x", "", "", "", ""),
    ("bare", "y", "", "", "", ""),
    ("bare", "", "Nameless", "", "", ""),
]


def wide(*rows, choices=CHOICES, **sheets):
    lines = [tuple(row.get(name, "") for name in WIDE) for row in rows]
    made = import_bytes(
        workbook({"survey": [WIDE, *lines], "choices": choices, **sheets}), name="w.xlsx"
    )
    assert manifest_problems(made.manifest) == ()
    return made


def asked(kind, name, **more):
    return {"type": kind, "name": name, "label::English (en)": f"{name}?", **more}


def test_hints_become_help_in_every_language_and_of_select_alls():
    hints = {"hint::English (en)": "Think.", "hint::Français (fr)": "Pensez."}
    made = wide(
        asked("select_one yn", "a", **{"label::Français (fr)": "a fr ?"}, **hints, required="yes"),
        asked("select_multiple fruit", "b", **hints),
        asked("integer", "c", **{"hint::English (en)": "Only here."}, constraint=". > 0 and . < 9"),
    )
    assert [one.get("help") for one in made.manifest["attributes"]] == [
        "Think.", "Think.", "Only here.",
    ]  # fmt: skip
    french = made.manifest["translations"]["fr"]["attributes"]
    assert [french[name]["help"] for name in "abc"] == ["Pensez.", "Pensez.", "Only here."]
    assert entry(made, "a").outcome == "taken"
    published = Manifest.from_dict(made.manifest).resolve()
    assert published.wording("fr").helps[0] == "Pensez."
    assert published.wording("fr").select_helps == ("Pensez.",)


@pytest.mark.parametrize(
    ("row", "outcome", "words"),
    [
        (asked("select_one fruit", "q", appearance="search('fruits')"), "dropped", "by search()"),
        (asked("select_one yn", "q", appearance="label"), "dropped", "asks nothing"),
        (asked("select_one yn", "q", appearance="list-nolabel"), "changed", "row of the table"),
        (asked("select_one ${kids}", "q"), "dropped", "answers to ${kids}"),
        (asked("select_one nowhere", "q"), "dropped", "'nowhere' is not in the file"),
        (asked("select_one_from_file x.csv", "q"), "dropped", "in another file"),
        (asked("rank fruit", "q"), "dropped", "ask for the first choice"),
        (asked("select_one twice", "q"), "changed", "'1' stands again in choices, row 7"),
        (asked("select_one bare", "q"), "changed", "'Nameless' in choices, row 11 has no name"),
        (asked("select_one bare", "q"), "changed", "read as their codes"),
        (asked("select_one fruit", "q"), "changed", "Pictures and recordings of its choices"),
        (asked("select_one yn", "q", **{"media::image::English (en)": "a.png"}), "changed",
         "Its picture"),
        (asked("select_one yn", "q", parameters="randomize = true"), "taken", ""),
        (asked("select_one yn", "q", choice_filter="a=b"), "changed", "'a=b' is left out"),
        (asked("select_one yn", "q", constraint_message="No!"), "changed", "'constraint_message'"),
        (asked("select_one yn", "q", guidance_hint="G", trigger="x"), "changed",
         "'guidance_hint', 'trigger'"),
        (asked("select_one yn", "q", default="y"), "changed", "default"),
        (asked("select_one yn", "q", required="${a} = 1"), "to be decided", "must be answered if"),
        (asked("select_one yn", "q", relevant="count-selected(${m}) > 1"), "to be decided",
         "count-selected"),
        (asked("select_one yn", "q", relevant="if(1, 2, 3)"), "to be decided", "if(1, 2, 3)"),
        (asked("integer", "q", calculation="1 + 1"), "to be decided", "calculation"),
        (asked("integer", "q", constraint="regex(., 'x')"), "to be decided", "regex"),
        (asked("weird", "q"), "dropped", "'weird' has no form"),
        (asked("", "q"), "dropped", "no type"),
        (asked("range", "q", parameters="start=0;end=10;step=1"), "taken", ""),
        (asked("range", "q", parameters="start=a"), "dropped", "no numbers"),
        (asked("barcode", "q"), "dropped", "file"),
        (asked("acknowledge", "q"), "dropped", "asks nothing"),
    ],
    ids=range(28),
)  # fmt: skip
def test_each_construct_is_taken_or_reported(row, outcome, words):
    made = wide(asked("select_one yn", "first", required="yes"), row)
    found = entry(made, "q")
    assert found.outcome == outcome, found
    assert words in " ".join(found.messages)


def test_other_is_in_the_form_s_languages_alone():
    made = wide(asked("select_one yn or_other", "q", **{"label::Français (fr)": "q fr ?"}))
    assert attribute(made, "q")["categories"] == ["Yes", "No", "Other"]
    assert list(made.manifest["translations"]) == ["fr"]
    french = made.manifest["translations"]["fr"]["attributes"]["q"]
    assert french["categories"] == ["Oui", "Non", "Autre"]
    assert entry(made, "q").codes == ("y", "n", "other")


def test_settings_and_sheets_without_a_form_are_named():
    made = wide(
        asked("select_one yn", "q"),
        settings=[("form_id", "style", "public_key"), ("f", "pages", "KEY")],
        external_choices=[("list_name", "name"), ("a", "b")],
    )
    assert "The settings 'public_key', 'style' have no form here and are left out." in made.survey
    assert "The sheets 'external_choices' have no form here and are left out." in made.survey


CSV = (
    "survey\n{0}type{0}name{0}label{0}relevant\n{0}select_one yn{0}a{0}A?{0}\n"
    "{0}select_one yn{0}b{0}B?{0}${{a}} = 'y'\nchoices\n{0}list_name{0}name{0}label\n"
    "{0}yn{0}y{0}Yes\n{0}yn{0}n{0}No\n"
)


@pytest.mark.parametrize("mark", [",", ";", "\t"])
def test_csv_with_any_usual_mark_is_read(mark):
    made = import_bytes(CSV.format(mark).encode(), name="f.csv")
    assert [one["name"] for one in made.manifest["attributes"]] == ["a", "b"]
    assert attribute(made, "b")["ask_if"] == {"a": ["Yes"]}


def test_a_password_and_another_encoding_are_named():
    protected = bounds.OLD_WORKBOOK + b"\0" * 600 + "EncryptedPackage".encode("utf-16-le")
    with pytest.raises(InvalidParameter, match="protected by a password; take the password off"):
        import_bytes(protected, name="p.xlsx")
    with pytest.raises(InvalidParameter, match="UTF-8"):
        import_bytes(CSV.format(";").replace("A?", "Ä?").encode("latin-1"), name="l.csv")


ALL = {
    "survey": [
        ["A form", "", ""],
        ["type", "name", "label"],
        ["begin group", "g", "Group"],
        ["begin_repeat", "r", "Repeat"],
        ["select_one yn", "a", "A?"],
        ["end_repeat", "", ""],
        ["begin group", "t", "Table"],
        ["select_one yn", "b", "B?"],
        ["select_one yn", "c", "C?"],
        ["end group", "t", ""],
        ["select_multiple yn", "d", "D?"],
        ["integer", "e", "E?"],
        ["range", "f", "F?"],
        ["select_one yn or_other", "h", "H?"],
        ["end group", "", ""],
    ],
    "choices": [["list_name", "name", "label"], ["yn", "y", "Yes"], ["yn", "n", "No"],
                ["none", "y", "Yes"]],
    "settings": [["form_title", "version"], ["T", "7"]],
}  # fmt: skip


def said_of(rows):
    read = read_xlsform(Sheets(rows), name="f.xlsx")
    notes = [note for part in read.parts for note in getattr(part, "notes", ())]
    return " ".join((*read.notes, *notes))


def test_a_cell_that_nobody_knows_is_named_whatever_row_it_stands_in():
    """Below a heading that no reader has heard of, below none, and below one that stands twice."""
    asked = 0
    for heading, called in (("weird::One (x)", "weird::One (x)"), ("", "(column D)"),
                            ("label", "label (column D)")):  # fmt: skip
        for title, header in (("survey", 1), ("choices", 0)):
            for place in range(header + 1, len(ALL[title])):
                if title == "choices" and place == 3:
                    continue  # a list that no question has is left out as a whole
                rows = {sheet: [[*row] for row in lines] for sheet, lines in ALL.items()}
                rows[title][header].append(heading)
                rows[title][place].append("content")
                assert called in said_of(rows), (title, place, called)
                asked += 1
    assert asked == 3 * 15


def test_whatever_stands_beside_the_questions_is_named():
    said = said_of({**ALL, "survey": [*ALL["survey"], ["", "", "A comment"]], "empty": [[]],
                    "entities": [["list_name"], ["x"]], "choices (2)": [["a"]]})  # fmt: skip
    for words in (
        "Above the header of the sheet 'survey' is left out: row 1.",
        "The settings 'version' have no form here",
        "The sheets 'choices (2)', 'entities' have no form here",
        "Lists of choices that no question has are left out: 'none'.",
    ):
        assert words in said, words
    assert "'empty'" not in said
    lost = said_of({**ALL, "choices": [["only"], ["x"]], "settings": [["a"], ["1"], ["2"]]})
    assert "The sheet 'choices' is left out" in lost
    assert "A second row of settings is left out (settings, row 3)." in lost


def test_rows_of_a_table_become_one_matrix_with_its_words_in_every_language():
    made = wide(
        asked("begin group", "care", appearance="table-list", **{"label::Français (fr)": "Soins"}),
        asked("select_one yn", "doctor", **{"label::Français (fr)": "Médecin"}),
        asked("select_one yn", "nurse", **{"hint::English (en)": "Of a ward."}),
        {"type": "end group"},
        asked("select_one fruit", "head", appearance="w1 label"),
        asked("select_one fruit", "first", appearance="w1 list-nolabel", required="yes"),
        asked("select_one fruit", "second", appearance="w1 list-nolabel", required="yes"),
        asked("select_one yn", "after", relevant="${nurse} = 'y'"),
    )
    care, fruit, after = made.manifest["attributes"]
    assert care["items"] == [
        {"name": "doctor", "question": "doctor?"},
        {"name": "nurse", "question": "nurse?"},
    ]
    assert (care["name"], care["question"], care["missing"]) == ("care", "care?", "No answer")
    assert (fruit["name"], fruit["question"], len(fruit["items"])) == ("head", "head?", 2)
    assert after["ask_if"] == {"nurse": ["Yes"]}
    french = made.manifest["translations"]["fr"]["attributes"]
    assert french["care"] == {
        "question": "Soins", "categories": ["Oui", "Non"], "missing": "Sans réponse",
    }  # fmt: skip
    assert french["doctor"] == {"question": "Médecin"}
    assert entry(made, "doctor").outcome == "taken"
    assert entry(made, "nurse").messages == (
        "Its hint is left out: a table has one for all of its rows.",
    )
    assert entry(made, "head").outcome == "dropped"
    published = Manifest.from_dict(made.manifest).resolve()
    assert [one.attributes for one in published.matrices] == [
        ("doctor", "nurse"), ("first", "second"),
    ]  # fmt: skip


def test_the_drawn_order_of_the_rows_of_a_table_is_read():
    drawn = {"appearance": "table-list", "parameters": "randomize=true, seed=4"}
    made = wide(
        asked("begin group", "care", **drawn),
        asked("select_one yn", "doctor"),
        asked("select_one yn", "nurse"),
        {"type": "end group"},
    )
    (care,) = made.manifest["attributes"]
    assert care["shuffle"] == {}
    (told,) = [note for note in made.survey if "parameters of the table" in note]
    assert "seed" in told.rpartition("left out:")[2]


def test_rows_that_differ_are_questions_alone_and_the_report_says_why():
    made = wide(
        asked("begin group", "care", appearance="table-list"),
        asked("select_one yn", "doctor", required="yes"),
        asked("select_one fruit", "nurse"),
        {"type": "end group"},
    )
    assert [one["question"] for one in made.manifest["attributes"]] == [
        "care?: doctor?", "care?: nurse?",
    ]  # fmt: skip
    assert "differ from those of its neighbours" in " ".join(entry(made, "doctor").messages)
