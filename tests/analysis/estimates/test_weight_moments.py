"""Moments of an audit's weights, from the law alone, are those of all records there are."""

from itertools import product

import numpy as np
import pytest

from hushpoll_analysis.auditing.moments import weights
from hushpoll_analysis.estimates.weight_law import weight_products
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols import PROTOCOLS, create
from hushpoll_protocols.kernels import indicators, perturb

K = 5
SETS = ([0], [2, 3, 4])  # category 1 is in neither
SHARES = (0.3, 0.7)


def expected_products(kinds, oracle):
    """Sum over (truth, support, probability given the truth), the truth even over its set."""
    share = np.zeros(K)
    for codes, mass in zip(SETS, SHARES, strict=True):
        share[codes] = mass / len(codes)
    support = np.array([found for _, found, _ in kinds])
    chance = np.array([share[truth] * given for truth, _, given in kinds])
    debiased = Channel.of(oracle).debias(support)
    excess = debiased.sum(axis=1) - 1
    variance = chance @ excess**2
    c = chance @ (debiased * excess[:, None]) / variance if variance > 1e-12 else np.zeros(K)
    each = weights(support, Channel.of(oracle), c)
    summed = np.stack([each[:, codes].sum(axis=1) for codes in SETS], axis=1)
    found = np.zeros((2, 2, 2))
    for (truth, _, given), row in zip(kinds, summed, strict=True):
        for number, codes in enumerate(SETS):
            if truth in codes:
                found[number] += given / len(codes) * np.outer(row, row)
    return found


@pytest.mark.parametrize("protocol", ["RAPPOR", "OUE", "SS", "THE"])
def test_bit_protocols_by_every_record(protocol):
    oracle = create(protocol, k=K, epsilon="1")
    kinds = []
    for bits in product((0, 1), repeat=K):
        record = bytes([sum(bit << at for at, bit in enumerate(bits))])
        if protocol == "SS" and sum(bits) != int(oracle.parameters["omega"]):
            continue
        kinds += [
            (truth, np.array(bits, np.uint8), float(oracle.probability(record, truth)))
            for truth in range(K)
        ]
    found = weight_products(oracle, [len(one) for one in SETS], SHARES)
    np.testing.assert_allclose(found, expected_products(kinds, oracle), rtol=1e-9)


def test_grr_by_every_record():
    oracle = create("GRR", k=K, epsilon="1")
    one_hot = np.eye(K, dtype=np.uint8)
    kinds = [
        (truth, one_hot[code], float(oracle.probability(bytes([code]), truth)))
        for truth in range(K)
        for code in range(K)
    ]
    found = weight_products(oracle, [len(one) for one in SETS], SHARES)
    np.testing.assert_allclose(found, expected_products(kinds, oracle), rtol=1e-9)


@pytest.mark.parametrize("protocol", ["BLH", "OLH"])
def test_hashes_by_many_records(protocol):
    """80,000 records per truth: 4 % is more than 5 standard errors of these moments."""
    oracle, n = create(protocol, k=K, epsilon="1"), 80_000
    rng = np.random.default_rng(1)
    supports = [indicators(oracle, perturb(oracle, np.full(n, v), rng)) for v in range(K)]
    kinds = []
    for truth, drawn in enumerate(supports):
        patterns, counts = np.unique(drawn, axis=0, return_counts=True)
        kinds += [(truth, one, count / n) for one, count in zip(patterns, counts, strict=True)]
    found = weight_products(oracle, [len(one) for one in SETS], SHARES)
    expected = expected_products(kinds, oracle)
    np.testing.assert_allclose(found, expected, rtol=0.04, atol=0.04 * np.abs(expected).max())


def test_in_clear_the_weights_are_the_truth():
    expected = np.zeros((2, 2, 2))
    expected[0, 0, 0] = expected[1, 1, 1] = 1
    np.testing.assert_array_equal(weight_products(None, [1, 3], SHARES), expected)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_tiny_epsilon_loses_no_digits(protocol):
    """The variance grows as 1/epsilon squared; cancelled digits would show as another power."""
    far, near = (
        weight_products(create(protocol, k=4, epsilon=e), [2, 2], (0.5, 0.5))[0, 0, 0]
        for e in ("0.0001", "0.001")
    )
    assert far / near == pytest.approx(100, rel=0.01)
