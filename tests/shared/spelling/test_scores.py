"""Scores and quantiles as text: what is read, and what is refused."""

import pytest

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.scores import parse_quantiles, parse_scores, spelled_scores


def test_scores_are_read_from_text_and_spelled_the_same():
    scores = [1.0, 2.5, (-3.0, 4.0), 1e9]
    assert parse_scores("1, 2.5,-3:4,1000000000") == scores
    assert spelled_scores(scores) == "1,2.5,-3:4,1000000000"


@pytest.mark.parametrize("text", ["", "1,,2", "1:2:3", "x", "nan", "1e3"])
def test_bad_text_of_scores_is_refused(text):
    with pytest.raises(InvalidParameter) as refused:
        parse_scores(text)
    assert refused.value.field == "scores"


def test_quantiles_are_read_from_text():
    assert parse_quantiles("0.25, 0.5") == (0.25, 0.5)


@pytest.mark.parametrize("text", ["", "0.5,", "half", "inf"])
def test_bad_text_of_quantiles_is_refused(text):
    with pytest.raises(InvalidParameter) as refused:
        parse_quantiles(text)
    assert refused.value.field == "quantiles"
