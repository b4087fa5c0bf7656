"""Conditional shares: the truth in clear, Wilson's interval there, and coverage through noise."""

import numpy as np
import pytest

from hushpoll_analysis import conditional_shares
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile, wilson_limits
from relations_survey import draw, survey

JOINT = np.array([[0.30, 0.02, 0.08], [0.10, 0.15, 0.35]])


def test_clear_attributes_give_counted_shares_with_wilson_s_interval():
    published = survey((None, 2, "1"), (None, 3, "1"))
    codes, records = draw(published, JOINT, 300, 1)
    shares = conditional_shares(records, "a", "b").shares
    counted = np.zeros((3, 2))
    np.add.at(counted, (codes["b"], codes["a"]), 1)
    people = counted.sum(axis=1, keepdims=True)
    assert shares.value == pytest.approx(counted / people, abs=1e-12)
    wilson = wilson_limits(counted, np.broadcast_to(people, counted.shape), normal_quantile(0.95))
    # the limits differ from Wilson's by the correction for skewness alone
    assert np.abs(shares.lower - wilson[0]).max() < 0.03
    assert np.abs(shares.upper - wilson[1]).max() < 0.03


def test_shares_of_a_group_sum_to_one_and_match_the_cross_table():
    published = survey(("OUE", 2, "1"), ("GRR", 3, "3"))
    _, records = draw(published, JOINT, 4000, 2)
    found = conditional_shares(records, "a", "b")
    assert found.shares.value.sum(axis=1) == pytest.approx(np.ones(3), abs=1e-9)
    assert found.groups == ("1", "2", "3")
    assert found.categories == ("1", "2")


def test_differences_to_a_reference_are_differences_of_shares():
    published = survey(("OUE", 2, "2"), ("SS", 3, "3"))
    _, records = draw(published, JOINT, 4000, 3)
    found = conditional_shares(records, "a", "b", reference="2")
    differences, shares = found.differences, found.shares
    assert differences.value == pytest.approx(shares.value - shares.value[1], abs=1e-12)
    assert differences.lower[1].tolist() == differences.upper[1].tolist() == [0.0, 0.0]
    assert (differences.lower[[0, 2]] < differences.value[[0, 2]]).all()
    assert [row["group"] for row in found.to_dict()["differences"]] == ["1", "1", "3", "3"]
    assert found.intervals == 6 + 4


def test_group_that_may_be_empty_has_no_bound():
    published = survey((None, 2, "1"), ("GRR", 3, "0.1"))
    _, records = draw(published, JOINT, 60, 4)
    found = conditional_shares(records, "a", "b", reference="1").to_dict()
    assert {row["bound"] for row in found["shares"]} == {"no bound"}
    assert {row["value"] for row in found["shares"] + found["differences"]} == {None}


@pytest.mark.parametrize(
    ("first", "second", "n"),
    [
        (("OUE", 2, "1"), ("GRR", 3, "2"), 4000),
        ((None, 2, "1"), ("OLH", 3, "2"), 2000),
        (("SS", 2, "2"), (None, 3, "1"), 300),
    ],
)
def test_sets_cover_shares_and_differences(first, second, n):
    published = survey(first, second)
    truth = (JOINT / JOINT.sum(axis=0)).T
    covered, surveys = np.zeros((2, 3, 2)), 100
    for seed in range(surveys):
        _, records = draw(published, JOINT, n, seed)
        found = conditional_shares(records, "a", "b", reference="3")
        for number, (sets, value) in enumerate(
            ((found.shares, truth), (found.differences, truth - truth[2]))
        ):
            covered[number] += (sets.lower <= value) & (value <= sets.upper)
    share = covered / surveys
    # four standard errors of a share below .95, and the mean over all cells nearer
    assert share.min() > 0.95 - 4 * (0.95 * 0.05 / surveys) ** 0.5
    assert share.mean() > 0.93


def test_simultaneous_sets_hold_the_single_ones():
    published = survey(("OUE", 2, "1"), ("GRR", 3, "3"))
    _, records = draw(published, JOINT, 4000, 5)
    alone = conditional_shares(records, "a", "b").shares
    together = conditional_shares(records, "a", "b", simultaneous=True).shares
    assert (together.lower < alone.lower).all()
    assert (together.upper > alone.upper).all()


@pytest.mark.parametrize(
    ("arguments", "options", "field"),
    [
        (("a", "a"), {}, "given"),
        (("a", "x"), {}, "given"),
        (("a", "b"), {"reference": "9"}, "reference"),
        (("a", "b"), {"confidence": 1.0}, "confidence"),
        (("a", "b"), {"confidence": 1.0, "simultaneous": True}, "confidence"),
    ],
)
def test_bad_question_is_refused_by_field(arguments, options, field):
    published = survey(("OUE", 2, "1"), ("GRR", 3, "3"))
    _, records = draw(published, JOINT, 20, 6)
    with pytest.raises(InvalidParameter) as refused:
        conditional_shares(records, *arguments, **options)
    assert refused.value.field == field
