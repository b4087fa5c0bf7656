"""The law of sets of values, against the law of records enumerated or simulated."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations, product
from math import comb

import numpy as np
import pytest

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, InvalidParameter, create
from hushpoll_protocols.estimation import estimate
from hushpoll_protocols.estimation.marginals import Marginal, marginal
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_protocols.kernels import perturb, support_counts

SHAPES = [(4, 2), (6, 2), (6, 3), (12, 4)]


def supports(oracle: FrequencyOracle, truth: int):
    """Every support of a record with its chance, given the truth."""
    k, p, q = oracle.k, oracle.p, oracle.q
    if oracle.support_size is None:
        for bits in product((0, 1), repeat=k):
            chance = Fraction(1)
            for value, bit in enumerate(bits):
                one = p if value == truth else q
                chance *= one if bit else 1 - one
            yield bits, chance
        return
    size = oracle.support_size
    for chosen in combinations(range(k), size):
        bits = tuple(int(value in chosen) for value in range(k))
        if truth in chosen:
            yield bits, p / comb(k - 1, size - 1)
        else:
            yield bits, (1 - p) / comb(k - 1, size)


def moments(oracle: FrequencyOracle, members: int, truth: int):
    """Mean, variance and third central moment of S of set 0, and Cov(S_0, S_1), exactly."""
    drawn = [
        (Fraction(sum(bits[:members])), Fraction(sum(bits[members : 2 * members])), chance)
        for bits, chance in supports(oracle, truth)
    ]
    assert sum(chance for *_, chance in drawn) == 1
    mean, other = (sum(one[place] * one[2] for one in drawn) for place in (0, 1))
    return (
        mean,
        sum((s - mean) ** 2 * chance for s, _, chance in drawn),
        sum((s - mean) ** 3 * chance for s, _, chance in drawn),
        sum((s - mean) * (t - other) * chance for s, t, chance in drawn),
    )


@pytest.mark.parametrize(("k", "sets"), SHAPES[:3])
@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE", "RAPPOR"])
@pytest.mark.parametrize("epsilon", ["0.5", "2"])
def test_moments_are_those_of_the_records_enumerated(protocol, k, sets, epsilon):
    oracle = create(protocol, k=k, epsilon=epsilon)
    law = marginal(oracle, sets)
    assert isinstance(law, Marginal)
    m = law.members
    inside, outside = moments(oracle, m, 0), moments(oracle, m, k - 1)
    assert inside[:3] == (law.p, law.moments.at_match, law.moments.third_at_match)
    if sets > 2:  # the last value is in neither of the first two
        assert outside[3] == law.covariances.between_others
    assert outside[:3] == (law.q, law.moments.elsewhere, law.moments.third_elsewhere)
    assert inside[3] == law.covariances.with_truth
    assert law.p - law.q == oracle.p - oracle.q


@pytest.mark.parametrize("protocol", sorted(PROTOCOLS))
def test_sums_of_a_table_s_estimates_are_the_estimates_of_sums(protocol):
    oracle = create(protocol, k=12, epsilon="1")
    rng = np.random.default_rng(7)
    records = perturb(oracle, rng.integers(0, 12, 500), rng)
    counts = support_counts(oracle, records)
    whole = estimate(oracle, counts, 500).frequency.reshape(4, 3).sum(axis=1)
    found = estimate(marginal(oracle, 4), counts.reshape(4, 3).sum(axis=1), 500)
    assert found.frequency == pytest.approx(whole, abs=1e-12)
    assert (found.lower <= found.frequency).all()
    assert (found.frequency <= found.upper).all()


@pytest.mark.parametrize("protocol", ["SS", "OUE", "GRR", "OLH"])
def test_intervals_cover_and_errors_are_those_of_repeated_surveys(protocol):
    """300 surveys of 800; seeded. Bounds are five standard deviations of what 300 repeats give."""
    oracle = create(protocol, k=6, epsilon="1.5")
    law = marginal(oracle, 2)
    rng = np.random.default_rng(11)
    shares = np.array([0.1, 0.25, 0.05, 0.3, 0.1, 0.2])
    truth = shares.reshape(2, 3).sum(axis=1)
    estimates = [
        estimate(
            law,
            support_counts(oracle, perturb(oracle, rng.choice(6, 800, p=shares), rng))
            .reshape(2, 3)
            .sum(axis=1),
            800,
        )
        for _ in range(300)
    ]
    errors = np.array([one.frequency[0] - truth[0] for one in estimates])
    predicted = np.mean([one.standard_error[0] for one in estimates])
    assert errors.std() == pytest.approx(predicted, rel=0.21)
    covered = np.mean([one.lower[0] <= truth[0] <= one.upper[0] for one in estimates])
    assert covered >= 0.95 - 5 * np.sqrt(0.05 * 0.95 / 300)


def test_variance_of_a_set_is_that_of_its_law():
    oracle = create("SS", k=6, epsilon="2")
    law = marginal(oracle, 2)
    f = Fraction(1, 3)
    gap = (law.p - law.q) ** 2
    expected = (f * law.moments.at_match + (1 - f) * law.moments.elsewhere) / gap + f * (1 - f)
    assert law.estimate_variance(f) == expected
    c0, c1, c2 = WeightLaw.of(law).variance_coefficients()
    assert c0 + c1 / 3 + c2 / 9 == pytest.approx(float(expected))


@pytest.mark.parametrize("members", [1, 4, 6, 5])
def test_sets_that_do_not_divide_a_domain_are_refused(members):
    with pytest.raises(InvalidParameter, match=f"members is {members}") as caught:
        Marginal(create("GRR", k=6, epsilon="1"), members)
    assert caught.value.field == "members"


def test_sets_of_one_value_are_the_protocol_itself():
    oracle = create("GRR", k=6, epsilon="1")
    assert marginal(oracle, 6) is oracle
