"""The privacy sheet: its figures are those of the manifest, and it has two pages."""

from __future__ import annotations

import re
import zlib
from string import Formatter

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.survey_reports.sheets.privacy_sheet import (
    MOST_ROWS,
    privacy_sheet,
    sheet_texts,
)
from hushpoll_server.survey_reports.sheets.published_designs import PUBLISHED_DESIGNS
from hushpoll_server.words import catalogues
from hushpoll_shared.drafts.manifest import Manifest

DRAFT = {
    "name": "work",
    "version": 2,
    "title": "Work <and> health",
    "operator": "Works council",
    "purpose": "To see who is well.",
    "language": "en",
    "epsilon": "4",
    "protocol": "GRR",
    "submission": "token",
    "attributes": [
        {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "drinks", "role": "sensitive", "categories": ["no", "yes"]},
        {"name": "town", "role": "plain", "categories": ["a", "b"], "question": "Where?"},
        {
            "name": "drugs",
            "role": "sensitive",
            "categories": ["x", "y"],
            "select": {},
            "want": "pairs",
        },
    ],
}


def sheet(manifest=DRAFT, **options):
    return privacy_sheet(Manifest.from_dict(manifest).resolve(), "html", **options).decode()


def cells(page, kind):
    table = re.search(rf'<table class="{kind}">(.*?)</table>', page, re.DOTALL)[1]
    rows = re.findall(r"<tr>(.*?)</tr>", table.split("<tbody>")[1], re.DOTALL)
    return [
        [re.sub(r"<[^>]*>", "", cell) for cell in re.findall(r"<t[hd].*?</t[hd]>", row)]
        for row in rows
    ]


def test_published_designs_have_the_epsilons_of_their_chances():
    figures = {design.name: round(design.epsilon, 2) for design in PUBLISHED_DESIGNS}
    assert figures == {"warner": 0.85, "crosswise": 1.53, "forced": 1.61}


def test_the_figures_are_those_of_the_manifest():
    page, published = sheet(), Manifest.from_dict(DRAFT).resolve()
    assert cells(page, "collected") == [
        ["Where?", "as it is answered", "", "no limit"],
        ["smokes · drinks", "randomised by the protocol GRR; possible answers: 2", "1.334", "3.8"],
        [
            "drugs",
            "randomised together by the protocol GRR; possible combinations: 4",
            "1.334",
            "3.8",
        ],
    ]
    assert [row[1:] for row in cells(page, "designs")] == [
        ["0.85", "2.3"],
        ["1.53", "4.6"],
        ["1.61", "5"],
        ["1.334", "3.8"],
        ["4", "55"],
    ]
    assert published.digest in page
    assert "Work &lt;and&gt; health" in page
    assert "single-use token" in page
    assert "hushpoll calls this limited protection." in page
    assert "My device randomises my answers to 3 of the questions before anything is sent." in page
    assert "My answers to these questions are sent as I give them: Where?" in page
    assert "not published yet" not in page


def test_a_number_has_its_limits_its_unit_and_that_it_is_rounded_at_random():
    asked = {"low": 0, "high": 3000, "unit": "euros", "anchors": [0, 1000, 3000]}
    rent = {"name": "rent", "role": "sensitive", "question": "Your rent?", "number": asked}
    debts = {"name": "debts", "role": "plain", "number": {"low": -5, "high": 5}}
    draft = DRAFT | {"attributes": [rent | {"missing": "None"}, debts]}
    way = "rounded at random to one of 3 fixed values, which the protocol GRR randomises"
    assert cells(sheet(draft), "collected") == [
        ["debts (whole number, −5 to 5)", "as it is answered", "", "no limit"],
        ["Your rent? (whole number, 0 to 3,000 euros)", way, "4", "55"],
    ]
    assert "possible answers" not in sheet(draft)


def test_items_of_a_matrix_have_the_question_that_is_asked_of_all():
    items = [
        {"name": "home", "question": "Your home"},
        {"name": "street", "question": "Your street"},
    ]
    matrix = {"name": "content", "question": "How content?", "categories": ["a", "b"]}
    clear = matrix | {"role": "plain", "items": items}
    page = sheet(DRAFT | {"attributes": [*DRAFT["attributes"][:1], clear]})
    asked = "How content? Your home / Your street"
    assert cells(page, "collected")[0][0] == asked
    assert f"sent as I give them: {asked}" in page


