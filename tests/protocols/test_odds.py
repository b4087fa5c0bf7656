"""Bounds on beliefs, against bounds on e^x that owe nothing to `decimal`."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import pytest
from rational_exp import enclose_exp

from hushpoll_protocols import InvalidParameter
from hushpoll_protocols.odds import odds_factor, posterior_bounds

EPSILONS = ("0.000001", "0.1", "0.693147180559", "1", "3", "13.815510557965", "64")
PRIORS = tuple(Fraction(percent, 100) for percent in (1, 10, 33, 50, 90, 99))


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_bounds_are_the_next_thousandths_outside_of_bayes_rule(epsilon: str) -> None:
    below, above = enclose_exp(Fraction(epsilon))
    for prior in PRIORS:
        low, high = posterior_bounds(prior, Decimal(epsilon))
        for e in (below, above):
            smallest = 1000 * prior / (prior + (1 - prior) * e)
            largest = 1000 * prior * e / (prior * e + 1 - prior)
            assert low <= smallest < low + 1
            assert high - 1 < largest <= high


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_factor_is_the_next_unit_above_e_to_the_epsilon(epsilon: str) -> None:
    for parts in (1, 10, 100):
        factor = odds_factor(Decimal(epsilon), parts)
        for e in enclose_exp(Fraction(epsilon)):
            assert factor - 1 < parts * e <= factor


@pytest.mark.parametrize("prior", [Fraction(0), Fraction(1), Fraction(-1, 2), Fraction(3, 2)])
def test_a_prior_that_nothing_can_change_raises(prior: Fraction) -> None:
    with pytest.raises(InvalidParameter, match=r"prior is .* outside \(0, 1\)"):
        posterior_bounds(prior, Decimal(1))
