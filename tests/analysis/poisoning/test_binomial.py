"""Tails of counts, against exact sums of rationals."""

import math
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis.report_shape import (
    bernoulli_plus_binomial,
    largest_excess,
    uniform_distance,
    upper_tail,
)


def exact_tail(count, n, chance):
    return sum(
        math.comb(n, hits) * chance**hits * (1 - chance) ** (n - hits)
        for hits in range(count, n + 1)
    )


@pytest.mark.parametrize(("count", "n"), [(4, 10), (10, 10), (31, 100), (60, 100), (1, 100)])
@pytest.mark.parametrize("chance", [Fraction(1, 1000), Fraction(1, 4)])
def test_the_tail_is_exact_above_the_mean_and_one_below(count, n, chance):
    found = upper_tail(count, n, float(chance))
    expected = exact_tail(count, n, chance) if count > n * chance else 1
    assert found == pytest.approx(float(expected), rel=1e-12)


# Of the sums that were written out before scipy's function took over.
SUMS = [
    (1, 2, 0.3, 0.5099999999999998),
    (4, 10, 0.25, 0.22412490844726524),
    (10, 10, 0.001, 1.0000000000000024e-30),
    (31, 100, 0.25, 0.10378723895608467),
    (60, 100, 0.25, 1.3268346743586997e-13),
    (3, 1000, 0.001, 0.08020934284019335),
    (560, 1000, 0.5, 8.252493527527526e-05),
    (640, 1000, 0.5, 3.316109068039228e-19),
]  # fmt: skip


@pytest.mark.parametrize(("count", "n", "chance", "tail"), SUMS)
def test_the_tail_is_the_sum(count, n, chance, tail):
    assert upper_tail(count, n, chance) == pytest.approx(tail, rel=1e-12, abs=1e-12)


def test_the_tail_of_what_cannot_happen_is_zero():
    assert upper_tail(1, 10, 0.0) == 0.0
    assert upper_tail(0, 10, 0.0) == 1.0


def test_the_largest_excess_names_the_cell_and_counts_all_cells():
    p_value, cell = largest_excess(np.array([25, 25, 50, 0]), np.full(4, 0.25))
    assert cell == 2
    assert p_value == pytest.approx(4 * float(exact_tail(50, 100, Fraction(1, 4))), rel=1e-9)
    assert largest_excess(np.zeros(3, np.int64), np.full(3, 1 / 3)) == (1.0, 0)


def test_the_distance_of_two_laws():
    assert uniform_distance(np.array([50, 50]), np.array([0.5, 0.5])) == 1.0
    found = uniform_distance(np.array([80, 20]), np.array([0.5, 0.5]))
    assert found == pytest.approx(2 * math.exp(-200 * 0.3**2))


def test_a_bernoulli_plus_a_binomial():
    law = bernoulli_plus_binomial(0.75, 2, 0.25)
    # 2 bits of 1/4 each: 9/16, 6/16, 1/16; and one of 3/4
    expected = [9 / 64, (6 + 27) / 64, (1 + 18) / 64, 3 / 64]
    assert law == pytest.approx(expected, rel=1e-12)
