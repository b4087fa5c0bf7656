"""Noise of counts: its law is enumerated or computed, and the sampler is compared with it."""

import math
import random
from fractions import Fraction

import pytest
from scipy.stats import chisquare

from hushpoll_lab.central.discrete_laplace import (
    discrete_laplace,
    exact_epsilon,
    noisy_count,
    quantile,
    tail,
)
from hushpoll_protocols import ReplayBits
from hushpoll_protocols.errors import InvalidParameter
from studies.parity_bounds import mean_size


def words(seed: int, count: int) -> ReplayBits:
    source = random.Random(seed)
    return ReplayBits(source.getrandbits(64) for _ in range(count))


def chance(epsilon: float, value: int) -> float:
    return math.tanh(epsilon / 2) * math.exp(-epsilon * abs(value))


@pytest.mark.parametrize("epsilon", ["0.05", "0.7", "1", "3"])
def test_draws_follow_the_discrete_laplace_law(epsilon: str) -> None:
    draws, rate = 20_000, float(epsilon)
    bits = words(7, 1_500_000)
    sample = [discrete_laplace(1 / Fraction(epsilon), bits) for _ in range(draws)]
    edge = max(1, math.floor(math.log(draws / 200) / rate))
    values = list(range(-edge, edge + 1))
    expected = [chance(rate, value) for value in values]
    observed = [sample.count(value) for value in values]
    outside = 1 - sum(expected)
    counts = [*observed, draws - sum(observed)]
    assert chisquare(counts, [draws * share for share in [*expected, outside]]).pvalue > 1e-4


def test_neighbouring_counts_differ_by_at_most_epsilon_in_log_probability() -> None:
    epsilon = 0.3
    ratios = [
        abs(math.log(chance(epsilon, output - 5) / chance(epsilon, output - 6)))
        for output in range(-60, 60)
    ]
    assert max(ratios) == pytest.approx(epsilon)


def test_tail_and_quantile_are_those_of_the_law() -> None:
    for epsilon in (0.05, 0.4, 2.0):
        for size in (0, 1, 7):
            inside = sum(chance(epsilon, value) for value in range(-size, size + 1))
            assert tail(epsilon, size) == pytest.approx(1 - inside)
        for failure in (0.3, 0.01, 1e-6):
            size = quantile(epsilon, failure)
            assert tail(epsilon, size) <= failure * (1 + 1e-9)
            assert size == 0 or tail(epsilon, size - 1) > failure


def test_mean_size_is_below_that_of_continuous_noise() -> None:
    for epsilon in (0.05, 1.0, 5.0):
        reach = math.ceil(60 / epsilon)
        exact = sum(abs(value) * chance(epsilon, value) for value in range(-reach, reach + 1))
        assert mean_size(epsilon) == pytest.approx(exact)
        assert mean_size(epsilon) < 1 / epsilon


def test_noisy_count_is_the_count_plus_noise() -> None:
    assert noisy_count(100, "64", words(1, 1000)) == 100
    assert noisy_count(100, 0.5, words(1, 1000)) == 100 + discrete_laplace(
        Fraction(2), words(1, 1000)
    )


@pytest.mark.parametrize("epsilon", ["0", "-1", "64.1", "nan", "inf", "much", None])
def test_epsilon_outside_its_interval_is_refused(epsilon: str) -> None:
    with pytest.raises(InvalidParameter, match=r"it must lie in \(0, 64\]"):
        exact_epsilon(epsilon)
