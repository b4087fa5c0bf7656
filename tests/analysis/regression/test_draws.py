"""Regressions of questions in draws: a block that a device did not draw says nothing of anybody."""

from __future__ import annotations

import numpy as np
import pytest

from hushpoll_analysis.records.records import Records
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.survey import answers_of, checked_formula
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many

SLOPES = {"drinks[T.yes]": 0.8, "town[T.b]": -0.5}
FORMULA = "smokes ~ drinks + town"


def survey(answer=2, protocol="OUE", epsilon="8"):
    """Three blocks in a draw, and a question in clear."""
    asked = {"smokes": ["no", "yes"], "drinks": ["no", "yes"], "sleep": ["1", "2", "3"]}
    return Manifest.from_dict(
        {
            "name": "habits",
            "version": 1,
            "title": "Habits",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [
                {"name": "town", "role": "plain", "categories": ["a", "b"]},
                *(
                    {"name": name, "role": "sensitive", "categories": categories}
                    for name, categories in asked.items()
                ),
            ],
            "draws": [{"name": "rota", "blocks": list(asked), "answer": answer}],
        }
    ).resolve()


def records_of(published, n, rng):
    town = rng.integers(0, 2, n)
    drinks = (rng.random(n) < 0.4 + 0.2 * town).astype(int)
    eta = -0.3 + SLOPES["drinks[T.yes]"] * drinks + SLOPES["town[T.b]"] * town
    smokes = (rng.random(n) < 1 / (1 + np.exp(-eta))).astype(int)
    codes = {"town": town, "drinks": drinks, "smokes": smokes, "sleep": smokes + drinks}
    return Records(published, encode_many(published, codes, rng))


@pytest.mark.parametrize("protocol", ["GRR", "OUE"])
def test_likelihood_is_that_of_the_questions_that_were_asked(protocol):
    """Of records that answer neither, the likelihood is a constant; of one, that of the margin."""
    rng = np.random.default_rng(1)
    published = survey(protocol=protocol)
    records = records_of(published, 3_000, rng)
    answers = answers_of(records, FORMULA)
    both, n = answers.asked_all().n, len(records)
    assert both == records.answer(["smokes", "drinks"]).sum()
    assert 0.25 * n < both < 0.42 * n  # a third of all
    for unit in answers.units:
        asked = records.answer([unit.name])
        assert np.array_equal(unit.asked_rows, asked)
        told = unit.patterns.likelihood(unit.places)
        assert (np.ptp(told[~asked], axis=1) == 0).all()
    found = fit(FORMULA, answers, effects=False)
    alone = fit(FORMULA, answers.asked_all(), effects=False)
    whole, part = (
        {one.name: one.standard_error for one in result.coefficients} for result in (found, alone)
    )
    # those who answered one of the two tell of its own share, and make no slope less exact
    assert whole["town[T.b]"] < part["town[T.b]"]
    assert whole["drinks[T.yes]"] <= 1.02 * part["drinks[T.yes]"]
    assert f"{both:,} of {n:,} records answer all questions" in " ".join(found.notes)


def test_expected_errors_are_those_of_what_is_asked_together():
    """Guards: both are taken as asked of two thirds of people each, apart from each other."""
    records = records_of(survey(), 12_000, np.random.default_rng(2))
    found = fit(FORMULA, answers_of(records, FORMULA), effects=False, plain=False)
    for one in found.coefficients[1:]:
        assert one.expected_standard_error == pytest.approx(one.standard_error, rel=0.15)


def test_intervals_hold_the_slopes_of_drawn_questions():
    rng = np.random.default_rng(3)
    published, held, errors = survey(), dict.fromkeys(SLOPES, 0), {name: [] for name in SLOPES}
    for _ in range(60):
        records = records_of(published, 4_000, rng)
        found = fit(FORMULA, answers_of(records, FORMULA), effects=False, plain=False)
        for one in found.coefficients:
            if one.name in SLOPES:
                assert one.method == "Wald"
                held[one.name] += one.lower <= SLOPES[one.name] <= one.upper
                errors[one.name].append((one.estimate - SLOPES[one.name]) / one.standard_error)
    for name in SLOPES:
        assert held[name] >= 51  # 4 standard errors below .95 of 60
        assert abs(np.mean(errors[name])) < 0.5  # 4 standard errors of a mean of 60


def test_linear_regression_takes_the_records_that_answer_all():
    rng = np.random.default_rng(4)
    records = records_of(survey(), 20_000, rng)
    found = fit("score(sleep) ~ drinks", answers_of(records, "score(sleep) ~ drinks"))
    assert found.n == records.answer(["sleep", "drinks"]).sum()
    assert f"{len(records) - found.n:,} records were left out" in " ".join(found.notes)
    slope = found.coefficients[1]
    # of the same people: 1 for drinking itself, and what it adds to smoking
    assert slope.lower < 1.18 < slope.upper


def test_questions_that_no_device_answers_both_are_refused_by_name():
    with pytest.raises(InvalidParameter, match="smokes and drinks are in the draw rota"):
        checked_formula(survey(answer=1), "smokes ~ drinks")
    checked_formula(survey(answer=1), "smokes ~ town")


@pytest.mark.parametrize("protocol", ["GRR", "OUE"])
def test_verdict_names_the_epsilon_at_which_as_many_records_would_tell(protocol):
    def fitted(epsilon):
        published = survey(protocol=protocol, epsilon=f"{epsilon:.3f}")
        records = records_of(published, 900, np.random.default_rng(6))
        return fit(FORMULA, answers_of(records, FORMULA), effects=False, plain=False)

    noisy = fitted(3.0)
    assert noisy.verdict["says"] != "informative" or noisy.verdict["too_noisy"]
    times = noisy.verdict["times_epsilon"]
    assert times > 1
    words = f"or about {times:g} times the epsilon of each randomised question."
    assert noisy.verdict["sentence"].endswith(words)
    told = fitted(3.0 * times * 1.1)
    assert told.verdict["too_noisy"] == []
    assert told.verdict["times_epsilon"] is None
    assert fitted(3.0 * times * 0.8).verdict["too_noisy"]
