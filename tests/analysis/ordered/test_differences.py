"""Differences of ordered statistics between groups, with the noise that groups share."""

import itertools

import numpy as np
import pytest

from hushpoll_analysis import conditional_shares, ordered_summary
from hushpoll_analysis.ordered.scales import scale_of
from hushpoll_analysis.ordered.statistics import Block, correlations
from hushpoll_analysis.ordered.summary import answers_of
from hushpoll_analysis.records.source import OfRecords
from hushpoll_protocols.errors import InvalidParameter
from ordered_survey import falling
from relations_survey import draw, survey

CHANNELS = {
    "fixed": (("GRR", 3, "2"), ("SS", 4, "2")),
    "varying": (("OUE", 3, "2"), ("OLH", 3, "2")),
    "group in clear": (("GRR", 3, "2"), (None, 3, "")),
    "answer in clear": ((None, 3, ""), ("BLH", 2, "1")),
}


def drawn(first, second, n=3000, seed=4):
    groups = falling(second[1], 0.2)
    columns = [share * falling(first[1], 0.3 * place) for place, share in enumerate(groups)]
    return draw(survey(first, second), np.stack(columns, axis=1), n, seed)


def parts(interval):
    return [interval.value, interval.standard_error, interval.lower, interval.upper]


@pytest.mark.parametrize("channel", CHANNELS)
def test_share_of_one_category_differs_as_conditional_shares_do(channel):
    first, second = CHANNELS[channel]
    _, records = drawn(first, second)
    found = ordered_summary(records, "a", given="b", reference="2", threshold=first[1])
    expected = conditional_shares(records, "a", "b", reference="2").differences
    names = [str(one) for one in range(1, second[1] + 1)]
    assert [one.group for one in found.differences] == [name for name in names if name != "2"]
    for one in found.differences:
        place = names.index(one.group)
        assert parts(one.at_least) == pytest.approx(
            parts(expected.interval(place, first[1] - 1)), abs=2e-4
        )
        groups = {group.group: group for group in found.groups}
        assert one.mean.value == pytest.approx(
            groups[one.group].mean.value - groups["2"].mean.value
        )


def test_correlation_is_that_of_all_truths_and_reports():
    questions = ("GRR", 3, "2"), ("GRR", 3, "1")
    codes, records = drawn(*questions, n=400_000)
    joint = np.zeros((3, 3))
    np.add.at(joint, (codes["a"], codes["b"]), 1 / len(records))
    scores = np.array([-1.0, 0.5, 1.0])
    means = scores @ joint / joint.sum(axis=0)
    oracles = [records.published.attribute(name).oracle for name in "ab"]
    gaps = [float(one.p - one.q) for one in oracles]

    def weight(which, reported, category):
        return ((reported == category) - float(oracles[which].q)) / gaps[which]

    # a record of each truth and report: its part of the mean of group b is A U_b
    square, rows = np.zeros((3, 3)), range(3)
    for a, b, x, y in itertools.product(rows, repeat=4):
        chance = joint[a, b]
        for oracle, truth, reported in zip(oracles, (a, b), (x, y), strict=True):
            chance = chance * float(oracle.p if truth == reported else oracle.q)
        each = np.array(
            [
                sum((scores[v] - means[g]) * weight(0, x, v) for v in rows) * weight(1, y, g)
                for g in rows
            ]
        )
        square += chance * np.outer(each, each)
    exact = square[:, 0] / np.sqrt(np.diag(square) * square[0, 0])
    answers = answers_of(OfRecords(records), "a", "b")
    scale = scale_of(records.published.attribute("a"), scores.tolist())
    block = Block.of_means(answers, scale, ["mean"])
    side = block.ratios, block.scores, block.ratios.sets(2.0).value
    assert correlations(side, side, 0)[0, 1:] == pytest.approx(exact[1:], abs=0.02)
    assert exact[1] < -0.2


def test_difference_in_clear_has_the_error_of_two_samples():
    codes, records = drawn((None, 5, ""), (None, 3, ""), n=2000)
    found = ordered_summary(records, "a", given="b", reference="1")
    own, other = (codes["a"][codes["b"] == place] for place in (2, 0))
    difference = found.differences[1].mean
    assert difference.value == pytest.approx(own.mean() - other.mean())
    assert difference.standard_error == pytest.approx(
        (own.var() / len(own) + other.var() / len(other)) ** 0.5, rel=0.02
    )


def test_true_difference_lies_between_least_and_greatest():
    _, records = drawn(("GRR", 3, "4"), ("GRR", 3, "3"))
    found = ordered_summary(
        records, "a", given="b", reference="1", scores=[(0, 5), (5, 20), (20, 21)]
    )
    reference = found.groups[0]
    for group, one in zip(found.groups[1:], found.differences, strict=True):
        assert one.least.value == pytest.approx(group.least.value - reference.greatest.value)
        assert one.greatest.value == pytest.approx(group.greatest.value - reference.least.value)
        assert one.least.value < one.mean.value < one.greatest.value
        assert one.least.lower < one.mean.lower
        assert one.greatest.upper > one.mean.upper
        assert (one.mean.least, one.mean.most) == (-18.0, 18.0)
        assert (one.least.least, one.greatest.most) == (-21.0, 21.0)


def test_intervals_that_hold_together_share_the_level():
    _, records = drawn(("GRR", 3, "4"), ("GRR", 3, "3"))
    asked = {"given": "b", "reference": "1", "threshold": 2, "quantiles": [0.5]}
    found = ordered_summary(records, "a", simultaneous=True, **asked)
    # mean, share and median in three groups, and two differences of mean and share
    assert found.intervals == 3 * 3 + 2 * 2
    alone = ordered_summary(records, "a", confidence=1 - 0.05 / 13, **asked)
    assert found.groups == alone.groups
    assert found.differences == alone.differences
    assert "hold together" in found.to_dict()["intervals"]


def test_difference_to_a_group_that_may_be_empty_has_no_bound():
    records = draw(survey((None, 3, ""), ("GRR", 3, "0.1")), np.full((3, 3), 1 / 9), 60, 10)[1]
    answer = ordered_summary(records, "a", given="b", reference="1").to_dict()
    assert {one["mean"]["bound"] for one in answer["differences"]} == {"no bound"}
    assert all(one["mean"]["says_nothing"] for one in answer["differences"])


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({"reference": "1"}, "there are no groups"),
        ({"given": "b", "reference": "9"}, "no category of b"),
    ],
)
def test_bad_reference_is_refused(asked, words):
    _, records = drawn((None, 3, ""), (None, 3, ""), n=20)
    with pytest.raises(InvalidParameter, match=words) as refused:
        ordered_summary(records, "a", **asked)
    assert refused.value.field == "reference"
