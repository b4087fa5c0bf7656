"""Regressions of a report are told in its language, with the words of the survey's translation."""

import json
import re
from dataclasses import replace
from html import unescape

import numpy as np
import pytest

from hushpoll_analysis.regression.answers import Answers, Categories, Numbers, Unit, patterns_of
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.model import fit
from hushpoll_protocols import create
from hushpoll_protocols.kernels import perturb
from hushpoll_server.survey_reports.files.report import Report
from hushpoll_server.translations.speech import ENGLISH, LANGUAGES, said, speaking
from server.survey_reports.test_languages import Words
from server.survey_reports.test_report import basis_of

OTHERS = [one for one in LANGUAGES if one != ENGLISH]
SAME = {
    "de": "csv svg json vega lite epsilon kosmidis likelihood logit lunardon maximum multinomial "
    "regression regressionen tests",
    "fr": "csv svg json vega lite coefficient coefficients combinations confidence intervalle "
    "epsilon kosmidis logit lunardon maximum multinomial question regressions tests",
    "es": "csv svg json vega lite error factor kosmidis logit lunardon multinomial odds",
}
"""Words that are the same in English."""
BLANK = b'<svg xmlns="http://www.w3.org/2000/svg" width="9" height="9" viewBox="0 0 9 9"></svg>'
DRAFT = {
    "name": "zq",
    "title": "Zqtitle",
    "language": "en",
    "epsilon": "4",
    "protocol": "GRR",
    "attributes": [
        {"name": "zqa", "role": "sensitive", "categories": ["Zqno", "Zqyes"]},
        {"name": "zqb", "role": "sensitive", "categories": ["Zqone", "Zqtwo", "Zqthree"]},
        {"name": "zqc", "role": "plain", "categories": ["Zqp", "Zqq"], "question": "Zqwhere?"},
    ],
    "translations": {
        "de": {
            "title": "Zqtitel",
            "attributes": {
                "zqa": {"categories": ["Zqnein", "Zqja"]},
                "zqb": {"categories": ["Zqeins", "Zqzwei", "Zqdrei"]},
                "zqc": {"question": "Zqwo?", "categories": ["Zqpe", "Zqqu"]},
            },
        },
    },
}


def fitted(formula, n, **asked):
    rng = np.random.default_rng(4)
    c, d, e = rng.integers(0, 2, n), rng.normal(size=n).round(1), rng.normal(size=n).round(1)
    a = (rng.random(n) < 1 / (1 + np.exp(-0.9 * c - 0.3 * d))).astype(np.int64)
    b = rng.integers(0, 3, n)
    units = []
    for name, k, values in (("zqa", 2, a), ("zqb", 3, b)):
        oracle = create("GRR", k=k, epsilon="2")
        domain = tuple(DRAFT["attributes"][k - 2]["categories"])
        found = patterns_of(oracle, perturb(oracle, values, rng))
        units.append(Unit(name, (Question(name, domain),), *found, oracle))
    clear = {
        "zqc": Categories("zqc", c, ("Zqp", "Zqq")),
        "zqd": Numbers("zqd", d),
        "zqe": Numbers("zqe", e),
    }
    found = fit(formula, Answers(n, clear, tuple(units)), **asked)
    return {**found.to_dict(), "released_at": None}


@pytest.fixture(scope="module")
def documents():
    return [
        fitted("zqa ~ zqb + zqc*zqd", 4_000),
        fitted("zqb ~ zqa*zqc", 120),
        fitted("zqb ~ zqc + zqd", 3_000, family="ordered"),
        fitted("zqd ~ zqc + zqa + zqe + I(zqe**2)", 3_000),
        fitted("zqa ~ zqb:zqc + zqb", 300),
    ]


def test_every_sentence_and_note_has_its_form_in_each_language(documents):
    told = {one for document in documents for one in document["sentences"]}
    told |= {one for document in documents for one in document["notes"]}
    told |= {document["verdict"]["sentence"] for document in documents}
    told |= {document["plain_is_wrong"] for document in documents} - {None}
    assert len(told) > 20
    for language in OTHERS:
        with speaking(language):
            assert [one for one in told if said(one) == one] == []


@pytest.mark.parametrize("language", OTHERS)
def test_regressions_of_a_report_have_no_english_word_left(documents, language):
    pages, pictures = {}, {}
    for one in (ENGLISH, language):
        basis = basis_of(DRAFT, language=one, attributes=["zqa"], regressions=["0" * 32])
        basis = replace(basis, facts={**basis.facts, "regressions": documents})
        report = Report(basis, lambda _: BLANK)
        page = unescape(report.html.decode())
        start = page.index('<h2 id="regressions"')
        pages[one] = page[start : page.index("<h2", start + 20)]
        charts = [figure.chart for figure in report.figures if "regression" in figure.key]
        titles = [json.dumps(chart.specification["title"]["text"]) for chart in charts]
        pictures[one] = " ".join([*titles, *(chart.sentence for chart in charts)])
    same = set(SAME[language].split())
    left = Words(pages[language]).words & Words(pages[ENGLISH]).words
    assert not left - same, sorted(left - same)
    drawn = Words(pictures[language]).words & Words(pictures[ENGLISH]).words
    assert not drawn - same, sorted(drawn - same)
    if language == "de":
        # notes name coefficients as files do, with the answers of the formula
        told = re.sub(r'<code>.*?</code>|<p class="soft">.*?</p>|\[.*?\]', "", pages["de"])
        assert "Zqja" in told
        assert not re.search(r"Zq(no|yes|one|two|three|p|q)\b", told)
        assert "„Zqwo?“" in told
