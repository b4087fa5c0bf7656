"""Exported records counted by the workers of a cluster."""

import numpy as np

from hushpoll_analysis import Records, count
from hushpoll_analysis.records.parquet import count_parquet
from hushpoll_shared import Manifest
from hushpoll_shared.wire.batch import encode_many
from hushpoll_training.learners.cluster import connected


def test_a_cluster_counts_exactly_what_one_machine_counts(cluster, write_parquet, tmp_path):
    attributes = [
        {"name": name, "role": "sensitive", "protocol": protocol, "range": [1, 30]}
        for name, protocol in [("a", "GRR"), ("b", "OLH"), ("c", "OUE"), ("d", "SS")]
    ]
    published = Manifest.from_dict(
        {"name": "big", "version": 1, "title": "Big", "epsilon": "4", "attributes": attributes}
    ).resolve()
    rng = np.random.default_rng(1)
    records = encode_many(published, {n: rng.integers(0, 30, 5000) for n in "abcd"}, rng)
    write_parquet(tmp_path / "big.parquet", published, records, 700)
    with connected(cluster.scheduler_address) as client:
        _, found = count_parquet([tmp_path / "big.parquet"], client=client)
    expected = count(Records(published, records))
    assert found.n == 5000
    for name, support in expected.support.items():
        np.testing.assert_array_equal(found.support[name], support)
