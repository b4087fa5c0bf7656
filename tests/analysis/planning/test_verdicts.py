"""What a verdict says is what the numbers of surveys of that size and epsilon are."""

import re
from dataclasses import replace
from decimal import Decimal

import pytest

from hushpoll_analysis.auditing.power import AuditAssumptions
from hushpoll_analysis.planning.expected_estimates import Side, expected_interval_width
from hushpoll_analysis.planning.goals import Goal
from hushpoll_analysis.planning.outcomes import outcome
from hushpoll_analysis.planning.verdicts import GOALS_MAX, verdicts
from hushpoll_analysis.verdicts.needed import rounded_up
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.survey.protection import weak_protection

GIVEN = AuditAssumptions()


def draft(protocol="GRR", epsilon="2", protected=True, label=True):
    document = {
        "name": "s",
        "version": 1,
        "title": "S",
        "epsilon": epsilon,
        "protocol": protocol,
        "attributes": [
            {"name": "group", "role": "sensitive", "categories": ["F", "M"]},
            {"name": "region", "role": "sensitive", "range": [1, 10]},
            {"name": "area", "role": "plain", "categories": ["a", "b"]},
        ],
    }
    if label:
        document["attributes"].append(
            {"name": "label", "role": "target", "categories": ["no", "yes"], "positive": "yes"}
        )
    if protected:
        document["protected"] = {"attribute": "group", "unprivileged": "F", "privileged": "M"}
    return Manifest.from_dict(document)


def told(want, manifest=None, n=None, **more):
    document = verdicts(manifest or draft(), [Goal.parse(want, **more)], n=n)
    (one,) = document["goals"]
    assert document["verdict"] == one["sentence"]
    return one


@pytest.mark.parametrize(
    ("want", "more", "slack"),
    [
        ("width:region=0.05", {}, 0.99),
        ("width:region=0.05", {"share": 0.01}, 0.99),
        ("difference:group=0.1", {"group": 0.05}, 0.98),
        ("change:region=0.04", {"share": 0.01}, 0.98),
        ("lead:region=0.1", {}, 0.95),
        ("lead-width:region=0.1", {"share": 0.01}, 0.98),
    ],
)
def test_needed_respondents_are_enough_and_fewer_are_not(want, more, slack):
    one, goal = told(want, **more), Goal.parse(want, **more)
    published, needed = draft().resolve(), one["n_needed"]
    assert one["answer"] == "needs"
    assert outcome(goal, published, needed, GIVEN).met
    assert not outcome(goal, published, int(slack * needed), GIVEN).met
    assert f"takes {needed:,} respondents" in one["sentence"]


@pytest.mark.parametrize(
    "want", ["width:region=0.1", "difference:group=0.1", "lead:group=0.1", "audit:SPD=0.15"]
)
def test_needed_epsilon_is_enough_and_less_is_not(want):
    goal, n = Goal.parse(want), 1500
    one = told(want, n=n)
    least = Decimal(one["epsilon_needed"])
    assert one["answer"] == "no"
    assert outcome(goal, draft(epsilon=str(least)).resolve(), n, GIVEN).met
    less = draft(epsilon=f"{0.95 * float(least):.6g}").resolve()
    assert not outcome(goal, less, n, GIVEN).met
    assert f"with epsilon {least} it could" in one["sentence"]


def test_survey_that_cannot_answer_says_with_which_n_it_could():
    one = told("width:region=0.05", n=2000)
    width = expected_interval_width(
        Side(draft().resolve().attribute("region").oracle, 2000, 0.1), 0.95
    )
    assert one["predicted"] == width > 0.05
    assert one["sentence"] == (
        "No: this survey cannot answer that; with 2,000 respondents and epsilon 2, the 95 % "
        f"interval of a share of 10 % in region is {width:.3g} wide on average, and 0.05 is "
        f"wanted. With n = {one['n_needed']:,} it could; with epsilon {one['epsilon_needed']} it "
        "could."
    )


def test_one_respondent_is_not_called_several():
    sentence = told("width:region=0.05", n=1)["sentence"]
    assert "with 1 respondent and epsilon 2" in sentence


