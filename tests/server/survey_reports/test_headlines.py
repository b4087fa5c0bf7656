"""Headlines: what each kind of result finds, what it may not name, and the edges of a share."""

from __future__ import annotations

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pytest

from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.records import Records
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols import SecureBits
from hushpoll_server.survey_reports.content.headlines import (
    TOO_NOISY,
    headline_of,
    of_groups,
    of_share,
)
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.qualifying.verdict import TOO_NOISY as SAYS_NOISY
from hushpoll_shared.qualifying.verdict import Verdict
from hushpoll_shared.queries.answered_shares import Answered
from hushpoll_shared.queries.conditional_shares import ConditionalShares as Conditional
from hushpoll_shared.queries.cross_tables import CrossTable
from hushpoll_shared.queries.dependencies import Dependencies
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.queries.ordered_answers import Ordered

NARROW = "\u00a0"


def told(text: str) -> str:
    return text.replace(NARROW, " ")


@pytest.mark.parametrize(
    ("value", "lower", "upper", "words"),
    [
        (0.25, 0.17, 0.34, "Yes: 25 % (17 to 34 %)"),
        (0.0, -0.02, 0.02, "Yes: 0 % (0 to 2 %)"),
        (1.0, 0.95, 1.02, "Yes: 100 % (95 to 100 %)"),
        (-0.03, -0.09, 0.03, "Yes: about 0 % (0 to 3 %)"),
        (1.04, 0.9, 1.2, "Yes: about 100 % (90 to 100 %)"),
        (0.25, None, None, "Yes: 25.0 %"),
    ],
)
def test_share_has_its_interval_and_is_never_below_none_or_above_all(value, lower, upper, words):
    assert told(of_share("Yes", value, lower, upper)) == words


@pytest.mark.parametrize(
    ("value", "lower", "upper", "words"),
    [
        (0.19, 0.06, 0.32, "a: 19 points more among women than among men (6 to 32)"),
        (-0.19, -0.32, -0.06, "a: 19 points less among women than among men (6 to 32)"),
        (0.19, -0.01, 0.32, "women and men: no difference is shown"),
        (0.0, -0.1, 0.1, "women and men: no difference is shown"),
    ],
)
def test_difference_is_named_only_where_its_interval_leaves_out_zero(value, lower, upper, words):
    row = SimpleNamespace(category="a", value=value, lower=lower, upper=upper)
    assert told(of_groups([row], "women", "men")) == words


def test_difference_of_groups_names_the_farthest_that_is_told():
    rows = [
        SimpleNamespace(category="loud", value=0.4, lower=-0.1, upper=0.9),
        SimpleNamespace(category="sure", value=0.2, lower=0.1, upper=0.3),
        SimpleNamespace(category="unknown", value=None, lower=None, upper=None),
    ]
    assert told(of_groups(rows, "women", "men")).startswith("sure: 20 points more among women")
    assert of_groups([], "women", "men") == "women and men: no difference is shown"


@pytest.fixture(scope="module")
def source():
    """Answers in clear, whose shares are known: b follows a, and c does not."""
    attributes = [
        {"name": "a", "role": "plain", "categories": ["x", "y"]},
        {"name": "b", "role": "plain", "categories": ["u", "v"]},
        {"name": "c", "role": "plain", "categories": ["0", "1", "2"], "missing": "none"},
        {"name": "s", "role": "sensitive", "protocol": "GRR", "categories": ["p", "q"]},
    ]
    draft = {"name": "s", "version": 1, "title": "S", "epsilon": "0.1"}
    published = Manifest.from_dict({**draft, "attributes": attributes}).resolve()
    people, bits = 800, SecureBits()
    rows = []
    for person in range(people):
        a = int(person >= people // 4)
        codes = {"a": a, "b": a if person % 10 else 1 - a, "c": person % 4, "s": person % 2}
        rows.append(published.layout.encode(codes, bits))
    records = np.frombuffer(b"".join(rows), np.uint8).reshape(people, -1)
    return OfRecords(Records(published, records))


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (Ordered(attribute="c"), "Mean 1.00 (0.93 to 1.07)"),
        (Answered(attribute="c"), "0: 33 % (30 to 37 %)"),
        (CrossTable(a="a", b="b"), "Largest share, y and v: 68 % (64 to 71 %)"),
        (Conditional(of="b", given="a"), "u: 90 % (85 to 94 %) among x"),
        (
            Conditional(of="b", given="a", reference="x"),
            "u: 80 points less among y than among x (75 to 84)",
        ),
        (Independence(a="a", b="b"), "The two go together"),
        (Independence(a="b", b="s"), TOO_NOISY),
        (Dependencies(), "1 of 6 pairs of questions goes together; 3 are too noisy to tell"),
    ],
)
def test_each_kind_of_result_says_what_it_found(source, query, words):
    assert told(headline_of(result_of(query, source))).startswith(words)


def test_result_that_is_too_noisy_names_no_estimate_of_any_kind(source):
    for query in (Estimates(), Ordered(attribute="c"), CrossTable(a="a", b="b")):
        result = result_of(query, source)
        noisy = Verdict(says=SAYS_NOISY, sentence="", respondents=None, epsilon=None, too_noisy=())
        assert headline_of(replace(result, verdict=noisy)) == TOO_NOISY


def test_result_of_one_question_names_its_largest_share(source):
    result = result_of(Estimates(), source)
    one = replace(result, attributes=[row for row in result.attributes if row.name == "a"])
    assert told(headline_of(one)) == "y: 75 % (72 to 78 %)"


def test_result_of_several_questions_counts_those_that_can_be_told(source):
    result = result_of(Estimates(), source)
    assert headline_of(result) == "3 of 4 questions can be told"
    none = replace(result.verdict, too_noisy=("a", "b", "c", "s"))
    assert headline_of(replace(result, verdict=none)) == TOO_NOISY
    all_told = replace(result.verdict, too_noisy=())
    assert headline_of(replace(result, verdict=all_told)) == "All 4 questions can be told"
