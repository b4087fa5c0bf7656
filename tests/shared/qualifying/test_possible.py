"""Intervals as they are shown: cut to what is possible, and never in what files have."""

from __future__ import annotations

import math

import pytest

from hushpoll_shared.qualifying.possible import (
    CUT,
    DIFFERENCES,
    SHARES,
    cut_ends,
    cut_row,
    cut_words,
    is_cut,
    shown_difference,
)
from hushpoll_shared.queries.changes import LabelChange
from hushpoll_shared.queries.ordered_answers import possible_difference, possible_of
from hushpoll_shared.queries.parts import BoundedEstimate, Score

SCALE = tuple(Score(category=str(one), low=one, high=one + 1) for one in (1.0, 2.0, 3.0))
OTHER = tuple(Score(category=str(one), low=one, high=one) for one in (0.0, 10.0))


@pytest.mark.parametrize(
    ("ends", "possible", "shown"),
    [
        ((-0.3, 1.4), SHARES, (0.0, 1.0)),
        ((0.2, 1.4), SHARES, (0.2, 1.0)),
        ((-0.4, -0.1), SHARES, (-0.4, -0.1)),  # wholly outside
        ((1.1, 1.3), SHARES, (1.1, 1.3)),
        ((-1.5, 1.5), DIFFERENCES, (-1.0, 1.0)),
        ((None, 1.4), SHARES, (None, 1.0)),
        ((-0.1, None), SHARES, (0.0, None)),
        ((-5.0, 5.0), None, (-5.0, 5.0)),
        ((-5.0, 5.0), (0.0, math.inf), (0.0, 5.0)),
    ],
)
def test_interval_is_cut_to_what_is_possible(ends, possible, shown):
    assert cut_ends(*ends, possible) == shown
    assert is_cut(*ends, possible) == (ends != shown)


def test_end_that_differs_by_rounding_is_not_told_as_cut():
    assert not is_cut(-1e-16, 1 + 1e-15, SHARES)
    assert cut_ends(-1e-16, 1 + 1e-15, SHARES) == (0.0, 1.0)


def estimate(lower, upper):
    return BoundedEstimate(value=0.1, standard_error=0.5, lower=lower, upper=upper, bound="bounded")


def test_nested_interval_of_a_difference_is_cut_and_the_row_is_kept():
    row = LabelChange(
        label="good",
        before=estimate(-0.5, 1.5),
        after=estimate(-0.2, 0.9),
        difference=estimate(-1.7, 0.4),
    )
    shown, cut = cut_row(row, DIFFERENCES, "difference")
    assert cut
    assert (shown.difference.lower, shown.difference.upper) == (-1.0, 0.4)
    assert (shown.before, row.difference.lower) == (row.before, -1.7)


def test_a_statistic_can_be_what_its_scale_allows():
    assert possible_of("mean", SCALE) == (1.0, 4.0)
    assert possible_of("at_least", SCALE) == (0.0, 1.0)
    assert possible_of("nps", SCALE) == (-100.0, 100.0)
    assert possible_difference("mean", SCALE, OTHER) == (-9.0, 4.0)
    assert possible_difference("at_least", SCALE, OTHER) == (-1.0, 1.0)
    assert possible_difference("nps", SCALE, SCALE) == (-200.0, 200.0)


def test_sentence_is_there_only_where_an_interval_is_cut():
    assert cut_words([{"lower": 0.1, "upper": 0.9}, {"lower": None, "upper": None}]) == ""
    assert cut_words([{"lower": -0.1, "upper": 0.9}]) == CUT
    assert shown_difference({"value": 0, "lower": -1.4, "upper": 2})["upper"] == 1.0
