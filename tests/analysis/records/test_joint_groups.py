"""Attributes in clear that a reader's regression may combine, and attacks by differences."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from analysis.records.test_hidden_groups import groups_of, people_with, records_of
from hushpoll_analysis.records.joint_groups import joint_groups
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.survey import answers_of, readers_formula
from hushpoll_protocols.errors import InvalidParameter

EVEN = people_with(*(((a, b), 25) for a in range(2) for b in range(3)))
# a and b agree but for one person, whom models with a and with b in their turn would tell of
ONE_APART = people_with(((0, 0), 40), ((1, 1), 40), ((0, 1), 1))
# each pair of answers has many, each three have few
CUBE = people_with(
    *(((a, b, c), 2 if (a, b, c) == (1, 1, 1) else 40) for a, b, c in np.ndindex(2, 2, 2))
)


def fewest_told_of(groups, together, records):
    """Reports about which some sum of figures tells, at the least: cells of `together`, margins."""
    codes = {name: places[records.codes(name)] for name, places in groups.places.items()}
    joint = np.zeros(len(records), np.int64)
    for name in together:
        joint = joint * 8 + codes[name]
    columns = [np.ones((len(records), 1))]
    for code in (joint, *codes.values()):
        columns.append((code[:, None] == np.unique(code)).astype(float))
    cells, sizes = np.unique(np.hstack(columns), axis=0, return_counts=True)
    whole, fewest = np.linalg.matrix_rank(cells), sizes.sum()
    for number in range(1, len(cells) + 1):
        for chosen in combinations(range(len(cells)), number):
            left = np.delete(cells, chosen, axis=0)
            alone = not len(left) or np.linalg.matrix_rank(left) < whole
            fewest = min(fewest, sizes[list(chosen)].sum() if alone else fewest)
    return fewest


def test_attributes_whose_cells_are_large_may_be_combined():
    records = records_of(EVEN, a=2, b=3)
    joint = joint_groups(groups_of(records), records)
    assert joint.together == ("a", "b")
    joint.require(["a", "b"], field="formula")


def test_all_that_may_be_combined_tells_of_no_fewer_reports():
    rng = np.random.default_rng(3)
    combined = 0
    for _ in range(30):
        sizes = rng.integers(0, 40, (2, 2, 2)) * (rng.random((2, 2, 2)) < 0.8)
        people = people_with(*((place, int(sizes[place])) for place in np.ndindex(2, 2, 2)))
        if len(people) < 20:
            continue
        records = records_of(people, a=2, b=2, c=2)
        groups = groups_of(records)
        if not groups.places:
            continue
        together = joint_groups(groups, records).together
        combined += len(together) > 1
        assert fewest_told_of(groups, together, records) >= 10
    assert combined > 5  # it is no rule that refuses everything


def test_one_person_whose_dummy_differs_between_two_models_is_not_told_of():
    """Guards: the regression on a less that on b is the record of the only one who differs."""
    records = records_of(ONE_APART, a=2, b=2)
    groups = groups_of(records)
    shown = list(groups.places)
    assert len(shown) < 2  # or models of each would differ by one person's dummy
    for name in {"a", "b"} - set(shown):
        with pytest.raises(InvalidParameter, match="not shown to readers"):
            readers_formula(groups, f"smokes ~ {name}")
    with pytest.raises(InvalidParameter, match="not shown to readers"):
        answers_of(records, "smokes ~ a:b", groups=groups)


def test_interaction_with_a_cell_of_few_is_refused_and_what_is_allowed_is_said():
    """Guards: the slope of a:b:c is about the two people who have all three."""
    records = records_of(CUBE, a=2, b=2, c=2)
    groups = groups_of(records)
    assert set(groups.places) == {"a", "b", "c"}
    joint = joint_groups(groups, records)
    assert len(joint.together) == 2
    allowed = " and ".join(joint.together)
    (left,) = {"a", "b", "c"} - set(joint.together)
    crossed = f"smokes ~ {joint.together[0]}*{left}"
    for formula in ("smokes ~ a:b:c", "smokes ~ a + b + c", crossed):
        with pytest.raises(InvalidParameter, match=f"{allowed} together"):
            answers_of(records, formula, groups=groups)
    assert answers_of(records, f"smokes ~ {'*'.join(joint.together)}", groups=groups).n == len(CUBE)


def test_which_may_be_combined_hangs_on_no_formula():
    """Guards: a and b in one model, b and c in another, and so on, tell of three together."""
    records = records_of(CUBE, a=2, b=2, c=2)
    groups = groups_of(records)
    allowed = []
    for pair in combinations("abc", 2):
        try:
            answers_of(records, f"smokes ~ {pair[0]} + {pair[1]}", groups=groups)
        except InvalidParameter:
            continue
        allowed.append(pair)
    assert len(allowed) == 1


def test_dummies_are_of_merged_groups():
    records = records_of(people_with(((0,), 1), ((1,), 60), ((2,), 62), ((3,), 61)), commune=4)
    groups = groups_of(records)
    found = fit("smokes ~ commune", answers_of(records, "smokes ~ commune", groups=groups))
    names = [one.name for one in found.coefficients]
    assert names == ["Intercept", "commune[T.c2]", "commune[T.c3]"]
    text = "c0 and c1 together"
    assert groups.shown.attribute("commune").domain[0] == text
    with pytest.raises(InvalidParameter, match="no category"):
        answers_of(records, "smokes ~ C(commune, ref='c0')", groups=groups)
