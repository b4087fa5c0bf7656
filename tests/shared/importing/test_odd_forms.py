"""Small forms of odd make: each becomes a draft that can be published, or a refusal."""

from __future__ import annotations

import io

import openpyxl
import pytest
import xlwt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest_problems import manifest_problems
from hushpoll_shared.importing.formats import import_bytes
from workbooks import workbook

YES = ("", "yn", "y", "Yes")
NO = ("", "yn", "n", "No")
CHOICES = [("list_name", "name", "label"), YES[1:], NO[1:]]


def xlsx(header, *rows, choices=CHOICES, **sheets):
    return workbook({"survey": [header, *rows], "choices": choices, **sheets})


def old(**sheets):
    """An old workbook, as XLS."""
    book, out = xlwt.Workbook(), io.BytesIO()
    for title, rows in sheets.items():
        sheet = book.add_sheet(title)
        for number, row in enumerate(rows):
            for place, cell in enumerate(row):
                sheet.write(number, place, cell)
    book.save(out)
    return out.getvalue()


def of_openpyxl(change=lambda sheet: None):
    """A workbook as openpyxl writes it, which keeps no values of formulas."""
    book, out = openpyxl.Workbook(), io.BytesIO()
    sheet = book.active
    sheet.title = "Survey "
    for row in (("type", "name", "label"), ("select_one yn", "a", "A?"), ("integer", "b", "B?")):
        sheet.append(row)
    choices = book.create_sheet("CHOICES")
    for row in CHOICES:
        choices.append(row)
    change(sheet)
    book.save(out)
    return out.getvalue()


def merged(sheet):
    sheet.append(("select_one yn", "c", "C?"))
    sheet.merge_cells("A4:A5")
    sheet["B5"] = "d"


