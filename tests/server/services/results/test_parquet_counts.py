"""What Dask counts in an exported file is what one machine counts in the segments."""

import numpy as np
import pytest

from hushpoll_analysis import RecordStream, count
from hushpoll_analysis.records.parquet import count_parquet
from hushpoll_protocols.errors import InvalidParameter

VERSION = "/api/v1/surveys/work/versions/1"


def test_counts_of_parquet_are_those_of_one_machine(site, tmp_path):
    published = site.publish()
    site.fill(published, 200)
    path = tmp_path / "work.parquet"
    path.write_bytes(site.get(f"{VERSION}/records?format=parquet").data)
    blocks = site.services.segments.blocks(1, published.layout.record_size)
    expected = count(RecordStream.trusted(published, blocks))
    again, found = count_parquet([path, path])
    assert again == published
    assert found.n == 2 * expected.n == 400
    for name, support in expected.support.items():
        np.testing.assert_array_equal(found.support[name], 2 * support)
    other = tmp_path / "other.parquet"
    other.write_bytes(site.get(f"{VERSION}/records?format=parquet&content=indicators").data)
    with pytest.raises(InvalidParameter, match="content records"):
        count_parquet([other])
    with pytest.raises(InvalidParameter, match="at least one"):
        count_parquet([])
