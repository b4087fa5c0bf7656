"""Ordered answers of the respondents with one answer to a perturbed question."""

from dataclasses import replace

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.ordered.summary import N_COUNTS_ALL
from hushpoll_analysis.query_results import result_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.queries.estimates import Estimates
from hushpoll_shared.queries.ordered_answers import Ordered
from hushpoll_shared.wire.batch import encode_many


@pytest.fixture(scope="module")
def source():
    rng = np.random.default_rng(8)
    published = Manifest.from_dict(
        {
            "name": "work",
            "version": 1,
            "title": "Work",
            "epsilon": "6",
            "split": "uniform",
            "protocol": "GRR",
            "attributes": [
                {"name": "hours", "role": "sensitive", "categories": ["1", "2", "3", "4"]},
                {"name": "union", "role": "sensitive", "categories": ["no", "yes", "was"]},
                {"name": "region", "role": "plain", "categories": ["North", "South"]},
            ],
        }
    ).resolve()
    union, region = rng.integers(0, 3, 4000), rng.integers(0, 2, 4000)
    hours = np.minimum(rng.integers(0, 3, 4000) + (union == 1), 3)
    answers = {"hours": hours, "union": union, "region": region}
    return OfRecords(Records(published, encode_many(published, answers, rng)))


@pytest.mark.parametrize("more", [{}, {"region": ("North",)}])
def test_it_is_that_group_of_given(source, more):
    query = Ordered(attribute="hours", threshold=3.0)
    inside = result_of(replace(query, where={"union": ("yes",), **more}), source)
    groups = result_of(replace(query, given="union", where=more or None), source).groups
    (group,) = inside.groups
    assert group == replace(groups[1], group=None)
    assert (inside.given, inside.where["union"]) == (None, ("yes",))
    assert inside.intervals.endswith(N_COUNTS_ALL)
    assert group.mean.lower < 3.0 < group.mean.upper  # the mean of 2, 3 and 4


def test_its_verdict_is_about_the_group_and_not_about_everybody(source):
    query = Ordered(attribute="hours")
    inside = replace(query, where={"union": ("yes",)})
    few = OfRecords(source.given.take(np.arange(4000) < 30))
    assert not result_of(query, few).verdict.noisy
    assert result_of(inside, few).verdict.noisy
    assert not result_of(inside, source).verdict.noisy


def test_intervals_that_hold_together_are_those_of_one_group(source):
    query = Ordered(attribute="hours", simultaneous=True)
    (group,) = result_of(replace(query, where={"union": ("yes",)}), source).groups
    wider = result_of(replace(query, given="union"), source).groups[1]
    assert group.mean.value == wider.mean.value
    assert wider.mean.lower < group.mean.lower
    assert group.mean.upper < wider.mean.upper


@pytest.mark.parametrize(
    ("query", "words"),
    [
        (Ordered(attribute="hours", where={"union": ("yes", "no")}), "2 categories of union"),
        (
            Ordered(attribute="hours", given="region", where={"union": ("yes",)}),
            "leave `given` or the condition out",
        ),
        (Estimates(where={"union": ("yes",)}), "`given`: conditional-shares, ordered-answers"),
    ],
)
def test_what_has_no_law_is_refused_with_what_to_ask_instead(source, query, words):
    with pytest.raises(InvalidParameter, match="where has") as refused:
        result_of(query, source)
    assert words in str(refused.value)
    assert refused.value.field == "where"
