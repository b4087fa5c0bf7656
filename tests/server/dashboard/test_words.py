"""The words of the main pages: plain ones, with the terms in the help alone."""

from __future__ import annotations

import math
import re
from html import unescape

import pytest

from sample_survey import VERSION

pytestmark = pytest.mark.sqlite

BANNED = (
    "sealed",
    "released",
    "minimum batch",
    "debiased",
    "parts to measure with",
    "plus or minus",
    "0.95 interval",
)
"""Terms of the server's, which a main page says in plain words; what is folded may explain them."""

START = "/surveys/work/versions/1"
PAGES = (
    "/",
    START,
    f"{START}/estimates",
    f"{START}/estimates?attribute=age&among=gender",
    f"{START}/cross-tables?a=gender&b=age",
    f"{START}/comparison?of=age&beside=groups+of+gender",
    f"{START}/results",
    f"{START}/results/ordered-answers?attribute=country",
    f"{START}/results/independence?a=gender&b=age",
    f"{START}/results/conditional-shares?attribute=age&by=gender",
    f"{START}/results/cross-tables?a=gender&b=age",
    f"{START}/results/estimates",
    f"{START}/regressions",
    f"{START}/weighted?of=age&by=country",
    f"{START}/models",
    f"{START}/fairness",
    f"{START}/quality",
    f"{START}/report",
    "/surveys/few/versions/1/estimates",
    "/surveys/few/versions/1/cross-tables?a=gender&b=age",
)
NOTATION = re.compile(r"(?<![\w-])-\d\S*|\d%|\+/-|\+-\d|\d (?:per cent|percent)\b")
"""What is written otherwise: −1 and not -1, 95 % and not 95%, ± and not +/-."""
LONG_SHARE = re.compile(r"\b\d\d\.\d\d+\s?%|\b\d\.\d{3,}\s?%|\b\d\.\d{9,}")
"""A share with more digits than any interval supports, or a number that nobody has rounded."""
DETAILS = re.compile(r"<details\b(?:(?!<details\b).)*?</details>", re.DOTALL)


def open_words(html):
    """The text of a page that is not folded."""
    before = None
    while before != html:
        before, html = html, DETAILS.sub(" ", html)
    return every_word(html)


def every_word(html):
    """The text of a page, with what is folded."""
    return unescape(re.sub(r"<(style|script)\b.*?</\1>|<[^>]*>", " ", html, flags=re.DOTALL))


def test_main_pages_have_plain_words(site, visit):
    site.fill(site.publish(title="Work and health"), 60)
    site.seal()
    site.fill(site.publish(name="few", minimum_batch=100), 5)
    visitor = visit("ada", every="admin")
    found = {}
    for path in PAGES:
        page = visitor.get(path)
        assert page.status_code == 200, path
        words = open_words(page.text)
        terms = [word for word in BANNED if word in words.casefold()]
        found[path] = [*terms, *NOTATION.findall(words), *LONG_SHARE.findall(every_word(page.text))]
        before = DETAILS.sub(" ", page.text.partition('<section class="result"')[0])
        if before.count("<select") > 2 and '<section class="result"' in page.text:
            found[path].append("more than two selects before the first figure")
    assert {path: words for path, words in found.items() if words} == {}


@pytest.mark.parametrize("words", ["36.25 %", "4.125 %", "epsilon 1.3333333333333333"])
def test_share_with_too_many_digits_is_found(words):
    assert LONG_SHARE.findall(words)
    assert not LONG_SHARE.findall("36.2 %, 4.1 %, 0.05 %, epsilon 1.25, version 0.1.0")


@pytest.mark.parametrize("words", ["of -3 points", "a 95% interval", "5 +/- 2", "95 percent"])
def test_other_notation_is_found(words):
    assert NOTATION.findall(words)
    assert not NOTATION.findall("−3 points, 95 %, 5 ± 2 of 2026-11-28 and x-1")


def test_words_that_are_folded_are_no_words_of_a_page():
    html = "<p>a</p><details><summary>x</summary>sealed<details>released</details></details>b"
    assert open_words(html).split() == ["a", "b"]


def test_findings_of_public_results_have_plain_words(site):
    site.fill(site.publish(), 60)
    site.close()
    site.clock.advance(1)
    site.services.sealing.sweep(site.services.surveys.now())
    assert site.post(f"{VERSION}/public-results", json={}).status_code == 201
    page = site.client().get("/results/work/versions/1?lang=en").text
    # The methods stand below, where terms have their place.
    findings, methods = page.split('<h2 id="promise"')
    words = open_words(findings).casefold()
    assert "what the answers say" in words
    assert [word for word in BANNED if word in words] == []
    assert NOTATION.findall(open_words(page)) == []
    assert "minimum batch" in open_words(methods).casefold()


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_a_survey_s_page_says_by_how_much_answers_change_odds_at_most(site, visit, epsilon):
    site.publish(epsilon=epsilon, allow_weak=True)
    words = " ".join(open_words(visit("ada", every="admin").get(START).text).split())
    most = math.ceil(10 * math.exp(float(epsilon))) / 10
    assert (
        "protection: the randomised answers of one respondent change the odds of anything about "
        f"that person by at most a factor of {most}; 2 questions are sent in clear."
    ) in words


@pytest.mark.parametrize("page", ["estimates", "cross-tables?a=gender&b=age", "report"])
def test_a_page_without_results_says_from_how_many_reports_on_there_are_some(site, visit, page):
    site.fill(site.publish(minimum_batch=100), 5)
    text = visit("ada", every="admin").get(f"{START}/{page}").text
    words = " ".join(open_words(text).split())
    assert "Results are shown from 100 reports on; 5 have come in so far." in words
    assert "fewer than its minimum batch of 100" in every_word(text)
