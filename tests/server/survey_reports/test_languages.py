"""A report in another language has no English word left, on its page, in its charts and files."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from typing import Any

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_server.survey_reports.files.report import Report
from hushpoll_server.survey_reports.sources.choices import Choices
from hushpoll_server.translations.speech import ENGLISH, LANGUAGES
from hushpoll_shared.spelling.intervals import how_to_read
from server.survey_reports.test_report import basis_of

OTHERS = [one for one in LANGUAGES if one != ENGLISH]
CODES = (
    "acc csv grr hashing json oad olh oue rappor score server spd svg utc wilson zip net "
    "promoter version epsilon"
)
SAME = {
    "de": f"{CODES} band fair fairness link median negative person quantile was",
    "fr": f"{CODES} audit audits change conclusion disparate distribution groups intervals local "
    "page part parts point points population positive possible protection publication quantile "
    "quantiles question questions rare script source versions",
    "es": f"{CODES} error factor local odds script",
}
"""Words that are the same in English."""
NAMES = "zqaga zqbob zqclear zqdraw zqmany zqnum zqscale zqtitle zqop hushpoll"
DRAFT: dict[str, Any] = {
    "name": "zq",
    "version": 3,
    "title": "Zqtitle",
    "operator": "Zqop",
    "epsilon": "8",
    "minimum_batch": 30,
    "attributes": [
        {"name": "zqaga", "role": "sensitive", "protocol": "GRR", "categories": ["Zqu", "Zqv"],
         "missing": "Zqw"},
        {"name": "zqbob", "role": "sensitive", "protocol": "OLH", "question": "Zqx zqy?",
         "categories": [f"zq{letter}" for letter in "abcdefg"]},
        {"name": "zqscale", "role": "sensitive", "protocol": "SS", "range": [1, 5],
         "missing": "Zqw"},
        {"name": "zqmany", "role": "sensitive", "protocol": "OUE",
         "categories": [f"zqm{place}" for place in range(260)]},
        {"name": "zqnum", "role": "sensitive", "protocol": "RAPPOR", "range": [1, 40]},
        {"name": "zqclear", "role": "plain", "categories": ["Zqu", "Zqv"]},
    ],
}  # fmt: skip
FACTS = {
    "state": "open",
    "release": "daily",
    "released_at": "2026-03-01T10:30:00Z",
    "closes": "2026-04-01T00:00:00Z",
    "duplicate": 1234,
    "rejected": {"malformed": 3},
}


def _row(category: str, value: float) -> dict[str, Any]:
    return {"category": category, "frequency": value, "lower": value - 0.1, "upper": value + 0.1}


def _wave(*rows: dict[str, Any], change: float | None = None) -> dict[str, Any]:
    changes = [] if change is None else [_row(one["category"], change) for one in rows]
    return {"n": 1200, "rows": list(rows), "changes": changes}


WAVES = [
    {"version": 1, "questions": {
        "zqaga": _wave(_row("Zqu", 0.5), _row("Zqv", 0.4), _row("Zqw", 0.1), change=0.3),
        "zqbob": _wave(), "zqscale": _wave(_row("", 2.5)),
        "zqnum": _wave(_row("", 2.5), change=4.0), "zqclear": _wave(_row("Zqu", 0.2), change=0.0),
    }},
    {"version": 2, "questions": {"zqbob": _wave(_row("zqb", 0.3)), "zqscale": _wave()}},
]  # fmt: skip
AUDIT = {
    "parameters": {"seed": 1},
    "result": {
        "n": 1000,
        "confidence": 0.95,
        "intervals": how_to_read(9, 0.95),
        "shares": {},
        "rates": {},
        "setting": "as deployed on LDP records",
        "origin": "cross-fitted",
        "protected": {
            "attribute": "zqaga",
            "protocol": "GRR",
            "privileged": ["Zqu"],
            "unprivileged": ["Zqv"],
        },
        "metrics": {
            "DI": {"value": 0.8, "lower": None, "upper": 1.25, "conclusion": "cannot conclude"},
            "SPD": {"value": 0.2, "lower": 0.1, "upper": 0.3, "conclusion": "disparity"},
            "OAD": {
                "withheld": "no-labels",
                "reason": "the survey has no target with a positive category to compare to",
            },
        },
    },
}


class Words(HTMLParser):
    """The words of a page that a person reads or hears, without commands and style."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self._skipped = 0
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        if tag in ("style", "code", "pre"):
            self._skipped += 1
        self.found += [value or "" for name, value in attributes if name == "aria-label"]

    def handle_endtag(self, tag):
        if tag in ("style", "code", "pre"):
            self._skipped -= 1

    def handle_data(self, data):
        if not self._skipped:
            self.found.append(data)

    @property
    def words(self) -> set[str]:
        text = " ".join(self.found).lower()
        return {word for word in re.findall(r"[^\W\d_]{3,}", text) if not word.startswith("zq")}


