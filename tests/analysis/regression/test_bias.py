"""The bias of maximum likelihood: against its known formula, its definition, and in surveys."""

from dataclasses import replace

import numpy as np
import pytest

from hushpoll_analysis.regression.answers import Answers, Numbers
from hushpoll_analysis.regression.bias import first_order_bias
from hushpoll_analysis.regression.fitting import maximise
from hushpoll_analysis.regression.model import fit
from hushpoll_protocols.errors import InvalidParameter
from likelihoods import likelihood_of
from studies.regression_coverage import SLOPES, Case, survey

FORMULA = "y ~ x + z + w"


def test_bias_of_a_logit_in_clear_is_that_of_its_formula():
    """Cordeiro and McCullagh (JRSS B 1991): the regression of (chance - 1/2) times leverage."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=8_000).round(1)  # few groups in clear
    y = (rng.random(8_000) < 1 / (1 + np.exp(1.5 - x))) * 1.0
    answers = Answers(8_000, {"x": Numbers("x", x), "y": Numbers("y", y)})
    likely, reduced = (
        fit("y ~ x", answers, estimator=one, effects=False) for one in ("likelihood", "reduced")
    )
    at = np.array([one.estimate for one in likely.coefficients])
    X = np.column_stack([np.ones_like(x), x])
    p = 1 / (1 + np.exp(-X @ at))
    inverse = np.linalg.inv((X.T * (p * (1 - p))) @ X)
    leverage = np.einsum("ij,jk,ik->i", X, inverse, X)
    expected = inverse @ X.T @ (p * (1 - p) * leverage * (p - 0.5))
    found = np.array([one.bias for one in reduced.coefficients])
    assert found == pytest.approx(expected, rel=0.1)
    after = [one.estimate for one in reduced.coefficients]
    assert after == pytest.approx(list(at - found), abs=1e-12)
    assert fit("y ~ x", answers).estimator == likely.estimator == "likelihood"


def test_bias_is_the_gradient_of_the_trace_by_the_inverse_information():
    likelihood = likelihood_of(
        FORMULA, survey(Case("GRR", 2, "3", 1_500), np.random.default_rng(2))
    )
    maximum = maximise(likelihood, np.zeros(likelihood.size))
    inverse = np.linalg.inv(maximum.slopes.observed)

    def term(at: np.ndarray) -> float:
        slopes = likelihood.at(at, crossed=True)
        return -np.trace(np.linalg.solve(slopes.observed, slopes.crossed)) / 2

    steps = 1e-3 * np.eye(likelihood.size)
    at = maximum.parameters
    gradient = np.array([(term(at + one) - term(at - one)) / 2e-3 for one in steps])
    found = first_order_bias(likelihood, at, inverse)
    expected = -(inverse @ gradient)[: likelihood.outcome_size]
    assert found == pytest.approx(expected, rel=0.02, abs=1e-5)


def test_bias_estimated_from_a_sample_of_rows_is_near_that_of_all():
    answers = survey(Case("GRR", 2, "3", 12_000), np.random.default_rng(3))
    likelihood = likelihood_of(FORMULA, answers)
    maximum = maximise(likelihood, np.zeros(likelihood.size))
    inverse = np.linalg.inv(maximum.slopes.observed)
    of_all = first_order_bias(likelihood, maximum.parameters, inverse)
    part = likelihood_of(FORMULA, answers.taken(np.arange(0, 12_000, 3)))
    of_part = first_order_bias(part, maximum.parameters, inverse, times=3.0)
    errors = np.sqrt(np.diag(inverse))[: likelihood.outcome_size]
    assert (abs(of_part - of_all) < 0.02 * errors).all()


def test_slopes_of_surveys_are_less_their_bias_and_other_programs_fits_are_not():
    """Where x has four answers, z's slope is too large by an eighth of its standard error."""
    rng = np.random.default_rng(4)
    errors = []
    for _ in range(8):
        found = fit(FORMULA, survey(Case("GRR", 4, "2", 1_000), rng), plain=False, effects=False)
        one = next(one for one in found.coefficients if one.name == "z")
        assert found.estimator == "reduced"
        assert any("less the first-order bias" in note for note in found.notes)
        errors.append(one.bias / one.standard_error)
    assert 0.08 < np.mean(errors) < 0.17
    assert one.p_value == pytest.approx(next(t.p_value for t in found.tests if t.term == "z"))
    assert SLOPES["z"] > 0


def test_slopes_with_sets_keep_their_maximum():
    answers = survey(Case("GRR", 2, "1", 60), np.random.default_rng(6))
    given = replace(answers, units=answers.units[1:])
    found = fit("y ~ w", given, plain=False, effects=False, estimator="reduced")
    assert found.estimator == "likelihood"
    assert [one.bias for one in found.coefficients] == [None, None]


def test_unknown_estimator_is_refused():
    with pytest.raises(InvalidParameter, match=r"estimator is 'best'; give one of reduced, lik"):
        fit(
            "y ~ x",
            Answers(1, {"y": Numbers("y", np.ones(1)), "x": Numbers("x", np.ones(1))}),
            estimator="best",
        )
