"""Standard errors are those at the estimates; intervals use those at the values they test, too."""

import numpy as np
import pytest

from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.variances import REACH, Variance, changes
from likelihoods import likelihood_of
from studies.regression_coverage import Case, survey

FORMULA = "y ~ x + z + w"


def directly(answers, parameters):
    """The log-likelihood of records by GRR, two answers each, written out row by row."""
    b, mixing = parameters[:4], parameters[4:]
    z, w = answers.clear["z"].values, answers.clear["w"].values
    found = np.zeros(answers.n)
    x_is_1 = 1 / (1 + np.exp(-(mixing @ [np.ones_like(z), z, w])))
    records = [unit.patterns.table[unit.places] for unit in answers.units]
    laws = [
        unit.patterns.low + unit.patterns.rise * seen
        for unit, seen in zip(answers.units, records, strict=True)
    ]
    for x, share in ((0, 1 - x_is_1), (1, x_is_1)):
        says_yes = 1 / (1 + np.exp(-(b[0] + b[1] * x + b[2] * z + b[3] * w)))
        outcome = says_yes * laws[1][:, 1] + (1 - says_yes) * laws[1][:, 0]
        found += share * laws[0][:, x] * outcome
    return np.log(found).sum()


def test_standard_errors_are_of_the_information_at_the_reduced_estimates():
    answers = survey(Case("GRR", 2, "2", 600), np.random.default_rng(1))
    found = fit(FORMULA, answers, plain=False)
    at = np.array([one.estimate for one in (*found.coefficients, *found.mixing)])
    assert found.estimator == "reduced"
    step = 1e-3
    moves = step * np.eye(len(at))
    information = -np.array(
        [
            [
                directly(answers, at + one + two)
                - directly(answers, at + one - two)
                - directly(answers, at - one + two)
                + directly(answers, at - one - two)
                for two in moves
            ]
            for one in moves
        ]
    ) / (4 * step**2)
    inverse = np.linalg.inv(information)
    errors = [one.standard_error for one in (*found.coefficients, *found.mixing)]
    assert errors == pytest.approx(list(np.sqrt(np.diag(inverse))), rel=1e-4)
    # far more than that from the errors at the maximum
    likely = fit(FORMULA, answers, plain=False, effects=False, estimator="likelihood")
    assert abs(likely.coefficients[1].standard_error / errors[1] - 1) > 0.004
    # other figures follow the same covariance
    assert found.averages.covariance.matrix == pytest.approx(inverse, rel=2e-4, abs=1e-7)


def test_ends_and_tests_are_half_by_the_error_at_the_value_that_is_tested():
    answers = survey(Case("GRR", 2, "2", 600), np.random.default_rng(1))
    found = fit(FORMULA, answers, plain=False, effects=False)
    likelihood = likelihood_of(FORMULA, answers)
    at = np.array([one.estimate for one in (*found.coefficients, *found.mixing)])
    inverse = np.linalg.inv(likelihood.at(at).observed)
    one = found.coefficients[1]

    def error_if(value):
        moved = at + inverse[1] * (value - at[1]) / inverse[1, 1]
        return np.sqrt(np.linalg.inv(likelihood.at(moved).observed)[1, 1])

    def distance(value):
        error = one.estimate - value
        return (error / one.standard_error + error / error_if(value)) / 2

    assert [distance(one.lower), distance(one.upper)] == pytest.approx([1.96, -1.96], rel=0.005)
    assert abs(one.upper + one.lower - 2 * one.estimate) > 0.01 * one.standard_error
    assert one.statistic == pytest.approx(distance(0.0), rel=0.005)
    assert one.statistic != pytest.approx(one.estimate / one.standard_error, rel=0.002)
    of_terms = {test.term: test for test in found.tests if test.kind == "Wald"}
    assert of_terms["x"].p_value == pytest.approx(one.p_value)


def test_maximum_of_the_likelihood_keeps_the_intervals_of_other_programs():
    answers = survey(Case("GRR", 2, "2", 600), np.random.default_rng(1))
    found = fit(FORMULA, answers, plain=False, effects=False, estimator="likelihood")
    for one in found.coefficients:
        assert one.upper - one.estimate == pytest.approx(1.959964 * one.standard_error)
        assert one.statistic == pytest.approx(one.estimate / one.standard_error)


@pytest.mark.parametrize("below", [0.25, 0.8, 1.0, 1.7, 4.0])
@pytest.mark.parametrize("above", [0.25, 1.0, 4.0])
def test_value_is_refused_where_the_interval_leaves_it_out(below, above):
    """Distances grow to both sides, whatever the variances do, and ends are at the quantile."""
    one = Variance(0.3, 0.2, below, above)
    values = np.linspace(-2, 2.6, 400)
    distances = np.array([one.distance(value) for value in values])
    assert (np.diff(distances) < 0).all()
    for quantile in (0.5, 1.645, 1.96, 2.7):
        for side in (-1, 1):
            end = one.end(quantile, side)
            assert side * (end - one.estimate) > 0
            assert one.distance(end) == pytest.approx(-side * quantile, rel=1e-9)
    ends = [one.estimate + side * REACH * one.error for side in (-1, 1)]
    assert [abs(one.distance(end)) for end in ends] == pytest.approx(
        [REACH * (1 + ratio**-0.5) / 2 for ratio in (below, above)]
    )


def test_variances_change_less_the_more_rows_there_are():
    far = []
    for n in (600, 60_000):
        likelihood = likelihood_of(
            FORMULA, survey(Case("GRR", 2, "2", n), np.random.default_rng(2))
        )
        found = fit(FORMULA, survey(Case("GRR", 2, "2", n), np.random.default_rng(2)), plain=False)
        at = np.array([one.estimate for one in (*found.coefficients, *found.mixing)])
        inverse = np.linalg.inv(likelihood.at(at).observed)
        far.append(np.abs(np.log(changes(likelihood, at, inverse))).max())
    assert far[1] < far[0] / 5