THREE = ("type", "name", "label")
RELEVANT = (*THREE, "relevant", "required")
LIMITS = (*THREE, "constraint", "required")
FIRST = ("select_one yn", "a", "A?", "", "yes")
FORMS = {
    "case": (xlsx(("Type", " NAME ", "Label"), ("Select_One yn", "a", "A?"), ("INTEGER", "b", "B")),
             {"a": "taken", "b": "to be decided"}),
    "old": (old(survey=[THREE, ("select_one yn", "a", "A?")], choices=CHOICES), {"a": "taken"}),
    "old with numbers": (old(Survey=[THREE, ("select_one n", "a", 7)],
                             Choices=[CHOICES[0], ("n", 1.0, 1.5), ("n", 2, True)]),
                         {"a": "taken"}),
    "old without names": (old(survey=[("type", "label"), ("text", "A?")]), "no sheet 'survey'"),
    "mark": ("\ufeffsurvey,type,name,label\n,select_one yn,a,Ä?\n"
             "choices,list_name,name,label\n,yn,y,Yes\n,yn,n,No\n".encode(), {"a": "taken"}),
    "cp1252": ("survey;;;\n;type;name;label\n;select_one yn;a;\xc4?\n".encode("cp1252"), "UTF-8"),
    "semicolons": (b"survey;;;\n;type;name;label\n;select_one yn;a;A?\nchoices;;;\n"
                   b";list_name;name;label\n;yn;y;Yes\n;yn;n;No\n", {"a": "taken"}),
    "no label in the default language": (
        xlsx(("type", "name", "label:French", "label::English (en)"),
             ("select_one yn", "a", "A fr ?", ""),
             settings=[["default_language"], ["English (en)"]]),
        {"a": "taken"}),
    "external": (xlsx(THREE, ("select_one_external yn", "a", "A?"),
                      external_choices=[("list_name", "name"), ("yn", "y")]),
                 "stand in another file"),
    "metadata": (xlsx(THREE, ("start", "s", ""), ("audit", "audit", ""), ("note", "n", "N"),
                      ("calculate", "c", ""), ("barcode", "b", "B"), ("select_one yn", "a", "A?")),
                 {"s": "dropped", "audit": "dropped", "n": "dropped", "c": "dropped",
                  "b": "dropped", "a": "taken"}),
    "cascade": (xlsx((*THREE, "choice_filter"), ("select_one yn", "a", "A?", "region=${r}"),
                     choices=[(*CHOICES[0], "region"), (*YES[1:], "n"), (*NO[1:], "s")]),
                {"a": "changed"}),
    "conditions": (xlsx(RELEVANT, FIRST, ("begin group", "g", "G", "selected(${a}, 'y')", ""),
                        ("integer", "b", "B?", "", "yes"), ("end group", "", "", "", ""),
                        ("select_one yn", "c", "C?", "not(${a} = 'n') and ${a} != ''", "yes"),
                        ("select_one yn", "d", "D?", "${a} = 'y' or ${c} = 'y'", "yes")),
                   {"a": "taken", "b": "to be decided", "c": "taken", "d": "to be decided"}),
    "numbers in conditions": (
        xlsx((*THREE, "relevant", "required", "constraint"), ("integer", "a", "A?", "", "yes",
             ". >= 0 and . <= 9"), ("select_one yn", "b", "B?", "${a} >= 5", "yes", "")),
        {"a": "taken", "b": "taken"}),
    "ranges": (xlsx((*THREE, "parameters"), ("range", "a", "A?", "start = 1 end = 5 step = 2"),
                    ("range", "b", "B?", "start=5 end=1 step=1"), ("range", "c", "C?", "steps=2")),
               {"a": "changed", "b": "dropped", "c": "changed"}),
    "repeats": (xlsx(THREE, ("begin_repeat", "r", "R"), ("select_one yn", "a", "A?"),
                     ("end_repeat", "", "")), {"a": "to be decided"}),
    "scores": (xlsx((*THREE, "kobo--score-choices"), ("begin_score", "s", "S?", "yn"),
                    ("score__row", "a", "A", ""), ("score__row", "b", "B", ""),
                    ("end_score", "", "", "")), {"a": "taken", "b": "taken"}),
    "other capitals of sheets": (of_openpyxl(), {"a": "taken", "b": "to be decided"}),
    "merged cells": (of_openpyxl(merged), {"a": "taken", "b": "to be decided", "c": "taken",
                                           "d": "dropped"}),
    "formula": (of_openpyxl(lambda sheet: sheet.append(("text", "c", '="C"&"?"'))),
                "formula without its value in the cell C4 of the sheet 'Survey '"),
    "nothing": (workbook({"survey": []}), "no sheet 'survey'"),
    "headers alone": (xlsx(THREE), "no question that can be asked"),
    "broken archive": (of_openpyxl()[:-400], "damaged"),
}  # fmt: skip


@pytest.mark.parametrize("name", FORMS)
def test_each_becomes_a_draft_or_a_refusal_that_says_why(name):
    content, expected = FORMS[name]
    if isinstance(expected, str):
        with pytest.raises(InvalidParameter, match=expected):
            import_bytes(content, name="form")
        return
    made = import_bytes(content, name="form")
    assert manifest_problems(made.manifest) == ()
    found = {one.question: str(one.outcome) for one in made.entries}
    assert {**found, **expected} == found, [one.messages for one in made.entries]


@pytest.mark.parametrize(
    "constraint",
    [
        ". >= 0 and . <= 120", ".>=0 and .<=120", "(. >= 0) and (. <= 120)", ".>-1 and .<121",
        "0 <= . and 120 >= .", "not(. < 0) and not(. > 120)", ". >= 0.0 and . <= 120.0",
        "${age} >= 0 and ${age} <= 120", ".>= '0' AND .<= \"120\"", "(.>=0 and .<=120)",
        ". >= 0\nand . <= 120 and . <= 500",
    ],
)  # fmt: skip
def test_limits_are_read_in_every_spelling(constraint):
    made = import_bytes(xlsx(LIMITS, ("integer", "age", "Age?", constraint, "yes")), name="f")
    assert made.manifest["attributes"][0]["number"] == {"low": 0, "high": 120}
    assert made.entries[0].outcome == "taken"


def test_comments_on_cells_are_named():
    def comment(sheet):
        sheet["A2"].comment = openpyxl.comments.Comment("Ask first", "Ada")

    made = import_bytes(of_openpyxl(comment), name="form")
    assert "Comments on cells of the workbook are left out." in made.survey
