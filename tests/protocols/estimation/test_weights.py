"""Weights that sum to one, against every record of small domains and every count of small n."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_protocols.kernels import indicators, perturb

VARYING = [name for name in PROTOCOLS if create(name, k=3, epsilon="1").support_size is None]
K = 3
FREQUENCY = np.array([0.6, 0.39, 0.01])


def law_of_supports(oracle, frequency):
    """Return every support set and its probability; hashes like bits (two of them are)."""
    sets = np.array(list(product((0, 1), repeat=oracle.k)), dtype=np.float64)
    p, q = float(oracle.p), float(oracle.q)
    chance = np.zeros(len(sets))
    for truth, share in enumerate(frequency):
        of_bit = np.full(oracle.k, q)
        of_bit[truth] = p
        chance += share * np.prod(np.where(sets == 1, of_bit, 1 - of_bit), axis=1)
    return sets, chance


def debias(oracle, support):
    return (support - float(oracle.q)) / float(oracle.p - oracle.q)


def test_support_varies_for_bits_and_hashes_and_not_for_codes_and_subsets():
    assert {"BLH", "OLH", "RAPPOR", "OUE", "THE"}.issubset(VARYING)
    assert {"GRR", "SS"}.isdisjoint(VARYING)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_support_size_is_that_of_every_record(name):
    oracle = create(name, k=5, epsilon="1")
    supports = indicators(oracle, perturb(oracle, np.arange(2000) % 5, np.random.default_rng(1)))
    sizes = set(supports.sum(axis=1).tolist())
    if oracle.support_size is None:
        assert len(sizes) > 1
    else:
        assert sizes == {oracle.support_size}


@pytest.mark.parametrize("epsilon", ["0.1", "1", "4", "8"])
@pytest.mark.parametrize("name", VARYING)
def test_shares_of_the_excess_are_the_regression_on_it_over_every_support(name, epsilon):
    oracle = create(name, k=K, epsilon=epsilon)
    sets, chance = law_of_supports(oracle, FREQUENCY)
    each = debias(oracle, sets)
    excess = each.sum(axis=1) - 1
    assert chance @ excess == pytest.approx(0, abs=1e-9)
    regression = chance @ (each * excess[:, None]) / (chance @ excess**2)
    law = WeightLaw.of(oracle)
    assert law.excess_shares(chance @ each) == pytest.approx(regression, rel=1e-9)
    assert law.excess == pytest.approx(chance @ excess**2, rel=1e-9)
    assert law.shares_at(FREQUENCY).sum() == pytest.approx(1, rel=1e-12)


@pytest.mark.parametrize("name", VARYING)
def test_variance_of_the_kernels_excess_is_the_law_s(name):
    """120,000 records of a domain of 74: a variance is within 3 % but for 7 standard errors."""
    oracle, n = create(name, k=74, epsilon="1"), 120_000
    rng = np.random.default_rng(5)
    supports = indicators(oracle, perturb(oracle, rng.integers(0, 74, n), rng))
    excess = (debias(oracle, supports.astype(np.float64))).sum(axis=1) - 1
    law = WeightLaw.of(oracle)
    assert excess.var() == pytest.approx(law.excess, rel=0.03)
    assert abs(excess.mean()) < 5 * np.sqrt(law.excess / n)


@pytest.mark.parametrize("name", VARYING)
@pytest.mark.parametrize("epsilon", ["0.000001", "0.5", "4", "20", "64"])
@pytest.mark.parametrize("k", [2, 3, 74])
def test_frequencies_sum_to_one_whatever_the_records_are(name, epsilon, k):
    oracle = create(name, k=k, epsilon=epsilon)
    law = WeightLaw.of(oracle)
    rng = np.random.default_rng(2)
    corners = np.stack([np.zeros(k), np.ones(k), np.arange(k) % 2, rng.random(k)])
    debiased = debias(oracle, corners)
    frequencies = law.frequencies(debiased)
    scale = np.abs(debiased).max()
    assert frequencies.sum(axis=1) == pytest.approx(np.ones(4), abs=1e-12 * scale * k + 1e-9)
    # exactly positive: at epsilon 64 it is of the order of e^-64, which sums of floats lose
    assert (1 + law.slope * law.mean_excess(debiased) > -1e-9).all()


def test_records_that_say_nothing_give_every_category_the_same_frequency():
    """Both categories' hashes collide in each of three records, at an epsilon without noise."""
    law = WeightLaw.of(create("BLH", k=2, epsilon="64"))
    assert law.frequencies(np.array([1.0, 1.0])) == pytest.approx([0.5, 0.5])


@pytest.mark.parametrize("name", VARYING)
def test_frequencies_are_the_means_of_their_own_weights(name):
    oracle = create(name, k=4, epsilon="2")
    rng = np.random.default_rng(3)
    supports = indicators(oracle, perturb(oracle, rng.choice(4, 500, p=[0.7, 0.2, 0.1, 0]), rng))
    each = debias(oracle, supports.astype(np.float64))
    law = WeightLaw.of(oracle)
    shares = law.excess_shares(each.mean(axis=0))
    weights = each - shares * (each.sum(axis=1, keepdims=True) - 1)
    assert weights.mean(axis=0) == pytest.approx(law.frequencies(each.mean(axis=0)), abs=1e-12)


def expected_bias(oracle, frequency, n):
    """Add up the estimate over every pair of support counts of n records, k = 2."""
    sets, chance = law_of_supports(oracle, frequency)
    cell = np.zeros((2, 2))
    for (first, second), share in zip(sets.astype(int), chance, strict=True):
        cell[first, second] = share
    counts = np.ones((1, 1))
    for _ in range(n):
        grown = np.zeros((counts.shape[0] + 1, counts.shape[1] + 1))
        for first, second in product((0, 1), repeat=2):
            rows, columns = counts.shape
            grown[first : first + rows, second : second + columns] += cell[first, second] * counts
        counts = grown
    means = np.stack(np.meshgrid(np.arange(n + 1), np.arange(n + 1), indexing="ij"), axis=-1) / n
    frequencies = WeightLaw.of(oracle).frequencies(debias(oracle, means))[..., 0]
    return float((counts * frequencies).sum() - frequency[0])


@pytest.mark.parametrize("name", ["OUE", "BLH", "OLH"])
@pytest.mark.parametrize("share", [0.02, 0.3])
def test_bias_falls_with_the_square_of_n_over_every_count(name, share):
    oracle = create(name, k=2, epsilon="2")
    small, large = (expected_bias(oracle, [share, 1 - share], n) for n in (60, 120))
    assert abs(small) < 0.1 / 60**1.5
    assert small / large == pytest.approx(4, rel=0.35)


def test_bias_of_symmetric_bits_is_zero():
    """M = E in RAPPOR: the shares of the excess do not depend on the frequency."""
    oracle = create("RAPPOR", k=2, epsilon="1")
    assert expected_bias(oracle, [0.2, 0.8], 20) == pytest.approx(0, abs=1e-12)
