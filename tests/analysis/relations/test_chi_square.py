"""Chi-square tails against scipy's."""

import pytest
from scipy import stats

from hushpoll_analysis.relations import chi_square


@pytest.mark.parametrize("df", [1, 2, 3, 8, 51, 400])
@pytest.mark.parametrize("times", [0.2, 0.9, 1.0, 1.3, 4.0])
def test_upper_tail_is_scipy_s(df, times):
    assert chi_square.upper_tail(df * times, df) == pytest.approx(
        float(stats.chi2.sf(df * times, df)), rel=1e-9, abs=1e-300
    )
    assert chi_square.upper_tail(-1.0, df) == 1.0


@pytest.mark.parametrize("df", [1, 4, 60])
@pytest.mark.parametrize("alpha", [0.5, 0.05, 1e-9])
def test_quantile_is_scipy_s(df, alpha):
    assert chi_square.quantile(alpha, df) == pytest.approx(float(stats.chi2.isf(alpha, df)))


@pytest.mark.parametrize("df", [1, 4, 60])
@pytest.mark.parametrize("noncentrality", [0.0, 0.3, 9.0, 300.0])
def test_power_is_scipy_s(df, noncentrality):
    critical = stats.chi2.isf(0.05, df)
    expected = stats.ncx2.sf(critical, df, noncentrality) if noncentrality else 0.05
    assert chi_square.power(noncentrality, df, 0.05) == pytest.approx(float(expected), abs=1e-9)


def test_detectable_noncentrality_has_the_power():
    found = chi_square.detectable(4, alpha=0.05, wanted=0.8)
    assert chi_square.power(found, 4, 0.05) == pytest.approx(0.8, abs=1e-6)
