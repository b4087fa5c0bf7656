"""Change between versions: counted in clear, covered through noise, refused where labels differ."""

import numpy as np
import pytest

from hushpoll_analysis import change
from hushpoll_protocols.errors import InvalidParameter
from relations_survey import draw, survey

BEFORE, AFTER = np.array([0.2, 0.3, 0.5]), np.array([0.3, 0.3, 0.4])


def test_change_in_clear_is_the_difference_of_counted_shares():
    old, new = survey((None, 3, "")), survey((None, 3, ""), version=2)
    codes, before = draw(old, BEFORE, 300, 1)
    later, after = draw(new, AFTER, 200, 2)
    found = change(before, after, "a")
    for code, label in enumerate(["1", "2", "3"]):
        expected = (later["a"] == code).mean() - (codes["a"] == code).mean()
        assert found.shares[label][2].value == pytest.approx(expected)
    document = found.to_dict()
    assert (document["before"]["version"], document["after"]["version"]) == (1, 2)
    assert (document["before"]["n"], document["after"]["n"]) == (300, 200)
    assert document["epsilon_of_both"] == {"attribute": "0", "surveys": "2"}


def test_a_person_who_answered_both_has_spent_both_epsilons():
    old, new = survey(("OUE", 3, "1.5")), survey(("GRR", 3, "2"), (None, 2, ""), version=2)
    _, before = draw(old, BEFORE, 300, 1)
    _, after = draw(new, np.outer(AFTER, [0.5, 0.5]), 300, 2)
    spent = change(before, after, "a").to_dict()["epsilon_of_both"]
    assert spent == {"attribute": "3.5", "surveys": "3.5"}


def test_mapped_categories_are_added_up():
    old, new = survey(("OUE", 3, "2")), survey((None, 2, ""), (None, 3, ""))
    _, before = draw(old, BEFORE, 4000, 3)
    _, after = draw(new, np.outer([0.6, 0.4], AFTER), 4000, 4)
    found = change(
        before,
        after,
        "a",
        before_mapping={"1": "few", "2": "few", "3": "many"},
        mapping={"1": "few", "2": "many"},
    )
    assert list(found.shares) == ["few", "many"]
    first, second, difference = found.shares["few"]
    assert abs(first.value - 0.5) < 0.1
    assert abs(second.value - 0.6) < 0.05
    assert difference.value == pytest.approx(second.value - first.value)


@pytest.mark.parametrize("question", [("OUE", 3, "1"), ("GRR", 3, "2"), (None, 3, "")])
def test_differences_cover(question):
    published, surveys = survey(question), 150
    held = np.zeros(3)
    for seed in range(surveys):
        _, before = draw(published, BEFORE, 600, [seed, 0])
        _, after = draw(published, AFTER, 400, [seed, 1])
        for code, (_, _, difference) in enumerate(change(before, after, "a").shares.values()):
            held[code] += difference.lower <= (AFTER - BEFORE)[code] <= difference.upper
    assert (held / surveys).min() > 0.95 - 4 * (0.95 * 0.05 / surveys) ** 0.5


def test_simultaneous_intervals_are_wider():
    published = survey(("OUE", 3, "2"))
    _, before = draw(published, BEFORE, 600, 5)
    _, after = draw(published, AFTER, 600, 6)
    alone, together = (
        change(before, after, "a", simultaneous=which).shares["1"][2] for which in (False, True)
    )
    assert together.lower < alone.lower < alone.upper < together.upper


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mapping": {"1": "few"}}, "has nothing of that label"),
        ({"mapping": {"9": "few"}}, "no category of a"),
        ({name: dict.fromkeys("123", "x") for name in ("mapping", "before_mapping")}, "share is 1"),
        ({"before_attribute": "x"}, "x"),
        ({"confidence": 1.0}, "confidence"),
    ],
)
def test_bad_comparison_is_refused_with_its_remedy(options, words):
    published = survey(("OUE", 3, "2"))
    _, records = draw(published, BEFORE, 20, 7)
    with pytest.raises(InvalidParameter, match=words):
        change(records, records, "a", **options)
