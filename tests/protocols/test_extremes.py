"""Every protocol at the ends of epsilon and k: no overflow, no nan, and p stays above q."""

from __future__ import annotations

import math
from fractions import Fraction

import numpy as np
import pytest
from conformance import SeededBits, check_epsilon, is_well_formed
from exact_law import Q

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, ReplayBits, create
from hushpoll_protocols.estimation.frequencies import estimate
from hushpoll_protocols.kernels import indicators, malformed, perturb, support_counts

KS = [2, 3, 255, 256, 257, 65535, 65536]
# Above 21 the paper's code swaps keep and lie; above 44, e^epsilon exceeds 2^64.
EPSILONS = ["0.000001", "0.01", "1", "21.5", "44.5", "64"]
SIZES = {
    "GRR": lambda k: 1 if k <= 256 else 2,
    "BLH": lambda k: 18,
    "OLH": lambda k: 18,
}


def _oracles(name: str, k: int, epsilon: str) -> list[FrequencyOracle]:
    """The protocol's own choice of parameters, and the extremes that a manifest may ask for."""
    asked: dict[str, list[dict[str, object]]] = {
        "OLH": [{"g": 2}, {"g": 65536}],
        "SS": [{"omega": 1}, {"omega": k - 1}],
        "THE": [{"theta": "0.5001"}, {"theta": "0.9999"}],
    }
    return [create(name, k=k, epsilon=epsilon, **p) for p in ({}, *asked.get(name, []))]


@pytest.mark.parametrize("epsilon", EPSILONS)
@pytest.mark.parametrize("k", KS)
@pytest.mark.parametrize("name", PROTOCOLS)
def test_law_at_the_extremes(name: str, k: int, epsilon: str) -> None:
    for oracle in _oracles(name, k, epsilon):
        check_epsilon(oracle)
        assert all(0 < threshold < Q for threshold in oracle.thresholds.values())
        size = SIZES.get(name, lambda k: math.ceil(k / 8))
        assert oracle.record_size == size(k)
        for chance in (oracle.p, oracle.q, oracle.variance(Fraction(1, k))):
            assert math.isfinite(float(chance))
            assert float(chance) > 0
        shown = oracle.disclosure()
        assert 0 < shown.best_guess <= shown.largest_posterior <= 1


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", ["0.000001", "1", "64"])
@pytest.mark.parametrize("k", [2, 3, 256, 257, 65536])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_randomize_check_support_round_trip_at_the_extremes(
    name: str, k: int, epsilon: str
) -> None:
    oracle = create(name, k=k, epsilon=epsilon)
    # The largest word that subset sampling never refuses, whatever the range.
    large = Q - 65537
    for value in (0, k - 1):
        for bits in (ReplayBits([0] * (k + 1)), ReplayBits([large] * (k + 1)), SeededBits(value)):
            record = oracle.randomize(value, bits)
            assert len(record) == oracle.record_size
            assert is_well_formed(oracle, record)
            support = oracle.support(record)
            assert list(support) == sorted(set(support))
            assert not support or (support[0] >= 0 and support[-1] < k)
            # An exact probability of 65536 bits has millions of digits; 257 values tell as much.
            outsiders = sorted(set(range(k)) - set(support)) if k <= 257 else []
            if support and outsiders:
                inside, outside = (oracle.probability(record, s[0]) for s in (support, outsiders))
                assert inside == oracle.likelihood_ratio * outside


@pytest.mark.no_cover
@pytest.mark.parametrize("epsilon", ["0.000001", "1", "21.5", "64"])
@pytest.mark.parametrize("k", [2, 257, 65536])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_kernels_and_estimates_at_the_extremes(name: str, k: int, epsilon: str) -> None:
    oracle = create(name, k=k, epsilon=epsilon)
    n = 40
    values = np.resize([0, k - 1, k // 2], n)
    with np.errstate(all="raise"):
        records = perturb(oracle, values, np.random.default_rng(1))
        counts = support_counts(oracle, records)
        estimates = estimate(oracle, counts, n)
    assert records.shape == (n, oracle.record_size)
    assert not malformed(oracle, records).any()
    assert (counts == indicators(oracle, records).sum(0, dtype=np.int64)).all()
    for row in (0, 1, n - 1):
        support = oracle.support(records[row].tobytes())
        assert support == tuple(np.flatnonzero(indicators(oracle, records[row : row + 1])[0]))
    for column in (estimates.frequency, estimates.standard_error, estimates.lower, estimates.upper):
        assert column.shape == (k,)
        assert np.isfinite(column).all()
    assert (estimates.lower <= estimates.frequency).all()
    assert (estimates.frequency <= estimates.upper).all()
    assert (estimates.standard_error >= 0).all()


@pytest.mark.parametrize("name", ["GRR", "RAPPOR", "SS"])
def test_at_the_largest_epsilon_the_truth_comes_through(name: str) -> None:
    # At 64 these lie with a chance below 2^-40: keep and lie swapped would answer anything else.
    oracle = create(name, k=257, epsilon="64")
    records = perturb(oracle, np.arange(257), np.random.default_rng(5))
    assert (indicators(oracle, records) == np.eye(257, dtype=np.uint8)).all()
    bits = SeededBits(1)
    assert [oracle.support(oracle.randomize(v, bits)) for v in range(257)] == [
        (v,) for v in range(257)
    ]
