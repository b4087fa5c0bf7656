"""Shares of groups in an audit have the interval of estimates, and cover where a group is small."""

import numpy as np
import pytest

from hushpoll_analysis.estimates.frequencies import frequencies_from_counts
from hushpoll_analysis.estimates.set_shares import group_share, shares_of_sets
from hushpoll_analysis.records.counts import Counts
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.kernels import indicators, perturb
from hushpoll_shared import Manifest


def published(protocol, k, epsilon):
    return Manifest.from_dict(
        {
            "name": "groups",
            "version": 1,
            "title": "Groups",
            "epsilon": epsilon,
            "protocol": protocol,
            "attributes": [{"name": "group", "role": "sensitive", "range": [1, k]}],
        }
    ).resolve()


def draw(oracle, shares, n, rng):
    """Return support counts; bits and hashes are independent given the truth."""
    if oracle.support_size is not None:
        values = rng.choice(len(shares), n, p=shares)
        return indicators(oracle, perturb(oracle, values, rng)).sum(axis=0, dtype=np.int64)
    people = rng.multinomial(n, shares)
    p, q = float(oracle.p), float(oracle.q)
    return rng.binomial(people, p) + rng.binomial(n - people, q)


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_share_of_one_category_is_its_estimate(protocol):
    survey = published(protocol, 4, "1")
    attribute = survey.attribute("group")
    support = draw(attribute.oracle, [0.6, 0.3, 0.06, 0.04], 500, np.random.default_rng(1))
    (estimate,) = frequencies_from_counts(survey, Counts(500, {"group": support}))
    for code in range(4):
        found = group_share(attribute, support, 500, [code], confidence=0.95)
        expected = [
            getattr(estimate, name)[code]
            for name in ("frequency", "standard_error", "lower", "upper")
        ]
        assert [found.value, found.standard_error, found.lower, found.upper] == pytest.approx(
            expected, rel=1e-6, abs=1e-9
        )


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_sets_of_several_sizes_have_the_shares_that_each_has_alone_in_their_order(protocol):
    attribute = published(protocol, 4, "1").attribute("group")
    support = draw(attribute.oracle, [0.6, 0.3, 0.06, 0.04], 500, np.random.default_rng(1))
    sets = [[3], [0, 1], [2], [1, 2, 3], [0, 3]]
    shares = shares_of_sets(attribute, support, 500, sets, confidence=0.9)
    alone = [group_share(attribute, support, 500, codes, confidence=0.9) for codes in sets]
    for share, other in zip(shares, alone, strict=True):
        assert list(share.to_dict().values()) == pytest.approx(list(other.to_dict().values()))


@pytest.mark.parametrize("share", [0.01, 0.005])
@pytest.mark.parametrize(("protocol", "epsilon"), [("OUE", "8"), ("OUE", "4"), ("RAPPOR", "8")])
def test_a_small_group_is_covered_in_a_small_survey(protocol, epsilon, share):
    """1.96 standard errors covered 66 % (1 %) and 44 % (0.5 %) with OUE at epsilon 8, n = 200."""
    attribute = published(protocol, 2, epsilon).attribute("group")
    rng, hits, surveys = np.random.default_rng(2), 0, 250
    for _ in range(surveys):
        support = draw(attribute.oracle, [share, 1 - share], 200, rng)
        found = group_share(attribute, support, 200, [0], confidence=0.95)
        hits += found.lower <= share <= found.upper
    assert hits / surveys > 0.91


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_the_share_of_several_categories_is_covered(protocol):
    attribute = published(protocol, 5, "2").attribute("group")
    shares, rng = [0.2, 0.1, 0.05, 0.35, 0.3], np.random.default_rng(3)
    found = [
        group_share(
            attribute, draw(attribute.oracle, shares, 300, rng), 300, [0, 2], confidence=0.95
        )
        for _ in range(300)
    ]
    hits = np.mean([one.lower <= 0.25 <= one.upper for one in found])
    values = np.array([one.value for one in found])
    assert abs(hits - 0.95) < 4 * (0.95 * 0.05 / 300) ** 0.5 + 0.01
    assert np.mean(values) == pytest.approx(0.25, abs=4 * values.std() / 300**0.5)
    # a standard deviation of 300 has a standard error of 4 %
    assert found[0].standard_error == pytest.approx(values.std(), rel=0.2)
