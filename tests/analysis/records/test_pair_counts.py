"""Joint counts of every pair in one pass: the same as counting each pair by itself."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from hushpoll_analysis import Records, RecordStream
from hushpoll_analysis.records import counts as counting
from hushpoll_analysis.records.counts import PairCounts, count, count_pairs, paired
from hushpoll_analysis.records.pairs import joint_counts
from hushpoll_protocols import PROTOCOLS
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many

# One attribute for each protocol, of sizes on both sides of a byte and of a word of bits.
SIZES = (2, 7, 8, 9, 64, 65, 3)


@pytest.fixture(scope="module")
def published():
    attributes = [
        {
            "name": name.lower(),
            "role": "sensitive",
            "protocol": name,
            "categories": [f"{name}-{code}" for code in range(k)],
        }
        for name, k in zip(PROTOCOLS, SIZES, strict=True)
    ]
    attributes += [
        {"name": "small", "role": "plain", "categories": ["a", "b", "c"]},
        {"name": "large", "role": "plain", "range": [1, 300]},
    ]
    document = {
        "name": "pairs",
        "version": 1,
        "title": "Pairs",
        "epsilon": "7",
        "split": "uniform",
        "attributes": attributes,
    }
    return Manifest.from_dict(document).resolve()


def records_of(published, n, seed=5):
    rng = np.random.default_rng(seed)
    codes = {one.name: rng.integers(0, one.k, n) for one in published.attributes}
    return encode_many(published, codes, rng)


@pytest.mark.parametrize("n", [0, 1, 63, 64, 65, 1000])
def test_every_pair_is_counted_as_by_itself(published, n):
    records = records_of(published, n)
    found = count_pairs(Records(published, records))
    assert found.counts.n == n
    alone = count(Records(published, records))
    for one in published.attributes:
        assert found.counts.support[one.name].tolist() == alone.support[one.name].tolist()
    for one, two in combinations(published.attributes, 2):
        expected = joint_counts(Records(published, records), one.name, two.name)
        for both, first, second in (
            (expected.both, expected.first, expected.second),
            (expected.both.T, expected.second, expected.first),
        ):
            names = (one.name, two.name) if both is expected.both else (two.name, one.name)
            kept = found.of_pair(*names)
            assert kept is not None
            assert kept.n == n
            assert kept.both.tolist() == both.tolist()
            assert (kept.first.tolist(), kept.second.tolist()) == (
                first.tolist(),
                second.tolist(),
            )


def test_blocks_add_up(published, monkeypatch):
    monkeypatch.setattr(counting, "ROWS", 100)
    records = records_of(published, 730)
    whole = count_pairs(Records(published, records))
    parts = count_pairs(
        RecordStream.trusted(published, [records[:1], records[1:400], records[400:]])
    )
    assert parts.pack() == whole.pack()
    sum_of_parts = count_pairs(Records(published, records[:300])) + count_pairs(
        Records(published, records[300:])
    )
    assert sum_of_parts.pack() == whole.pack()


def test_what_is_packed_is_read_back(published):
    found = count_pairs(Records(published, records_of(published, 200)))
    again = PairCounts.unpack(published, 200, *found.pack())
    assert again.counts.n == 200
    assert again.pack() == found.pack()
    assert list(again.joint) == list(found.joint)
    with pytest.raises(InvalidParameter, match="count its segments again"):
        PairCounts.unpack(published, 200, found.pack()[0], found.pack()[1][:-8])


def test_pairs_of_the_smallest_domains_are_kept_up_to_a_bound(published, monkeypatch):
    assert paired(published) == published.attributes
    monkeypatch.setattr(counting, "PAIRED_CATEGORIES", sum(SIZES) + 3)
    kept = [one.name for one in paired(published)]
    assert kept == [one.name for one in published.attributes][:-1]
    records = records_of(published, 150)
    found = count_pairs(Records(published, records))
    assert found.of_pair("small", "large") is None
    assert found.of_pair("large", "small") is None
    codes = records[:, -2].astype(int) + 256 * records[:, -1].astype(int)
    expected = np.bincount(codes, minlength=300)
    assert found.counts.support["large"].tolist() == expected.tolist()
    monkeypatch.setattr(counting, "PAIRED_CATEGORIES", 1)
    none = count_pairs(Records(published, records))
    assert none.joint == {}
    assert none.counts.support["grr"].tolist() == found.counts.support["grr"].tolist()
