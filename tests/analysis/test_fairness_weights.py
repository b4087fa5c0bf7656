"""Weights that sum to one: unbiased at any constants, least variable at the estimated ones."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis.channel import Channel
from hushpoll_analysis.fairness_weights import excess_shares, shares_from_sums, weights
from hushpoll_shared.batch import encode_many
from hushpoll_shared.manifest import Manifest

SKEWED = Channel(Fraction(1, 2), Fraction(1, 8))


def publish(protocol, k=4, epsilon="1"):
    attribute = {"name": "group", "role": "sensitive", "categories": [f"c{v}" for v in range(k)]}
    draft = {
        "name": "weights",
        "version": 1,
        "title": "Weights",
        "epsilon": epsilon,
        "split": "uniform",
        "protocol": protocol,
        "attributes": [attribute, {"name": "job", "role": "plain", "categories": ["a", "b"]}],
    }
    return Manifest.from_dict(draft).resolve()


def draw(published, n, seed=1):
    rng = np.random.default_rng(seed)
    codes = {
        "group": rng.choice(4, n, p=[0.7, 0.2, 0.08, 0.02]),
        "job": rng.integers(0, 2, n),
    }
    return codes, encode_many(published, codes, rng)


@pytest.mark.parametrize("shares", [[0, 0, 0], [0.2, 0.3, 0.5], [1, -1, 1]])
@pytest.mark.parametrize("truth", [0, 1, 2])
def test_any_constants_leave_the_expectation_at_the_truth(shares, truth):
    sets = np.array(list(itertools.product((0, 1), repeat=3)), dtype=np.uint8)
    chance = np.array(
        [
            np.prod([
                float((SKEWED.p if v == truth else SKEWED.q) if on
                      else 1 - (SKEWED.p if v == truth else SKEWED.q))
                for v, on in enumerate(row)
            ])
            for row in sets
        ]
    )  # fmt: skip
    found = chance @ weights(sets, SKEWED, np.array(shares, dtype=float))
    assert found == pytest.approx(np.eye(3)[truth], abs=1e-12)


@pytest.mark.parametrize("protocol", ["BLH", "OLH", "RAPPOR", "OUE", "THE"])
def test_estimated_shares_sum_to_one_and_so_do_the_weights_of_each_row(protocol):
    published = publish(protocol)
    _, records = draw(published, 3000)
    attribute = published.attribute("group")
    shares = excess_shares(published, records, attribute)
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    sets = np.array(list(itertools.product((0, 1), repeat=4)), dtype=np.uint8)
    found = weights(sets, Channel.of(attribute.oracle), shares)
    assert found.sum(axis=1) == pytest.approx(np.ones(16), abs=1e-9)


@pytest.mark.parametrize("protocol", ["GRR", "SS"])
def test_supports_of_one_size_have_nothing_to_share(protocol):
    published = publish(protocol)
    _, records = draw(published, 3000)
    for name in ("group", "job"):
        assert not excess_shares(published, records, published.attribute(name)).any()


@pytest.mark.parametrize("protocol", ["BLH", "OUE"])
def test_the_variance_is_the_least_that_a_share_of_the_excess_can_give(protocol):
    published = publish(protocol)
    codes, records = draw(published, 4000)
    attribute = published.attribute("group")
    channel = Channel.of(attribute.oracle)
    shares = excess_shares(published, records, attribute)
    sets = np.unpackbits(records[:, :1], axis=1, bitorder="little")[:, :4]
    if protocol == "BLH":
        from hushpoll_analysis.decode import indicator_matrix

        sets = indicator_matrix(published, records, attribute)
    least = weights(sets, channel, shares).var(axis=0)
    for step in (-0.05, 0.05):
        assert (weights(sets, channel, shares + step).var(axis=0) > least).all()
    assert (weights(sets, channel, np.zeros(4)).var(axis=0) > least).all()
    error = np.sqrt(least / 4000)
    share = np.bincount(codes["group"], minlength=4) / 4000
    assert (np.abs(weights(sets, channel, shares).mean(axis=0) - share) < 4 * error).all()


def test_shares_are_the_same_from_sums_and_from_expectations():
    support, sizes = np.array([30.0, 50.0]), np.array([45.0, 70.0])
    once = shares_from_sums(100.0, support, sizes)
    assert once == pytest.approx(shares_from_sums(1.0, support / 100, sizes / 100), rel=1e-12)
    # Cov(I_v, S) = 0.45 - 0.3 * 0.8 and 0.70 - 0.5 * 0.8
    assert once == pytest.approx([0.21 / 0.51, 0.30 / 0.51])
