"""The words beside a result speak of the intervals that stand there."""

import pytest

from hushpoll_shared.queries.changes import Change
from hushpoll_shared.queries.independence import Independence
from hushpoll_shared.querying.result_text import text_of_query

SHARE = {"value": 0.5, "standard_error": 0.1, "lower": 0.3, "upper": 0.7, "bound": "bounded"}
SIDE = {"survey": "sample", "version": 1, "digest": "0" * 64, "attribute": "age", "n": 90}
change_text = text_of_query(Change)
independence_text = text_of_query(Independence)


def changes(*, simultaneous):
    row = {"before": SHARE, "after": SHARE, "difference": SHARE}
    return {
        "before": SIDE,
        "after": SIDE,
        "confidence": 0.95,
        "simultaneous": simultaneous,
        "intervals": "All hold together.",
        "assumption": "",
        "epsilon_of_both": {"attribute": "1", "surveys": "2"},
        "changes": [{"label": label, **row} for label in ("yes", "no")],
    }


def test_a_change_shows_one_interval_per_line():
    assert "of these 2 at 95 %" in change_text(changes(simultaneous=False))
    assert "All hold together." in change_text(changes(simultaneous=True))


@pytest.mark.parametrize(("degrees", "words"), [(1, "1 degree of"), (2, "2 degrees of")])
def test_a_test_of_two_yes_or_no_questions_has_one_degree_of_freedom(degrees, words):
    answer = {
        "n": 90,
        "a": "gender",
        "b": "income",
        "conclusion": "no dependence found",
        "p_value": 0.3,
        "statistic": 1.0,
        "degrees": degrees,
        "alpha": 0.05,
        "power": 0.8,
        "smallest_detectable": 0.1,
        "largest_detectable": 0.1,
        "largest_possible": 1.0,
        "smallest_expected": None,
    }
    # A line may end between two of the words.
    assert f"with {words} freedom" in " ".join(independence_text(answer).split())
