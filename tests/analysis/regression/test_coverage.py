"""Intervals hold the slopes as often as they say: a small twin of the study, with seeds fixed."""

import pytest

from studies.regression_coverage import CASES, Case, coverage_of, fits


def test_intervals_hold_the_slopes_of_perturbed_outcome_and_predictor():
    for one in coverage_of(Case("GRR", 2, "2", 2_000), 20, seed=3).values():
        assert one.fits == 20
        assert one.held >= 17
        assert one.noisy in (0, 20)  # decided beforehand, so the same for all surveys of a design


def test_slope_that_is_too_noisy_has_the_set_of_its_profile():
    (result,) = fits(Case("OUE", 2, "1", 600), 1, seed=4)
    slope = next(one for one in result.coefficients if one.name == "x[T.1]")
    assert slope.expected_standard_error > 0.5
    assert slope.method == "profile likelihood"
    assert "x[T.1]" in result.verdict["too_noisy"]
    assert result.verdict["respondents"] > 600


@pytest.mark.slow
def test_intervals_hold_the_slopes_of_every_case_of_the_study():
    repeats = 200
    for number, case in enumerate(CASES):
        for name, one in coverage_of(case, repeats, 100 + number).items():
            assert one.held >= 0.89 * repeats, (case, name)  # 4 standard errors below .95
