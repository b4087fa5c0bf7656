"""Chi-square tails: the values of the sums that scipy's functions have replaced."""

import pytest
from scipy import stats

from hushpoll_analysis.relations import chi_square

# Up to their own rounding, about 1e-13 of a chance; a bisection found the last ones.
TAILS = [
    (0.2, 1, 0.654720846018577),
    (1.0, 1, 0.31731050786291404),
    (1.3, 1, 0.25421322360396437),
    (4.0, 1, 0.045500263896358396),
    (0.4, 2, 0.8187307530779818),
    (2.0, 2, 0.36787944117144233),
    (2.6, 2, 0.2725317930340126),
    (8.0, 2, 0.01831563888873418),
    (0.6000000000000001, 3, 0.8964323733419115),
    (3.0, 3, 0.3916251762710891),
    (3.9000000000000004, 3, 0.2724667583179884),
    (12.0, 3, 0.007383160505359767),
    (1.6, 8, 0.990920142199846),
    (8.0, 8, 0.43347012036670884),
    (10.4, 8, 0.2380654987231241),
    (32.0, 8, 9.314161294263998e-05),
    (10.200000000000001, 51, 0.999999999894304),
    (51.0, 51, 0.4736606532819676),
    (66.3, 51, 0.07352998636939344),
    (204.0, 51, 3.4733609104700097e-20),
    (80.0, 400, 1.0),
    (400.0, 400, 0.4905965819927247),
    (520.0, 400, 4.7500124443005735e-05),
    (1600.0, 400, 6.41860435396952e-143),
]  # fmt: skip
QUANTILES = [
    (0.5, 1, 0.4549364231195726),
    (0.05, 1, 3.841458820694126),
    (1e-09, 1, 37.32489305136234),
    (0.5, 4, 3.356693980033321),
    (0.05, 4, 9.487729036781158),
    (1e-09, 4, 47.87945573114795),
    (0.5, 60, 59.33466627644252),
    (0.05, 60, 79.08194448784872),
    (1e-09, 60, 150.480759547219),
]  # fmt: skip
POWERS = [
    (0.3, 1, 0.08501566405983678),
    (9.0, 1, 0.8508387683270558),
    (300.0, 1, 1.0),
    (0.3, 4, 0.06531687543169094),
    (9.0, 4, 0.6634860717513954),
    (300.0, 4, 1.0),
    (0.3, 60, 0.053164807370125515),
    (9.0, 60, 0.2032304496242272),
    (300.0, 60, 0.9999999999999827),
]  # fmt: skip
DETECTABLE = [
    (1, 0.05, 0.8, 7.848860509329825),
    (1, 0.001, 0.9, 20.9038999542463),
    (4, 0.05, 0.8, 11.935285837707852),
    (4, 0.001, 0.9, 27.682696327956364),
    (60, 0.05, 0.8, 32.59269318159568),
    (60, 0.001, 0.9, 63.79512392773904),
]  # fmt: skip


@pytest.mark.parametrize(("x", "df", "tail"), TAILS)
def test_upper_tail_is_the_sum(x, df, tail):
    assert chi_square.upper_tail(x, df) == pytest.approx(tail, rel=1e-12, abs=1e-12)
    assert chi_square.upper_tail(-1.0, df) == 1.0


@pytest.mark.parametrize(("alpha", "df", "expected"), QUANTILES)
def test_quantile_has_its_tail(alpha, df, expected):
    assert chi_square.quantile(alpha, df) == pytest.approx(expected, rel=1e-12)


@pytest.mark.parametrize(("noncentrality", "df", "expected"), POWERS)
def test_power_is_the_mixture(noncentrality, df, expected):
    assert chi_square.power(noncentrality, df, 0.05) == pytest.approx(expected, rel=1e-12)
    assert chi_square.power(0.0, df, 0.05) == 0.05
    critical = stats.chi2.isf(0.05, df)
    survival = stats.ncx2.sf(critical, df, noncentrality)
    assert chi_square.power(noncentrality, df, 0.05) == pytest.approx(float(survival), abs=1e-9)


@pytest.mark.parametrize(("df", "alpha", "wanted", "expected"), DETECTABLE)
def test_detectable_noncentrality_has_the_power(df, alpha, wanted, expected):
    found = chi_square.detectable(df, alpha=alpha, wanted=wanted)
    assert found == pytest.approx(expected, rel=1e-11)
    assert chi_square.power(found, df, alpha) == pytest.approx(wanted, abs=1e-12)
