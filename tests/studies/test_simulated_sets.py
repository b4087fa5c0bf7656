"""Surveys that are drawn at a regression's parameters, and what sets by them would hold."""

import numpy as np
from scipy.stats import chi2

from hushpoll_analysis.regression.fitting import maximise
from likelihoods import likelihood_of
from studies import simulated_sets
from studies.regression_coverage import FORMULA, Case, survey
from studies.simulated_sets import drawn, markdown, ratio, run_study


def test_drawn_surveys_are_of_the_parameters_and_their_ratio_is_nearly_chi_square():
    answers = survey(Case("GRR", 2, "4", 400), np.random.default_rng(1))
    likelihood = likelihood_of(FORMULA, answers)
    truth = maximise(likelihood, np.zeros(likelihood.size)).parameters
    rng = np.random.default_rng(2)
    place = [one.name for one in likelihood.family.coefficients].index("z")
    ratios = [ratio(drawn(likelihood, truth, rng), truth, place) for _ in range(20)]
    assert min(ratios) > -1e-6
    above = sum(one > chi2.ppf(0.5, 1) for one in ratios)
    assert 3 <= above <= 17  # 3 standard errors about the half


def test_study_of_simulated_sets_has_a_row_for_each_slope(monkeypatch):
    monkeypatch.setattr(simulated_sets, "WHOLE", [Case("GRR", 2, "4", 300)])
    rows = run_study(surveys=2, designs=["0"])
    assert [row.slope for row in rows] == ["x[T.1]", "z", "w"]
    assert all(row.by_draws >= row.by_limit for row in rows)
    assert "| GRR, k 2, epsilon 4, n 300 | z | 2 |" in markdown(rows)