def test_survey_that_can_answer_says_yes():
    one = told("change:group=0.2", n=20_000)
    assert (one["answer"], one["epsilon_needed"]) == ("yes", None)
    assert one["sentence"].startswith("Yes: with 20,000 respondents per version and epsilon 2, a")
    power = float(re.search(r"power of ([0-9.]+), and 0.8", one["sentence"])[1])
    assert power == round(one["predicted"], 2) >= 0.8


@pytest.mark.parametrize(
    ("want", "weak", "words"),
    [
        ("group=0.2", False, "it could."),
        ("group=0.065", True, "it could, which protects weakly."),
        ("region=0.0372", True, "it could, which hardly protects."),
    ],
)
def test_recommended_epsilon_that_protects_badly_is_called_so(want, weak, words):
    document = draft(epsilon="0.5", protected=False, label=False)
    one = told(f"width:{want}", document, n=1000)
    epsilon = Decimal(one["epsilon_needed"])
    published = replace(document, epsilon=epsilon).resolve()
    assert bool(weak_protection(published)) == weak
    assert one["sentence"].endswith(f"with epsilon {epsilon} {words}"), one


@pytest.mark.parametrize(("metric", "ratio"), [("DI", True), ("SPD", False)])
def test_disparity_of_a_ratio_is_said_to_be_a_difference(metric, ratio):
    words = "(as the difference of the two rates, not their ratio)"
    assert (words in told(f"audit:{metric}=?", n=5000)["sentence"]) == ratio


def test_lead_says_how_many_have_the_category_that_is_behind():
    one = told("lead:region=0.05", n=2000)
    assert one["goal"]["share"] == pytest.approx(0.095)
    assert one["sentence"].startswith(
        "No: this survey cannot answer that; with 2,000 respondents and epsilon 2, a lead of 0.05 "
        "of a category of region over another with 9.5 % is found with a power of "
    )
    wide = told("lead-width:region=?", n=2000)
    assert wide["sentence"] == (
        "With 2,000 respondents and epsilon 2, the 95 % interval of the difference between two "
        f"categories of region with 10 % each is {wide['predicted']:.3g} wide on average."
    )


def test_lead_of_a_question_that_most_may_have_skipped_has_no_width():
    document = {
        "name": "s",
        "version": 1,
        "title": "S",
        "epsilon": "0.5",
        "protocol": "OUE",
        "attributes": [{"name": "region", "role": "sensitive", "range": [1, 3], "missing": "none"}],
    }
    manifest = Manifest.from_dict(document)
    one = told("lead-width:region=0.5", manifest, n=5)
    assert (one["answer"], one["predicted"]) == ("no", None)
    assert "no bound in some surveys, and 0.5 is wanted" in one["sentence"]


def test_no_epsilon_is_enough_where_sampling_alone_is_too_wide():
    one = told("width:region=0.01", n=1000)
    alone = expected_interval_width(Side(None, 1000, 0.1), 0.95)
    assert (one["epsilon_needed"], one["sampling_alone"]) == (None, alone)
    assert alone > 0.01
    assert "No epsilon is enough for n = 1,000: sampling alone is too wide." in one["sentence"]


def test_no_epsilon_is_enough_under_a_protocol_that_keeps_some_noise():
    one = told("width:region=0.04", draft("OUE"), n=1500)
    assert one["sampling_alone"] < 0.04
    assert "No epsilon up to 64 is enough for n = 1,500 under this protocol." in one["sentence"]


def test_difference_that_no_number_of_respondents_shows_is_a_plain_no():
    one = told("width:group=0.00001", draft(epsilon="0.01"))
    assert (one["answer"], one["n_needed"]) == ("no", None)
    assert one["sentence"].endswith(
        "cannot be had at epsilon 0.01 with up to 1,000,000,000 respondents."
    )


@pytest.mark.parametrize(
    "want", ["difference:group=?", "change:group=?", "lead:region=?", "audit:SPD=?"]
)
def test_smallest_difference_that_can_be_had_has_the_power(want):
    one = told(want, n=5000)
    kind = Goal.parse(want.replace("?", f"{one['predicted']:.4f}"))
    assert one["answer"] == "has"
    assert outcome(kind, draft().resolve(), 5000, GIVEN).value == pytest.approx(0.8, abs=0.03)
    assert f"if it is at least {one['predicted']:.3g}." in one["sentence"]


