"""Weights that sum to one: unbiased at any constants, least variable at those of the law."""

import itertools
from fractions import Fraction

import numpy as np
import pytest

from hushpoll_analysis import Records
from hushpoll_analysis.auditing.moments import weights
from hushpoll_analysis.estimates.row_weights import RowWeights
from hushpoll_analysis.records.records import Channel
from hushpoll_protocols.estimation.weights import WeightLaw
from hushpoll_shared.drafts.manifest import Manifest
from hushpoll_shared.wire.batch import encode_many

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
    shares = RowWeights.of_records(Records(published, records), attribute.name).shares
    assert shares.sum() == pytest.approx(1, abs=1e-9)
    sets = np.array(list(itertools.product((0, 1), repeat=4)), dtype=np.uint8)
    found = weights(sets, Channel.of(attribute.oracle), shares)
    assert found.sum(axis=1) == pytest.approx(np.ones(16), abs=1e-9)


@pytest.mark.parametrize("protocol", ["GRR", "SS"])
def test_supports_of_one_size_have_nothing_to_share(protocol):
    published = publish(protocol)
    _, records = draw(published, 3000)
    for name in ("group", "job"):
        assert not RowWeights.of_records(Records(published, records), name).shares.any()


@pytest.mark.parametrize("protocol", ["BLH", "OUE"])
def test_the_variance_is_the_least_that_a_share_of_the_excess_can_give(protocol):
    published = publish(protocol)
    codes, records = draw(published, 4000)
    attribute = published.attribute("group")
    channel = Channel.of(attribute.oracle)
    shares = RowWeights.of_records(Records(published, records), attribute.name).shares
    sets = np.unpackbits(records[:, :1], axis=1, bitorder="little")[:, :4]
    if protocol == "BLH":
        sets = Records(published, records).indicators(attribute.name)
    least = weights(sets, channel, shares).var(axis=0)
    for step in (-0.05, 0.05):
        assert (weights(sets, channel, shares + step).var(axis=0) > least).all()
    assert (weights(sets, channel, np.zeros(4)).var(axis=0) > least).all()
    error = np.sqrt(least / 4000)
    share = np.bincount(codes["group"], minlength=4) / 4000
    assert (np.abs(weights(sets, channel, shares).mean(axis=0) - share) < 4 * error).all()


@pytest.mark.parametrize("protocol", ["BLH", "OLH", "RAPPOR", "OUE", "THE", "GRR", "SS"])
def test_mean_weights_are_the_estimated_frequencies(protocol):
    published = publish(protocol)
    _, records = draw(published, 2000)
    attribute = published.attribute("group")
    shares = RowWeights.of_records(Records(published, records), attribute.name).shares
    sets = Records(published, records).indicators(attribute.name)
    found = weights(sets, Channel.of(attribute.oracle), shares).mean(axis=0)
    debiased = Channel.of(attribute.oracle).debias(sets).mean(axis=0)
    assert found == pytest.approx(WeightLaw.of(attribute.oracle).frequencies(debiased), abs=1e-12)