def report_of(drawing, language: str, **asked: Any) -> Report:
    crosses = [("zqaga", "zqbob"), ("zqnum", "zqmany"), ("zqaga", "zqclear")]
    crosses = [] if asked.pop("bare", False) else crosses
    audits = asked.pop("audits", [AUDIT])
    basis = basis_of(DRAFT, crosses, language=language, **asked)
    facts = {**basis.facts, **FACTS, "audits": audits, "waves": WAVES}
    support = dict(basis.support)
    if "zqbob" in support:
        support["zqbob"][:] = [20, 900, 250, 250, 250, 250, 250]
    basis = replace(basis, facts=facts, support=support)
    return Report(basis, lambda specification: drawing.draw(specification, "svg"))


@pytest.fixture(scope="module")
def english(drawing):
    return report_of(drawing, ENGLISH)


@pytest.mark.parametrize("language", OTHERS)
@pytest.mark.parametrize("estimator", ["unbiased", "projected", "shrunk"])
def test_page_has_no_english_word_left(drawing, language, estimator):
    bare = estimator != "unbiased"
    there = report_of(drawing, language, estimator=estimator, bare=bare).html.decode()
    here = report_of(drawing, ENGLISH, estimator=estimator, bare=bare).html.decode()
    allowed = set(SAME[language].split()) | set(NAMES.split())
    left = Words(there).words & Words(here).words - allowed
    assert f'<html lang="{language}">' in there
    assert not left, sorted(left)


def test_audit_of_several_groups_is_shown_beside_its_reference(drawing):
    whole = AUDIT["result"]
    parts = {name: whole[name] for name in ("metrics", "shares", "rates")}
    protected = {"attribute": "zqaga", "protocol": "GRR", "reference": ["Zqu"]}
    several = {
        **{name: member for name, member in whole.items() if name not in parts},
        "protected": protected,
        "groups": [{"group": "Zqv", **parts}],
    }
    audits = [{"parameters": {}, "result": several}]
    page = report_of(drawing, ENGLISH, bare=True, audits=audits).html.decode()
    assert "Zqv" in page
    assert "as deployed on LDP records" in page


@pytest.mark.parametrize("language", OTHERS)
def test_pictures_that_stand_alone_have_no_english_word_left(drawing, english, language):
    other = report_of(drawing, language)
    allowed = set(SAME[language].split()) | set(NAMES.split())
    for mine, theirs in zip(other.figures, english.figures, strict=True):
        own, of_english = mine.alone_svg, theirs.alone_svg
        assert own is not None
        assert of_english is not None
        left = Words(own).words & Words(of_english).words - allowed
        assert not left, (mine.key, sorted(left))
        # the data behind a picture are the same in every language
        assert mine.table == theirs.table


def test_texts_of_a_survey_are_those_of_its_translation(drawing):
    draft = {
        "name": "s", "title": "Habits", "language": "en", "epsilon": "4", "protocol": "GRR",
        "attributes": [
            {"name": "smokes", "role": "sensitive", "categories": ["yes", "no"],
             "question": "Do you smoke?"},
        ],
        "translations": {
            "de": {
                "title": "Gewohnheiten",
                "attributes": {
                    "smokes": {"question": "Rauchen Sie?", "categories": ["ja", "nein"]},
                },
            },
        },
    }  # fmt: skip
    pages = {}
    for language in ("en", "de", "fr"):
        basis = basis_of(draft, language=language)
        report = Report(basis, lambda specification: drawing.draw(specification, "svg"))
        pages[language] = report.html.decode()
    assert "Rauchen Sie?" in pages["de"]
    assert "<bdi>nein</bdi>" in pages["de"]
    assert "Do you smoke?" not in pages["de"]
    assert 'lang="en"' not in pages["de"]
    assert '<h1 lang="en"><bdi>Habits</bdi></h1>' in pages["fr"]


def test_numbers_are_those_of_the_english_report(english, drawing):
    told = english.told_in("fr")
    assert told.results is english.results
    assert told.basis.to_dict()["choices"]["language"] == "fr"
    assert "language" not in english.basis.to_dict()["choices"]


def test_report_with_english_words_alone_is_refused_in_another_language():
    published = basis_of(DRAFT).published
    with pytest.raises(InvalidParameter, match="other results are English"):
        Choices.of(published, language="de", results=["independence?a=zqaga&b=zqbob"])
    with pytest.raises(InvalidParameter, match="language is 'tlh'"):
        Choices.of(published, language="tlh")