def test_several_goals_need_the_most_respondents_of_any():
    goals = [Goal.parse("width:region=0.05"), Goal.parse("width:group=0.05")]
    asked, small = verdicts(draft(), goals), verdicts(draft(), goals, n=100)
    most = max(one["n_needed"] for one in asked["goals"])
    assert asked["verdict"] == f"All that is wanted takes {most:,} respondents."
    assert small["verdict"] == (
        "No: this survey cannot answer all that is wanted; it misses width:region, width:group. "
        f"With n = {most:,} it could answer all."
    )
    assert verdicts(draft(), goals, n=most)["answer"] == "yes"
    assert asked["shuffled"]["crowd"] == most // 4
    assert asked["shuffled"]["local_epsilon"] == "2"


def test_epsilon_takes_the_place_of_the_drafts():
    goal = [Goal.parse("width:region=0.05")]
    assert verdicts(draft(), goal, epsilon="1") == verdicts(draft(epsilon="1"), goal)


def test_clear_attribute_needs_no_epsilon():
    one = told("width:area=0.02", n=100)
    assert one["epsilon_needed"] is None
    assert "sampling alone is too wide" in one["sentence"]


@pytest.mark.parametrize(("number", "up"), [(66_901, 67_000), (997, 997), (5.9201, 5.93)])
def test_numbers_are_rounded_up_to_three_digits(number, up):
    assert rounded_up(number) == pytest.approx(up, rel=1e-12)


@pytest.mark.parametrize(
    ("call", "field"),
    [
        (lambda: verdicts(draft(), []), "want"),
        (lambda: verdicts(draft(), [Goal("width", "region", 0.1)] * (GOALS_MAX + 1)), "want"),
        (lambda: told("width:region=0.1", n=0), "n"),
        (lambda: told("width:region=0.1", n=10**9 + 1), "n"),
        (lambda: told("width:region=?"), "want"),
        (lambda: told("width:nothing=0.1"), "attribute"),
        (lambda: told("width=0.1"), "want"),
        (lambda: told("width:region=wide"), "want"),
        (lambda: told("width:region=0"), "want"),
        (lambda: told("width:region=nan"), "want"),
        (lambda: told("depth:region=0.1"), "want"),
        (lambda: told("audit:AUC=0.1"), "want"),
        (lambda: told("audit:SPD=0.8"), "want"),
        (lambda: told("audit:EOD=0.1", draft(label=False)), "want"),
        (lambda: told("audit:SPD=0.1", draft(protected=False)), "want"),
        (lambda: told("difference:group=0.6", share=0.5), "want"),
        (lambda: told("lead:region=0.4", share=0.4), "want"),
        (lambda: told("lead:region=1"), "want"),
        (lambda: told("lead:group=0.1", share=0.4), "share"),
        (lambda: told("lead-width:region=0.1", share=0.6), "share"),
        (lambda: told("difference:group=0.1", group=0.6), "group"),
        (lambda: told("width:group=0.1", share=1.0), "share"),
        (lambda: told("width:group=0.1", confidence=1.0), "confidence"),
        (lambda: told("audit:SPD=?", confidence=1 - 1e-16), "confidence"),
        (lambda: told("width:group=0.1", confidence=0.001), "confidence"),
        (lambda: told("width:group=0.1", confidence=float("nan")), "confidence"),
        (lambda: verdicts(draft(), [Goal("width", "region", 0.1)], epsilon="65"), "epsilon"),
        (
            lambda: verdicts(
                draft(), [Goal("width", "region", 0.1), Goal("width", "region", 0.2)], n=10
            ),
            "want",
        ),
        (lambda: verdicts(draft(), [Goal("width", "region", 0.1)], n=9, delta=0), "delta"),
        (lambda: verdicts(draft(), [Goal("width", "region", 0.1)], n=9, crowd=10), "crowd"),
    ],
)
def test_each_mistake_names_its_field(call, field):
    with pytest.raises(InvalidParameter) as caught:
        call()
    assert caught.value.field == field
