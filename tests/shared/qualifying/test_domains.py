"""Conditions that make a domain, as texts and in words."""

from __future__ import annotations

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.qualifying.domains import read_where, spelled_where, where_words
from hushpoll_shared.queries.estimates import EstimatedShares, Estimates

TEXTS = {
    "region=North": {"region": ("North",)},
    "region=North;age=30-39, 40-49": {"region": ("North",), "age": ("30-39", "40-49")},
    "income=<=26000": {"income": ("<=26000",)},
    'town="Washington, D.C.",Rome;x="a;b"': {"town": ("Washington, D.C.", "Rome"), "x": ("a;b",)},
    'said="a ""b"" c"': {"said": ('a "b" c',)},
}


@pytest.mark.parametrize("text", TEXTS)
def test_conditions_are_read_and_written_again(text):
    where = read_where(text, "where")
    assert where == TEXTS[text]
    assert read_where(spelled_where(where), "where") == where


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "give ATTRIBUTE=CATEGORY"),
        ("region", "give ATTRIBUTE=CATEGORY"),
        ("region=", "give ATTRIBUTE=CATEGORY"),
        ("town=a;b", "put a category with a comma, a semicolon or a quote into quotes"),
        ("region=North;region=South", "two conditions on 'region'"),
        ("region=North,North", "names 'North' of 'region' twice"),
        ("region=North,,South", "an empty name"),
        ('region="North', "into quotes"),
        ('"' * 1500 + "=", "give ATTRIBUTE=CATEGORY"),
    ],
)
def test_other_texts_are_refused(text, words):
    with pytest.raises(InvalidParameter) as refusal:
        read_where(text, "where")
    assert words in str(refusal.value)
    assert refusal.value.field == "where"


def test_words_say_which_conditions_are_alternatives():
    where = {"region": ("North",), "age": ("30-39", "40-49")}
    assert where_words(where) == "region is North and age is 30-39 or 40-49"


def test_query_is_spelled_with_its_domain():
    query = Estimates.read({"where": "region=North"})
    assert query.where == {"region": ("North",)}
    assert query.spelled() == {"where": "region=North"}
    assert "where" not in Estimates().spelled()


@pytest.mark.parametrize("where", [None, [], {"a": []}, {"a": "b"}, {"a": [1]}, {1: ["b"]}])
def test_document_with_another_domain_is_refused(where):
    document = {
        "n": 1, "confidence": 0.95, "estimator": "unbiased", "intervals": "x", "attributes": [],
    }  # fmt: skip
    assert EstimatedShares.read(document).where is None
    read = EstimatedShares.read(document | {"where": {"a": ["b"]}})
    assert read.where == {"a": ("b",)}
    assert EstimatedShares.read(document | {"where": {}}).where is None
    with pytest.raises(TypeError, match="where"):
        EstimatedShares.read(document | {"where": where})