def test_options_that_are_randomised_apart_have_their_question_once():
    """Guards: each option repeated the question, which filled the row."""
    options = {"name": "awake", "role": "sensitive", "question": "What kept you awake?"}
    options |= {"categories": ["Work", "Money", "Noise"], "select": {}}
    page = sheet(DRAFT | {"attributes": [options], "protocol": "SS", "epsilon": "0.8"})
    assert cells(page, "collected")[0][0] == "What kept you awake? Work / Money / Noise"


def test_many_ways_of_sending_share_the_last_row_with_the_most_that_one_may_tell():
    sizes = [
        {"name": f"q{k}", "role": "sensitive", "categories": [str(code) for code in range(k)]}
        for k in range(2, 22)
    ]
    draft = DRAFT | {"attributes": sizes, "split": "k-based"}
    rows = cells(sheet(draft), "collected")
    assert len(rows) == MOST_ROWS
    # 4 * 21 / 230 = 0.3652..., and e to the power of it is 1.4408..., both rounded up.
    assert rows[-1][1:] == ["randomised in other ways: 9", "up to 0.366", "up to 1.45"]


def test_what_the_author_decides_is_said_or_asked_for():
    assert "was given no time of deletion" in sheet()
    kept = sheet(kept_days=90)
    assert kept.count("deletes the records within 90 days after the end of the survey.") == 2
    assert "was given no time" not in kept
    assert sheet(kept_days=1).count("within a day after the end of the survey.") == 2
    assert sheet(kept_days=1).count("within a day after the end of the survey.") == 2
    assert "is not published yet" in sheet(draft=True)
    bare = {key: DRAFT[key] for key in ("name", "version", "title", "epsilon", "protocol")}
    page = sheet(bare | {"attributes": DRAFT["attributes"][:1], "epsilon": "20"})
    assert "I am asked to answer" in page
    assert "the limit on how far all randomised answers" in page
    assert "hardly any protection" in page
    assert "sent as they are" not in page
    with pytest.raises(InvalidParameter, match=r"kept_days is -1, outside \[0, 36500\]"):
        sheet(kept_days=-1)


def test_the_sheet_is_in_the_language_asked_for_with_the_survey_s_own_texts():
    words = {"title": "Arbeit", "purpose": "Wozu.", "attributes": {"town": {"question": "Wo?"}}}
    german = sheet(DRAFT | {"translations": {"de": words}}, language="de-AT")
    assert '<html lang="de">' in german
    assert "Datenschutzblatt · <bdi" in german
    assert ["Wo?", "so, wie geantwortet wird", "", "keine Grenze"] in cells(german, "collected")
    assert "1,334" in german
    assert "höchstens mal 55" in german
    assert "Where?" in sheet(language="es")
    with pytest.raises(InvalidParameter, match="language is 'xx'; the sheet is written in de, en"):
        sheet(language="xx")


def test_every_language_has_the_texts_of_english():
    english = sheet_texts()["en"]
    assert set(sheet_texts()) == set(catalogues())
    for texts in sheet_texts().values():
        assert list(texts) == list(english)
        for key, text in texts.items():
            fields, wanted = (
                {field for _, field, _, _ in Formatter().parse(one) if field}
                for one in (text, english[key])
            )
            assert fields == wanted, key
    for language in sheet_texts():
        assert "{" not in sheet(language=language).partition("</style>")[2]


def test_the_page_loads_nothing_and_runs_nothing():
    page = sheet()
    assert not re.search(r"<script|\ssrc=|\shref=|@import|url\(|style=", page)
    assert "default-src 'none'; style-src 'sha256-" in page.replace("&#39;", "'")


def test_a_survey_of_many_long_questions_has_two_pages():
    """It needs the extra pdf and the system's Pango, which scripts/environment installs."""
    long = "Have you, in the last twelve months, " * 8 + "done so?"
    questions = [
        {"name": f"q{number}", "role": "sensitive", "question": long}
        | {"protocol": ("GRR", "OUE", "SS", "THE")[number % 4]}
        # A third is sent in four ways, and each of the others in a way of its own.
        | {"categories": [f"{code}" for code in range(2 if number < 40 else number - 37)]}
        for number in range(120)
    ]
    draft = DRAFT | {"attributes": [*questions, DRAFT["attributes"][2]], "purpose": long * 4}
    published = Manifest.from_dict(draft).resolve()
    made = privacy_sheet(published, "pdf", language="fr", kept_days=30)
    content = made
    for stream in re.findall(rb"stream\r?\n(.*?)\r?\nendstream", made, re.DOTALL):
        try:
            content += zlib.decompress(stream)
        except zlib.error:
            continue
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", content)) == 2
