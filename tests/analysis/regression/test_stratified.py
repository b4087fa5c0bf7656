"""Mantel and Haenszel's odds ratio: statsmodels' in clear, and right on average of records."""

import numpy as np
import pytest
from statsmodels.stats.contingency_tables import StratifiedTable

from hushpoll_analysis.regression.answers import Answers, Categories, Unit, patterns_of
from hushpoll_analysis.regression.combinations import Question
from hushpoll_analysis.regression.model import fit
from hushpoll_analysis.regression.stratified import adjusted_odds
from hushpoll_analysis.regression.terms.formulas import read_formula
from hushpoll_protocols import create
from hushpoll_protocols.kernels import perturb

NO_YES = ("no", "yes")


def drawn(rng, n, strata, slope):
    s = rng.integers(0, strata, n)
    x = (rng.random(n) < 0.3 + 0.4 * s / strata).astype(np.int64)
    y = (rng.random(n) < 1 / (1 + np.exp(0.8 - slope * x - s / strata))).astype(np.int64)
    return s, x, y


def columns(**codes):
    def domain(name, values):
        return tuple(map(str, range(values.max() + 1))) if name == "s" else NO_YES

    return {name: Categories(name, one, domain(name, one)) for name, one in codes.items()}


def unit(name, names, values, protocol, epsilon, rng):
    oracle = create(protocol, k=2 ** len(names), epsilon=epsilon)
    patterns, places = patterns_of(oracle, perturb(oracle, values, rng))
    return Unit(name, tuple(Question(one, NO_YES) for one in names), patterns, places)


def test_ratio_in_clear_is_that_of_statsmodels():
    s, x, y = drawn(np.random.default_rng(1), 600, 6, 0.7)
    answers = Answers(600, columns(s=s, x=x, y=y))
    (found,) = adjusted_odds(read_formula("y ~ x + C(s)"), answers, confidence=0.9)
    tables = [
        [[np.sum((s == i) & (x == j) & (y == k)) for k in (1, 0)] for j in (1, 0)] for i in range(6)
    ]
    peer = StratifiedTable([np.array(table, float) for table in tables])
    assert found.odds_ratio == pytest.approx(peer.oddsratio_pooled)
    low, high = peer.oddsratio_pooled_confint(alpha=0.1)
    assert (found.lower, found.upper) == pytest.approx((low, high))
    assert found.strata == 6
    whole = fit("y ~ x + C(s)", answers, effects=False)
    assert whole.to_dict()["adjusted_odds_ratios"][0]["strata"] == 6
    assert "Mantel" in whole.summary()


@pytest.mark.parametrize("strata", [3, 400])  # few large ones, and many of five respondents
@pytest.mark.parametrize("block", [False, True])
def test_sets_of_records_hold_the_ratio_as_often_as_they_say(strata, block):
    rng = np.random.default_rng(2)
    read, slope, times = read_formula("y ~ x + s"), 0.7, 80
    held, covered_one = 0, 0
    for _ in range(times):
        s, x, y = drawn(rng, 2000, strata, slope)
        if block:
            units = (unit("b", ("y", "x"), 2 * y + x, "OUE", "3", rng),)
        else:
            units = (
                unit("x", ("x",), x, "GRR", "2", rng),
                unit("y", ("y",), y, "SS", "2", rng),
            )
        (found,) = adjusted_odds(read, Answers(2000, columns(s=s), units), confidence=0.95)
        low, high = found.lower or 0, found.upper or np.inf
        held += low <= np.exp(slope) <= high
        covered_one += low <= 1 <= high
    assert held >= 68  # 4 standard errors below .95 of 80
    assert covered_one < 0.9 * times  # the sets tell something


def test_no_ratio_where_another_predictor_is_perturbed_too_or_a_number():
    rng = np.random.default_rng(3)
    s, x, y = drawn(rng, 200, 2, 0)
    units = tuple(unit(one, (one,), x, "GRR", "2", rng) for one in ("x", "w"))
    answers = Answers(200, columns(s=s, y=y), units)
    for formula in ("y ~ x + w", "y ~ x*s", "y ~ x + I(s)"):
        assert adjusted_odds(read_formula(formula), answers, confidence=0.95) == ()
