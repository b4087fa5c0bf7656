"""Goals of two questions and of means: what is predicted, what is said, and what is refused."""

import math

import numpy as np
import pytest

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.outcomes import PRECISE, outcome
from hushpoll_analysis.planning.verdicts import verdicts
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from studies.two_questions import PAIRS, TwoQuestions

GIVEN = AuditAssumptions()


def draft(epsilon="4", protocol="SS"):
    return Manifest.from_dict(
        {
            "name": "s",
            "version": 1,
            "title": "S",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {"name": "smokes", "role": "sensitive", "categories": ["no", "yes"]},
                {"name": "gender", "role": "sensitive", "categories": ["F", "M"]},
                {"name": "age", "role": "sensitive", "range": [1, 6]},
                {"name": "area", "role": "plain", "categories": ["town", "land", "coast"]},
            ],
        }
    )


def told(want, n=None, manifest=None, **more):
    document = verdicts(manifest or draft(), [Goal.parse(want, **more)], n=n)
    (one,) = document["goals"]
    assert document["verdict"] == one["sentence"]
    return one


@pytest.mark.parametrize(
    ("want", "words"),
    [
        ("gap:smokes/gender=0.2", "a gap of 0.2 from a share of 50 % in smokes between two groups"),
        ("gap:smokes/area=0.2", "groups of area, the smaller one with 33.3 %,"),
        ("association:smokes/gender=0.3", "an association of 0.3 (phi) between smokes and gender"),
        ("mean:age=1", "the 95 % interval of the mean of age, 1 wide, takes"),
        (
            "mean-gap:age/gender=1.5",
            "a gap of 1.5 between the means of age in two groups of",
        ),
    ],
)
def test_needed_respondents_are_enough_and_fewer_are_not(want, words):
    one, goal, published = told(want), Goal.parse(want), draft().resolve()
    needed = one["n_needed"]
    assert one["answer"] == "needs"
    assert words[1:] in one["sentence"]
    assert outcome(goal, published, needed, GIVEN, surveys=PRECISE).met
    assert not outcome(goal, published, int(0.93 * needed), GIVEN, surveys=PRECISE).met


def test_value_that_can_be_had_is_found_with_the_power_that_is_wanted():
    for want in ("association:age/gender=?", "mean-gap:age/gender=?"):
        value = told(want, n=6000)["predicted"]
        again = told(want.replace("?", f"{value:.6f}"), n=6000)
        assert abs(again["predicted"] - 0.8) < 0.02


def test_perturbed_groups_need_far_more_respondents_than_groups_in_clear():
    perturbed, clear = told("gap:smokes/gender=0.1"), told("difference:smokes=0.1")
    assert perturbed["n_needed"] > 2.5 * clear["n_needed"]


def test_both_questions_in_clear_have_the_power_of_pearsons_test():
    published = draft().resolve()
    in_clear = outcome(
        Goal("association", "smokes/gender", 0.1), published, 785, GIVEN, in_clear=True
    )
    # Cohen, Statistical Power Analysis, 1988, table 7.3.15: w = 0.1, u = 1, power .80
    assert abs(in_clear.value - 0.8) < 0.002


def test_no_epsilon_is_needed_of_two_questions_in_clear():
    manifest = Manifest.from_dict(
        {
            "name": "s",
            "version": 1,
            "title": "S",
            "epsilon": "1",
            "protocol": "GRR",
            "attributes": [
                {"name": "a", "role": "plain", "categories": ["x", "y"]},
                {"name": "b", "role": "plain", "categories": ["x", "y"]},
                {"name": "c", "role": "sensitive", "categories": ["x", "y"]},
            ],
        }
    )
    one = told("gap:a/b=0.05", n=100, manifest=manifest)
    assert (one["answer"], one["epsilon_needed"]) == ("no", None)
    assert "sampling alone is too wide" in one["sentence"]


@pytest.mark.parametrize("protocol", ["GRR", "OUE"])
def test_predictions_are_those_of_surveys_drawn_record_by_record(protocol):
    rng = np.random.default_rng(7)
    surveys = 250
    rows = list(TwoQuestions.of(protocol, "4", PAIRS[2], surveys, rng).compared())
    assert [row.is_width for row in rows] == [True, False, False, False]
    for row in rows:
        # the tolerances of the study; of a power, with four standard errors of so few surveys
        most = 0.02 if row.is_width else 0.03 + 4 * math.sqrt(0.25 / surveys)
        assert row.off < most, row


@pytest.mark.parametrize(
    ("want", "words"),
    [
        ("gap:smokes=0.1", "names no two questions; write OF/GIVEN"),
        ("gap:smokes/gender/age=0.1", "names no two questions"),
        ("gap:smokes/smokes=0.1", "two different attributes"),
        ("gap:smokes/height=0.1", "no attribute of s"),
        ("gap:smokes/gender=1.5", "a share in (0, 1]"),
        ("gap:smokes/gender=inf", "give KIND:SUBJECT=VALUE"),
        ("mean:age=nan", "give KIND:SUBJECT=VALUE"),
        ("mean:age=0", "a number above 0"),
        ("mean:smokes=1", "'no', which is no number"),
        ("mean:age=7", "5 is as much as the scale of age has room for"),
        ("mean-gap:age/gender=5", "5 is as much as the scale of age has room for"),
        ("association:smokes/gender=1.2", "phi of these questions is at most 1"),
    ],
)
def test_goal_that_a_survey_cannot_have_is_refused(want, words):
    with pytest.raises(InvalidParameter) as refused:
        told(want, n=100)
    assert words in str(refused.value)


def test_smaller_group_has_at_most_half_of_the_respondents():
    with pytest.raises(InvalidParameter, match="smaller group"):
        Goal.parse("gap:smokes/gender=0.1", group=0.6)
