"""The dashboard's page of weighted shares, without a browser."""

from __future__ import annotations

import re
from html import unescape

import pytest

from sample_survey import VERSION, make_report

pytestmark = pytest.mark.sqlite
WEIGHTED = "/surveys/work/versions/1/weighted"
MARGIN = f"{WEIGHTED}?of=education&by=income&kind=margins&a0=70&a1=30&confidence=0.9"


@pytest.fixture
def analyst(site, visit):
    published = site.publish()
    people = [("poor", "low", 60), ("poor", "high", 30), ("rich", "low", 30), ("rich", "high", 80)]
    site.send_batch(
        published,
        [
            make_report(published, income=income, education=education)
            for income, education, times in people
            for _ in range(times)
        ],
    )
    site.seal()
    return visit("eve", work="analyst")


def test_known_shares_in_the_address_give_what_the_api_gives(site, analyst):
    design = {"margins": [{"attributes": ["income"], "shares": {"poor": 0.7, "rich": 0.3}}]}
    body = {"attribute": "education", "design": design, "confidence": 0.9}
    answer = site.post(f"{VERSION}/weighted-shares", json=body).json
    page = analyst.get(MARGIN).text
    for share in answer["shares"]:
        assert f"{100 * share['value']:.1f}&nbsp;%" in page
    assert "Weighting moves " in page
    assert answer["verdict"]["says"] == "informative"
    assert answer["verdict"]["sentence"] in unescape(page)
    assert "data-folded" not in page
    assert f"worth {answer['effective_n']:,.0f} of a sample" in page
    lines = analyst.get(MARGIN.replace("weighted?", "weighted/shares.csv?")).text.splitlines()
    assert "unweighted_lower" in lines[0]
    assert len(lines) == 4


def test_shares_that_weights_make_too_noisy_are_folded_below_the_verdict(analyst):
    page = analyst.get(f"{WEIGHTED}?of=age&by=income&kind=weights&a0=1&a1=100000").text
    before, _, folded = page.partition("data-folded")
    assert "Too noisy to tell." in before
    assert "the weights make the reports worth" in before
    assert "<table" not in before
    assert "Weighting moves" not in page
    assert "These estimates are too noisy to tell anything." in folded


@pytest.mark.parametrize(
    ("query", "words"),
    [
        ("of=education&population=4000", "People"),
        ("of=education&by=income&kind=strata&a0=4000&a1=6000", "in the population"),
        ("of=education&by=income&kind=weights&a0=3&a1=1", "in the population"),
        ("of=age&by=income&second=gender&a0=50&a1=50&b0=40&b1=60", "in the population"),
        ("of=education&by=education", "choose a question"),
        ("of=education&by=income", "Fill in what is known"),
    ],
)
def test_every_kind_of_knowledge_is_answered(analyst, query, words):
    page = analyst.get(f"{WEIGHTED}?{query}")
    assert page.status_code == 200, page.text
    assert words in page.text


@pytest.mark.parametrize(
    ("query", "field", "words"),
    [
        ("of=education&by=income&a0=70&a1=70", "a0", "The margin of income: the shares of income"),
        ("of=education&by=income&a0=70&a1=x", "a1", "rich is &#39;x&#39;; give a number"),
        ("of=education&by=income&a0=70", "a1", "The margin of income has no share of"),
        ("of=age&by=income&second=gender&b0=40&b1=-1", "b1", "The margin of gender: the share of"),
        ("of=education&by=income&kind=strata&a0=3", "a1", "Strata has no size of"),
        ("of=education&by=income&a0=70&a1=30&population=0", "population", "Population is 0"),
        (
            "of=education&by=income&a0=70&a1=30&population=420.000",
            "population",
            "the point of &#39;420.000&#39; may mark decimals or thousands; write 420 or 420000",
        ),
        (
            "of=education&by=income&kind=strata&a0=1.000&a1=3",
            "a0",
            "the point of &#39;1.000&#39; may mark decimals or thousands; write 1 or 1000",
        ),
    ],
)
def test_fault_of_a_number_stands_beside_its_field(analyst, query, field, words):
    page = analyst.get(f"{WEIGHTED}?{query}")
    assert page.status_code == 422
    (tag,) = re.findall(r"<input[^>]* aria-invalid=\"true\"[^>]*>", page.text)
    assert f' name="{field}"' in tag
    assert ' aria-describedby="refused-fault"' in tag
    assert words in page.text.partition('id="refused-fault"')[2].partition("</span>")[0]
    # The form has all that the address says.
    texts = re.findall(r'<input[^>]* name="([^"]*)"[^>]* value="([^"]*)"', page.text)
    lists = re.findall(r'<select[^>]* name="([^"]*)"[^>]*>(.*?)</select>', page.text, re.DOTALL)
    selected = r'<option(?: value="([^"]*)")? selected>([^<]*)'
    chosen = {name: re.search(selected, options) for name, options in lists}
    filled = dict(texts) | {name: one[1] or one[2] for name, one in chosen.items() if one}
    assert dict(part.split("=") for part in query.split("&")).items() <= filled.items()


def test_strangers_and_wrong_choices_get_no_shares(analyst, visit):
    assert visit("bob", home="admin").get(MARGIN).status_code == 404
    assert analyst.get(f"{WEIGHTED}?of=nothing").status_code == 422


def test_question_that_a_kind_of_knowledge_cannot_use_is_chosen_anew(analyst):
    page = analyst.get(f"{WEIGHTED}?of=education&by=gender&second=age&kind=strata&a0=40&a1=60")
    assert page.status_code == 200
    assert "Choose a question whose answers are sent in clear" in page.text
    assert "in the population" not in page.text


def test_numbers_for_another_question_are_not_taken_for_this_one(analyst):
    form = f"{MARGIN}&a_are=margins+by+income"
    assert "Weighting moves " in analyst.get(form).text
    for changed in ("by=gender", "by=income&kind=strata"):
        page = analyst.get(form.replace("by=income", changed, 1).replace("&kind=margins", ""))
        assert page.status_code == 200
        assert "Fill in what is known" in page.text
        assert 'value="70"' not in page.text


def test_number_is_offered_only_where_a_link_asks_for_it(site, visit):
    rent = {"name": "rent", "role": "sensitive", "number": {"low": 0, "high": 5000}}
    sex = {"name": "sex", "role": "plain", "categories": ["woman", "man"]}
    site.publish(attributes=[rent, sex], protected=None, protocol="GRR")
    visitor = visit("eve", work="analyst")
    page = visitor.get(WEIGHTED).text
    assert '<option value="sex" selected>' in page
    assert 'value="rent"' not in page
    asked = visitor.get(f"{WEIGHTED}?of=rent").text
    assert '<option value="rent" selected>' in asked
