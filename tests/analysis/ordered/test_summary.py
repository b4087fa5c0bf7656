"""Means, NPS, shares and quantiles: the truth in clear, agreement with estimates, and refusals."""

import numpy as np
import pytest

from hushpoll_analysis import (
    Records,
    conditional_shares,
    count,
    cross_table,
    frequencies,
    ordered_summary,
)
from hushpoll_analysis.estimates.set_shares import group_share
from hushpoll_protocols.errors import InvalidParameter
from ordered_survey import falling, ordered
from relations_survey import draw, survey

PROTOCOLS = [("OUE", "1"), ("GRR", "2"), ("SS", "3"), ("OLH", "2"), (None, "")]


def everybody(records, **options):
    (group,) = ordered_summary(records, "a", **options).groups
    return group


def limits(interval):
    return interval.value, interval.lower, interval.upper


@pytest.mark.parametrize(("protocol", "epsilon"), PROTOCOLS)
def test_share_at_a_threshold_is_the_sum_of_estimates_with_their_interval(protocol, epsilon):
    published = ordered(protocol, 5, epsilon)
    _, records = draw(published, falling(5), 600, 1)
    share = everybody(records, threshold=2.5).at_least
    support = count(records).support["a"]
    expected = group_share(published.attribute("a"), support, 600, [3, 4], confidence=0.95)
    assert limits(share) == pytest.approx(limits(expected), abs=1e-4)
    assert share.standard_error == pytest.approx(expected.standard_error)


@pytest.mark.parametrize(("protocol", "epsilon"), PROTOCOLS)
def test_mean_of_scores_zero_and_one_is_a_share(protocol, epsilon):
    _, records = draw(ordered(protocol, 3, epsilon), falling(3), 500, 2)
    group = everybody(records, scores=[0, 0, 1], threshold=1)
    # one more respondent, half at either end, is added to the moments of a mean
    assert group.mean.value == pytest.approx(group.at_least.value)
    assert group.mean.lower == pytest.approx(group.at_least.lower, abs=0.004)
    assert group.mean.upper == pytest.approx(group.at_least.upper, abs=0.004)


@pytest.mark.parametrize(("protocol", "epsilon"), PROTOCOLS)
def test_mean_is_that_of_the_estimates_and_moves_with_the_scores(protocol, epsilon):
    published = ordered(protocol, 5, epsilon)
    _, records = draw(published, falling(5), 600, 3)
    mean = everybody(records).mean
    estimated = frequencies(records)[0].frequency
    assert mean.value == pytest.approx(float(np.arange(5) @ estimated))
    moved = everybody(records, scores=[1000 - 2.0 * score for score in range(5)]).mean
    assert limits(moved) == pytest.approx(
        (1000 - 2 * mean.value, 1000 - 2 * mean.upper, 1000 - 2 * mean.lower)
    )
    assert moved.standard_error == pytest.approx(2 * mean.standard_error)
    assert (mean.least, mean.most) == (0, 4)


def test_mean_in_clear_has_the_standard_error_of_a_mean():
    codes, records = draw(ordered(None, 11), falling(11), 400, 4)
    mean = everybody(records).mean
    assert mean.value == pytest.approx(codes["a"].mean())
    # the added respondent widens it a little
    assert mean.standard_error == pytest.approx(codes["a"].std() / 20, rel=0.01)


def test_mean_is_no_point_where_all_have_given_the_same_answer():
    records = draw(ordered(None, 11), np.eye(11)[5], 20, 5)[1]
    mean = everybody(records).mean
    assert mean.lower < 4.6 < 5 < 5.4 < mean.upper


def test_net_promoter_score_is_promoters_minus_detractors_in_percent():
    codes, records = draw(ordered(None, 11), falling(11, -0.2), 300, 6)
    nps = everybody(records).nps
    expected = 100 * ((codes["a"] >= 9).mean() - (codes["a"] <= 6).mean())
    assert nps.value == pytest.approx(expected)
    assert everybody(draw(ordered(None, 10), falling(10), 50, 6)[1]).nps is None


def test_means_at_the_ends_of_intervals_stand_apart_from_sampling():
    codes, records = draw(ordered(None, ["18-24", "25-34", "35-49"]), falling(3), 300, 7)
    group = everybody(records)
    for part, ends in (
        (group.least, [18, 25, 35]),
        (group.mean, [21, 29.5, 42]),
        (group.greatest, [24, 34, 49]),
    ):
        assert part.value == pytest.approx(np.array(ends)[codes["a"]].mean())
    assert group.least.value < group.mean.lower < group.mean.upper < group.greatest.value


