"""Intervals hold the slopes as often as they say: a small twin of the study, with seeds fixed."""

import json
from dataclasses import replace

import numpy as np
import pytest

from hushpoll_analysis.regression.answers import (
    Answers,
    Numbers,
    Unit,
    patterns_of_law,
)
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.inference import NOISY, TRUSTED, UNTOLD
from hushpoll_analysis.regression.model import fit
from hushpoll_shared.cli.regression_text import regression_text
from studies.regression_coverage import FORMULA, SHORT, SLOPES, Case, by_sets, rows_of, survey


def test_intervals_hold_the_slopes_of_perturbed_outcome_and_predictor():
    for one in rows_of(Case("GRR", 2, "2", 2_000), 20, seed=3):
        assert one.held >= 0.85
        assert one.unconverged == 0
        assert one.by_set in (0, 1)  # decided beforehand, so the same for all surveys of a design


def test_intervals_hold_the_slopes_of_a_block():
    for one in rows_of(Case("SS", 2, "3", 2_000, block=True), 10, seed=5):
        assert one.held >= 0.7  # 4 standard errors below .95 of 10
        assert one.unconverged == 0


def test_slope_that_is_too_noisy_has_the_set_of_its_profile():
    answers = survey(Case("OUE", 2, "2", 600), np.random.default_rng(4))
    result = fit(FORMULA, answers, plain=False, effects=False, ratios=False)
    counted = by_sets(answers)  # as the study counts sets, without their ends
    slope = next(one for one in result.coefficients if one.name == "x[T.1]")
    assert slope.expected_standard_error > 0.5
    assert slope.method == "profile likelihood"
    assert "x[T.1]" in result.verdict["too_noisy"]
    for one in result.coefficients[1:]:  # test and set are one, whichever start leads higher
        low = -float("inf") if one.lower is None else one.lower
        high = float("inf") if one.upper is None else one.upper
        assert one.method == "profile likelihood"
        assert (one.p_value < 0.05) == (not low <= 0 <= high), one
        assert counted[one.name].held == (low <= SLOPES[one.name] <= high), one
        assert counted[one.name].refused == (one.p_value < 0.05), one
    assert result.verdict["respondents"] > 600


def test_no_slope_is_told_where_sets_would_hold_it_too_seldom():
    """Guards: with an expected standard error above 1, sets of 95 % held 74 to 93 percent."""
    answers = survey(Case("OUE", 2, "1", 600), np.random.default_rng(4))
    result = fit(FORMULA, answers)
    slopes = result.coefficients[1:]
    assert max(one.expected_standard_error for one in slopes) > TRUSTED
    assert min(one.expected_standard_error for one in slopes) < NOISY
    told = [(one.lower, one.upper, one.p_value, one.simultaneous_lower) for one in slopes]
    assert told == [(None, None, None, None)] * 3
    assert {one.method for one in result.coefficients} == {UNTOLD}
    assert result.coefficients[0].lower is None  # of the intercept, too
    assert result.tests == ()
    assert result.verdict["says"] == "too noisy to tell"
    assert result.verdict["too_noisy"] == [one.name for one in slopes]
    assert "the set of each coefficient is the whole line" in " ".join(result.notes)
    assert "No other slope is told" in result.verdict["sentence"]
    text = " ".join(result.summary().split())
    assert "depends on w, other things equal: another slope is so noisy" in text
    document = result.to_dict()
    chances = [*document["marginal_effects"], *document["adjusted"]]
    chances += [one.to_dict() for one in result.predicted({"x": "0", "w": "1"})]
    assert len(chances) == 3 + 2 + 1
    ends = {(one["standard_error"], one["lower"], one["upper"]) for one in chances}
    assert ends == {(None, None, None)}
    assert all(one["too_noisy"] for one in chances)
    for one in document["coefficients"][1:]:
        assert (one["odds_ratio"]["lower"], one["odds_ratio"]["upper"]) == (None, None)
    assert "x=0, w=1 1 too noisy" in " ".join(
        regression_text({**document, "predicted": chances[-1:]}).split()
    )


def test_predicted_chance_of_a_noisy_slope_says_so():
    result = fit(FORMULA, survey(Case("OUE", 2, "2", 600), np.random.default_rng(4)), plain=False)
    noisy, told = result.predicted({"x": "1", "z": "0"}), result.predicted({"z": "0"})
    assert [(one.too_noisy, one.lower is None) for one in noisy + told] == [
        (True, False),
        (False, False),
    ]


def test_sets_without_an_end_are_named_in_notes_text_and_json():
    """Where x is 1 all cards say yes, more than the law expects of any answers."""
    law = patterns_of_law(np.array([[0.7, 0.3], [0.3, 0.7]]), ("0", "1"), ("0", "1"))
    x = np.arange(40) % 2
    places = np.where(x == 1, 1, np.arange(40) // 2 % 2)
    card = Unit("card", (Question("card", ("0", "1")),), law, places)
    result = fit("card ~ x", Answers(40, {"x": Numbers("x", x * 1.0)}, (card,)))
    assert result.verdict["says"] == "too noisy to tell"
    ends = [(one.lower, one.upper) for one in result.coefficients]
    assert any(None in one for one in ends)
    document, text = json.loads(json.dumps(result.to_dict())), " ".join(result.summary().split())
    said = " ".join(document["notes"])
    assert "the intervals are 95 % sets of the profile likelihood" in said
    assert "the set of" in said
    assert "has no end" in said
    assert "has no end" in text
    shown = [(one["lower"], one["upper"]) for one in document["coefficients"]]
    assert shown == ends


@pytest.mark.slow
def test_intervals_hold_the_slopes_of_every_case_of_the_study():
    for number, case in enumerate(SHORT):
        for one in rows_of(case, 200, [100, number]):
            assert one.held >= 0.89, one  # 4 standard errors below .95


def test_slope_with_weights_has_a_set_where_it_is_too_noisy():
    rng = np.random.default_rng(6)
    answers = survey(Case("GRR", 2, "1", 60), rng)
    found = []
    for weights in (None, np.full(60, 2.0)):
        given = replace(answers, units=answers.units[1:], weights=weights)
        found.append(fit("y ~ w", given, plain=False, effects=False).coefficients[1])
    noisy, alike = found
    assert (noisy.method, alike.method) == ("profile likelihood", "profile likelihood")
    # all rows twice is no more information: the sandwich says so, and the test follows it
    assert alike.estimate == pytest.approx(noisy.estimate, abs=1e-3)
    assert alike.p_value == pytest.approx(noisy.p_value, abs=0.1)
