"""Support counts are the column sums of the indicators, by another way through the kernels."""

import numpy as np
import pytest

from hushpoll_analysis import Counts, Records, RecordStream, count
from hushpoll_protocols import PROTOCOLS
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many


def survey(protocol="GRR"):
    return Manifest.from_dict(
        {
            "name": "counting",
            "version": 1,
            "title": "Counting",
            "epsilon": "3",
            "protocol": protocol,
            "attributes": [
                {"name": "area", "role": "plain", "range": [1, 300]},
                {"name": "age", "role": "sensitive", "range": [1, 9], "missing": "not said"},
                {"name": "pay", "role": "target", "categories": ["low", "high"]},
            ],
        }
    ).resolve()


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_counts_are_the_column_sums_of_the_indicators(protocol):
    published = survey(protocol)
    rng = np.random.default_rng(4)
    codes = {one.name: rng.integers(0, one.k, 700) for one in published.attributes}
    records = encode_many(published, codes, rng)
    found = count(Records(published, records))
    assert found.n == 700
    assert list(found.support) == ["area", "age", "pay"]
    for name in found.support:
        indicators = Records(published, records).indicators(name)
        assert found.support[name].tolist() == indicators.sum(axis=0).tolist()
    assert found.support["pay"].tolist() == np.bincount(codes["pay"]).tolist()


def test_nothing_is_counted_from_nothing():
    published = survey()
    found = count(RecordStream(published, []))
    assert found.n == 0
    assert {name: support.sum() for name, support in found.support.items()} == {
        "area": 0,
        "age": 0,
        "pay": 0,
    }
    assert found.support.keys() == Counts.none(published).support.keys()