def test_mean_leaves_skipped_answers_out():
    codes, records = draw(ordered(None, 4, missing=True), falling(5), 300, 8)
    answered = codes["a"][codes["a"] < 4]
    group = everybody(records, threshold=2)
    assert group.mean.value == pytest.approx(answered.mean())
    assert group.mean.standard_error == pytest.approx(
        answered.std() / len(answered) ** 0.5, rel=0.02
    )
    assert group.at_least.value == pytest.approx((answered >= 2).mean())
    assert group.quantiles[1].value == np.sort(answered)[(len(answered) + 1) // 2 - 1]


def test_groups_agree_with_conditional_shares_and_the_cross_table():
    published = survey(("OUE", 3, "2"), ("GRR", 3, "2"))
    joint = np.outer(falling(3), falling(3, 0.4))
    records = draw(published, joint, 3000, 9)[1]
    found = ordered_summary(records, "a", given="b", threshold=3, scores=[1, 2, 3])
    shares = conditional_shares(records, "a", "b").shares
    cells = cross_table(records, "a", "b").frequency
    assert [group.group for group in found.groups] == ["1", "2", "3"]
    for place, group in enumerate(found.groups):
        expected = shares.interval(place, 2)
        assert limits(group.at_least) == pytest.approx(limits(expected), abs=1e-4)
        assert group.mean.value == pytest.approx(
            float(np.arange(1, 4) @ cells[:, place] / cells[:, place].sum())
        )
    assert found.intervals == 3 * (2 + 3)


def test_group_that_may_be_empty_has_no_bound():
    published = survey((None, 3, "1"), ("GRR", 3, "0.1"))
    records = draw(published, np.outer(falling(3), falling(3)), 60, 10)[1]
    group = ordered_summary(records, "a", given="b").to_dict()["groups"][0]
    assert (group["mean"]["bound"], group["mean"]["says_nothing"]) == ("no bound", True)
    assert group["mean"]["value"] is None
    assert {quantile["bound"] for quantile in group["quantiles"]} == {"no bound"}


def test_quantiles_in_clear_are_those_of_the_answers():
    codes, records = draw(ordered(None, 30), falling(30), 500, 11)
    answers = np.sort(codes["a"])
    for quantile in everybody(records, quantiles=[0.1, 0.5, 0.9]).quantiles:
        assert quantile.value == answers[int(np.ceil(500 * quantile.q)) - 1]
        assert quantile.lower <= quantile.value <= quantile.upper
        assert (quantile.lowest, quantile.highest) == (
            f"{quantile.lower:g}", f"{quantile.upper:g}",
        )  # fmt: skip
        # within two standard errors of q on the scale of shares, to a category
        spread = 2.1 * (quantile.q * (1 - quantile.q) / 500) ** 0.5
        inside = [np.mean(answers <= end) for end in (quantile.lower, quantile.upper - 1)]
        assert inside[0] >= quantile.q - spread
        assert inside[1] <= quantile.q + spread


def test_linear_interpolation_spreads_an_interval_evenly():
    categories = ["0-10", "10-20", "20-30", "30-40"]
    records = draw(ordered("GRR", categories, "6"), np.full(4, 0.25), 2000, 12)[1]
    (plain,) = everybody(records, quantiles=[0.4]).quantiles
    (spread,) = everybody(records, quantiles=[0.4], interpolation="linear").quantiles
    assert (plain.value, plain.category) == (15.0, "10-20")
    assert spread.category == "10-20"
    assert spread.value == pytest.approx(16, abs=1.5)
    assert 10 < spread.lower < spread.value < spread.upper < 20


def test_many_categories_and_noise_keep_quantiles_in_order():
    records = draw(ordered("OLH", 200, "1"), falling(200, 0.01), 3000, 13)[1]
    found = everybody(records, quantiles=[0.25, 0.5, 0.75]).quantiles
    values = [quantile.value for quantile in found]
    assert values == sorted(values)
    assert all(quantile.lower < quantile.value < quantile.upper for quantile in found)


def test_answer_is_json_with_the_scale_that_was_used():
    records = draw(ordered("OUE", ["no", "yes"], "2"), falling(2), 100, 14)[1]
    answer = ordered_summary(records, "a", scores=[0, 1], confidence=0.8).to_dict()
    assert answer["scale"][1] == {"category": "yes", "low": 1.0, "high": 1.0}
    assert (answer["confidence"], answer["n"], answer["given"]) == (0.8, 100, None)
    assert answer["groups"][0]["nps"] is None
    assert "standard_error" not in answer["groups"][0]["quantiles"][0]


@pytest.mark.parametrize(
    ("options", "field"),
    [
        ({"scores": [1]}, "scores"),
        ({"quantiles": [0.0]}, "quantiles"),
        ({"quantiles": [1.0]}, "quantiles"),
        ({"threshold": 0}, "threshold"),
        ({"given": "a"}, "given"),
        ({"given": "x"}, "given"),
        ({"interpolation": "linear"}, "interpolation"),
        ({"interpolation": "x"}, "interpolation"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_bad_question_is_refused_by_field(options, field):
    records = draw(ordered("OUE", 3, "1"), falling(3), 10, 15)[1]
    with pytest.raises(InvalidParameter) as refused:
        ordered_summary(records, "a", **options)
    assert refused.value.field == field


@pytest.mark.parametrize("given", [None, "b"])
def test_no_records_give_no_summary(given):
    published = survey(("OUE", 3, "1"), ("GRR", 3, "1"))
    none = Records(published, np.empty((0, published.layout.record_size), np.uint8))
    with pytest.raises(InvalidParameter) as refused:
        ordered_summary(none, "a", given=given)
    assert refused.value.field == "records"


def test_limits_of_a_quantile_of_intervals_are_the_outer_ends():
    categories = ["0-10", "10-30", "30-60", "60-120"]
    records = draw(ordered(None, categories), np.array([0.3, 0.4, 0.2, 0.1]), 20_000, 14)[1]
    (median,) = everybody(records, quantiles=[0.5]).quantiles
    assert (median.category, median.value) == ("10-30", 20.0)
    assert (median.lower, median.upper) == (10.0, 30.0)
