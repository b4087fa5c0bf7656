"""Shares among those who answered: the truth in clear, sets without a bound, and refusals."""

import numpy as np
import pytest

from hushpoll_analysis import Records, answered_shares, frequencies
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile, wilson_limits
from ordered_survey import MISSING, falling, ordered
from relations_survey import draw


def test_shares_in_clear_are_counted_among_answers_with_wilson_s_interval():
    codes, records = draw(ordered(None, 3, missing=True), falling(4), 300, 1)
    (found,) = answered_shares(records)
    answers = np.bincount(codes["a"], minlength=4)[:3].astype(float)
    people = np.full(3, answers.sum())
    assert [share.value for share in found.shares] == pytest.approx(list(answers / people))
    lower, upper = wilson_limits(answers, people, normal_quantile(0.95))
    # the limits differ from Wilson's by the correction for skewness alone
    assert [share.lower for share in found.shares] == pytest.approx(list(lower), abs=0.01)
    assert [share.upper for share in found.shares] == pytest.approx(list(upper), abs=0.01)
    assert found.answered.value == pytest.approx(people[0] / 300)
    assert (found.missing, found.categories) == (MISSING, ("0", "1", "2"))


@pytest.mark.parametrize("protocol", ["GRR", "OUE", "SS", "BLH"])
def test_shares_are_ratios_of_estimates_and_sum_to_one(protocol):
    records = draw(ordered(protocol, 4, "3", missing=True), falling(5), 1500, 2)[1]
    (found,) = answered_shares(records, confidence=0.9)
    estimated = frequencies(records)[0].frequency
    values = [share.value for share in found.shares]
    assert values == pytest.approx(list(estimated[:4] / estimated[:4].sum()))
    assert sum(values) == pytest.approx(1)
    assert all(share.lower < share.value < share.upper for share in found.shares)


def test_set_has_no_bound_where_nobody_may_have_answered():
    shares = np.append(falling(3) * 0.02, 0.98)
    (found,) = answered_shares(draw(ordered("GRR", 3, "0.5", missing=True), shares, 100, 3)[1])
    body = found.to_dict()
    assert {share["bound"] for share in body["categories"]} == {"no bound"}
    assert all(share["says_nothing"] for share in body["categories"])
    assert body["answered"]["bound"] == "bounded"


def test_set_that_holds_every_share_says_nothing():
    shares = np.append(falling(2) * 0.5, 0.5)
    found = [
        answered_shares(draw(ordered("GRR", 2, "0.7", missing=True), shares, 250, seed)[1])[0]
        for seed in range(12)
    ]
    wide = [each.shares[0] for each in found if each.shares[0].bound == "bounded"]
    assert any(share.says_nothing for share in wide)
    assert all(share.says_nothing == (share.lower <= 0 and share.upper >= 1) for share in wide)


@pytest.mark.parametrize(
    ("missing", "options", "field"),
    [
        (True, {"attributes": ["x"]}, "attribute"),
        (False, {"attributes": ["a"]}, "attribute"),
        (False, {}, "attribute"),
        (True, {"confidence": 0.0}, "confidence"),
    ],
)
def test_bad_question_is_refused_by_field(missing, options, field):
    records = draw(ordered("GRR", 3, "1", missing=missing), falling(3 + missing), 10, 4)[1]
    with pytest.raises(InvalidParameter) as refused:
        answered_shares(records, **options)
    assert refused.value.field == field


def test_no_records_give_no_shares():
    published = ordered("GRR", 3, "1", missing=True)
    none = Records(published, np.empty((0, published.layout.record_size), np.uint8))
    with pytest.raises(InvalidParameter) as refused:
        answered_shares(none)
    assert refused.value.field == "records"
