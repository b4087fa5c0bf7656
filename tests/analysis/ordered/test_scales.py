"""Scales: scores from labels or from the analyst, and what is refused."""

import pytest

from hushpoll_analysis.ordered.scales import is_ordered, scale_of
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.queries.parts import Score
from ordered_survey import ordered


def attribute(*categories, missing=False):
    return ordered("GRR", list(categories), "1", missing=missing).attribute("a")


def test_numbers_and_intervals_are_read_from_labels():
    scale = scale_of(attribute("0", "1-4", "5 to 9", "10–14", "15.5", missing=True))
    assert scale.low.tolist() == [0, 1, 5, 10, 15.5]
    assert scale.high.tolist() == [0, 4, 9, 14, 15.5]
    assert scale.middle.tolist() == [0, 2.5, 7, 12, 15.5]
    assert scale.has_intervals
    assert scale.rows()[1] == Score(category="1-4", low=1.0, high=4.0)


def test_words_ask_for_as_many_scores_as_there_are_answers():
    with pytest.raises(InvalidParameter, match=r"give 2 scores \(--scores .* none for 'no answer'"):
        scale_of(attribute("never", "often", missing=True))


def test_negative_numbers_are_no_intervals():
    scale = scale_of(attribute("-2", "-1", "+1"))
    assert scale.low.tolist() == scale.high.tolist() == [-2, -1, 1]


def test_words_have_no_scale_unless_the_analyst_gives_one():
    words = attribute("never", "often", "always")
    assert not is_ordered(words)
    assert scale_of(words, [2, 1, 1]).ranks.tolist() == [1, 0, 0]
    assert scale_of(words, [2, 1, 1]).of_level(0) == ("often or always", 1.0, 1.0)


@pytest.mark.parametrize(
    ("scores", "words"),
    [
        (None, "'never', which is no number"),
        ([1, 2], "2 entries, and a has 3 categories"),
        ([1, 2, float("inf")], "scores[2] is inf to inf"),
        ([1, (3, 2), 4], "scores[1] is 3 to 2"),
        ([(0, 2), (1, 3), 4], "overlap"),
        ([(0, 2), 1, 4], "overlap"),
        ([1, 1, 1], "at least two scores"),
    ],
)
def test_bad_scores_are_refused_with_the_reason(scores, words):
    with pytest.raises(InvalidParameter, match=None) as refused:
        scale_of(attribute("never", "often", "always"), scores)
    assert refused.value.field == "scores"
    assert words in str(refused.value)


def test_threshold_where_intervals_meet_belongs_to_the_upper_one():
    scale = scale_of(attribute("a", "b", "c"), [(18, 25), (25, 35), 50])
    assert scale.at_least(25).tolist() == [False, True, True]
    assert scale.at_least(40).tolist() == [False, False, True]
    assert scale.at_least(50).tolist() == [False, False, True]


@pytest.mark.parametrize(
    ("threshold", "words"),
    [(18, "outside (18, 50]"), (50.5, "outside"), (float("nan"), "outside"), (30, "inside of 'b'")],
)
def test_bad_threshold_is_refused_with_the_interval(threshold, words):
    scale = scale_of(attribute("a", "b", "c"), [(18, 25), (25, 35), 50])
    with pytest.raises(InvalidParameter) as refused:
        scale.at_least(threshold)
    assert refused.value.field == "threshold"
    assert words in str(refused.value)


def test_net_promoter_scale_is_zero_to_ten():
    eleven = [str(score) for score in range(10, -1, -1)]
    assert scale_of(attribute(*eleven)).is_net_promoter
    assert not scale_of(attribute(*eleven[:-1])).is_net_promoter
    assert not scale_of(attribute("a", "b"), [0, 10]).is_net_promoter


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        (["500", "750", "1.000", "1.250"], "'1.000', whose point may mark decimals or thousands"),
        (["1.000-1.999", "2.000-2.999"], "'1.000-1.999', whose point may mark"),
        (["1.000 to 4.999", "100.000 to 499.999"], "'1.000 to 4.999', whose point may mark"),
        (["1.5", "2.000"], "'2.000', whose point"),
        (["-1.000", "0", "1.000"], "'-1.000', whose point"),
        (["1.000", "1.000.000"], "'1.000.000', which is no number"),
        (["2024-10", "2024-11"], "'2024-10', which does not go from a lower to a higher number"),
        (["11-2024", "12-2024"], "overlap"),
        (["2009-10", "2010-11"], "'2009-10', which does not go"),
        (["01067", "10115"], "'01067', whose leading zero may belong to a code or a date"),
        (["01-02", "03-04"], "'01-02', whose leading zero"),
        (["1,0", "1,3"], "'1,0', which is no number"),
        (["1 000", "2 000"], "'1 000', which is no number"),
        (["1", "1.0", "2"], "'1' and '1.0', which spell the same number"),
        (["1", "+1", "2"], "'1' and '+1', which spell the same number"),
        (["1e3", "2e3"], "'1e3', which is no number"),
        (["١", "٢"], "'١', which is no number"),
    ],
)
def test_labels_that_not_everybody_reads_alike_ask_for_scores(labels, words):
    with pytest.raises(InvalidParameter) as refused:
        scale_of(attribute(*labels))
    assert refused.value.field == "scores"
    assert words in str(refused.value)
    assert not is_ordered(attribute(*labels))
    assert scale_of(attribute(*labels), range(len(labels))).low.tolist() == list(range(len(labels)))


@pytest.mark.parametrize(
    ("labels", "low"),
    [
        (["0.125", "0.250", "1.000"], [0.125, 0.25, 1]),
        (["0.5", "1.25", "2.5"], [0.5, 1.25, 2.5]),
        (["1000", "1250.5"], [1000, 1250.5]),
        (["0.001-0.999", "1.000-1.999"], [0.001, 1]),
        (["2022-2023", "2023-2024"], [2022, 2023]),
        (["1-1999", "2000-3999"], [1, 2000]),
        (["-5--1", "0", "1-5"], [-5, 0, 1]),
    ],
)
def test_labels_with_one_reading_are_numbers(labels, low):
    assert scale_of(attribute(*labels)).low.tolist() == low
