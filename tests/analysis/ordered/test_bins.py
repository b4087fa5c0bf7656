"""Many numbers in few bins: chosen from the scale, exact in clear, judged before any answer."""

from __future__ import annotations

import numpy as np
import pytest

from hushpoll_analysis.ordered.bins import MOST, binned, has_bins
from hushpoll_analysis.records.counts import Counts, PairCounts
from hushpoll_analysis.records.source import OfCounts
from hushpoll_shared.drafts.manifest import Manifest


def survey(epsilon="2", **asked):
    attribute = {"name": "q", "role": "sensitive", "protocol": "SS", "range": [17, 90], **asked}
    if attribute["role"] == "plain":
        del attribute["protocol"]
    other = {"name": "o", "role": "sensitive", "protocol": "GRR", "categories": ["a", "b"]}
    draft = {"name": "s", "version": 1, "title": "S", "epsilon": epsilon}
    return Manifest.from_dict({**draft, "attributes": [attribute, other]}).resolve()


def source(published, support, n):
    counts = Counts(n, {"q": np.asarray(support), "o": np.array([n, 0])})
    return OfCounts(published, PairCounts(counts, {}))


def test_bins_begin_at_multiples_of_a_round_width_and_are_exact_in_clear():
    published = survey(role="plain")
    support = np.arange(74)
    found = binned(source(published, support, int(support.sum())), "q", confidence=0.95)
    labels = [one.label for one in found.bins]
    assert labels == [
        "17 to 19", *(f"{low} to {low + 9}" for low in range(20, 90, 10)), "90",
    ]  # fmt: skip
    assert len(labels) <= MOST
    shares = [one.share.value for one in found.bins]
    assert shares[0] == pytest.approx((0 + 1 + 2) / support.sum())
    assert sum(shares) == pytest.approx(1)
    assert not found.noisy


def test_bin_of_randomised_answers_is_the_sum_of_its_categories_and_covers_it():
    published = survey()
    oracle = published.attribute("q").oracle
    n, share = 50_000, np.ones(74) / 74
    p, q = float(oracle.p), float(oracle.q)
    rng = np.random.default_rng(4)
    support = rng.binomial(n, q + share * (p - q))
    found = binned(source(published, support, n), "q", confidence=0.999)
    assert sum(one.share.value for one in found.bins) == pytest.approx(1, abs=1e-6)
    for one, count in zip(found.bins, [3, *[10] * 7, 1], strict=True):
        assert one.share.lower <= count / 74 <= one.share.upper
    assert not found.noisy


def test_bins_of_few_reports_are_too_noisy_whatever_they_say():
    published = survey(epsilon="0.2")
    found = binned(source(published, [0] * 73 + [60], 60), "q", confidence=0.95)
    assert found.noisy


@pytest.mark.parametrize(
    ("asked", "has"),
    [
        ({}, True),
        ({"missing": "none"}, True),
        ({"range": [1, 20]}, False),
        ({"range": [1, 2001]}, False),
        ({"range": None, "categories": [f"c{one}" for one in range(30)]}, False),
        ({"range": None, "categories": [f"{one}.5" for one in range(30)]}, False),
        ({"range": None, "categories": [f"{one} to {one + 4}" for one in range(0, 150, 5)]}, False),
    ],
)
def test_only_many_whole_numbers_have_bins(asked, has):
    asked = {"role": "sensitive", "protocol": "SS", "range": [17, 90], **asked}
    if asked["range"] is None:
        del asked["range"]
    draft = {"name": "s", "version": 1, "title": "S", "epsilon": "2"}
    attribute = {"name": "q", **asked}
    published = Manifest.from_dict({**draft, "attributes": [attribute]}).resolve()
    assert has_bins(published.attribute("q")) is has
