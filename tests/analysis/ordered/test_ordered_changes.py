"""Change of means, shares at a threshold and NPS between two sets of records."""

import numpy as np
import pytest

from hushpoll_analysis import change, ordered_change, ordered_summary
from hushpoll_protocols.errors import InvalidParameter
from ordered_survey import falling, ordered
from relations_survey import draw


def waves(protocol, categories, epsilon, n=2000, **more):
    k = categories if isinstance(categories, int) else len(categories)
    rows = k + bool(more.get("missing"))
    published = ordered(protocol, categories, epsilon, **more)
    return [draw(published, falling(rows, rate), n, [3, rows, place])[1]
            for place, rate in enumerate((0.3, 0.1))]  # fmt: skip


def parts(interval):
    return [interval.value, interval.standard_error, interval.lower, interval.upper]


@pytest.mark.parametrize("protocol", ["GRR", "OUE", None])
def test_share_of_one_category_changes_as_shares_do(protocol):
    before, after = waves(protocol, 4, "2" if protocol else "")
    found = ordered_change(before, after, "a", threshold=3)
    expected = change(before, after, "a").shares["3"]
    for one, other in zip(found.statistics["at_least"], expected, strict=True):
        assert parts(one) == pytest.approx(parts(other), abs=2e-4)
    old, new, difference = found.statistics["mean"]
    assert old == ordered_summary(before, "a").groups[0].mean
    assert difference.value == pytest.approx(new.value - old.value)
    assert difference.standard_error == pytest.approx(
        np.hypot(old.standard_error, new.standard_error)
    )
    assert difference.lower < difference.value < difference.upper


def test_answer_names_both_sides_and_what_a_person_in_both_has_spent():
    before, after = waves("GRR", 11, "2", missing=True)
    answer = ordered_change(before, after, "a", threshold=9, confidence=0.9).to_dict()
    assert [row["statistic"] for row in answer["changes"]] == ["mean", "at_least", "nps"]
    assert answer["epsilon_of_both"] == {"attribute": "4", "surveys": "4"}
    assert (answer["before"]["n"], answer["after"]["attribute"]) == (2000, "a")
    assert len(answer["before"]["scale"]) == 11
    assert "of these 9 at 90 %" in answer["intervals"]
    assert "independent" in answer["assumption"]


def test_scales_may_differ_and_ends_are_crossed():
    before = waves("GRR", ["0-9", "10-19", "20-29"], "4")[0]
    after = waves("GRR", 30, "4")[1]
    found = ordered_change(before, after, "a", threshold=10).statistics
    assert list(found) == ["mean", "least", "greatest", "at_least"]
    assert found["least"][2].value == pytest.approx(
        found["least"][1].value - found["greatest"][0].value
    )
    assert found["least"][1].value == pytest.approx(found["greatest"][1].value)
    scores = [5, 15, 25]
    mean = ordered_change(before, after, "a", before_scores=scores).statistics["mean"]
    assert mean[0].value == pytest.approx(found["mean"][0].value, abs=1)


def test_differences_that_hold_together_share_the_level():
    before, after = waves("GRR", 11, "2")
    together = ordered_change(before, after, "a", threshold=8, simultaneous=True)
    alone = ordered_change(before, after, "a", threshold=8, confidence=1 - 0.05 / 3)
    assert together.statistics == alone.statistics
    assert "hold together" in together.to_dict()["intervals"]


def test_change_where_nobody_may_have_answered_has_no_bound():
    published = ordered("GRR", 2, "0.1", missing=True)
    before, after = (draw(published, np.array([0.05, 0.05, 0.9]), 40, n)[1] for n in (1, 2))
    difference = ordered_change(before, after, "a").to_dict()["changes"][0]["difference"]
    assert (difference["bound"], difference["value"]) == ("no bound", None)


@pytest.mark.parametrize(
    ("asked", "field"),
    [
        ({"threshold": 4}, "threshold"),
        ({"scores": [1, 2]}, "scores"),
        ({"before_scores": [1, 2, 3, 4]}, "since_scores"),
        ({"before_scores": [1, 2, float("inf")]}, "since_scores"),
        ({"before_attribute": "x"}, "since_attribute"),
        ({"confidence": 1}, "confidence"),
    ],
)
def test_bad_comparison_is_refused(asked, field):
    before, after = waves("GRR", 3, "2", n=20)
    with pytest.raises(InvalidParameter) as refused:
        ordered_change(before, after, "a", **asked)
    assert refused.value.field == field


def test_answer_says_that_only_differences_hold_together():
    before, after = waves("GRR", 3, "2", n=200)
    for answer in (
        ordered_change(before, after, "a", simultaneous=True).to_dict(),
        change(before, after, "a", simultaneous=True).to_dict(),
    ):
        assert "All of the differences hold together" in answer["intervals"]
        assert "one of the two sides holds by itself" in answer["intervals"]
