"""How rows are shuffled: every order is as likely, and memory and files are bounded."""

from __future__ import annotations

import tracemalloc
from collections import Counter

import numpy as np
import pytest

from hushpoll_server.store import segments
from hushpoll_server.store.segments import ShuffledRows, permutation, shuffled


def test_permutations_are_uniform():
    counts = Counter(tuple(permutation(4).tolist()) for _ in range(24_000))
    assert len(counts) == 24
    statistic = sum((count - 1000) ** 2 / 1000 for count in counts.values())
    assert statistic < 90  # chi-squared with 23 degrees of freedom exceeds it once in 10^9


@pytest.mark.parametrize("n", [0, 1, 2, 1000])
def test_a_shuffle_keeps_the_rows(n):
    rows = np.arange(3 * n, dtype=np.int64).reshape(n, 3).astype(np.uint8)
    assert sorted(permutation(n).tolist()) == list(range(n))
    assert sorted(map(bytes, shuffled(rows))) == sorted(map(bytes, rows))


@pytest.mark.parametrize("buckets", [False, True])
def test_every_order_of_the_rows_is_as_likely(monkeypatch, buckets):
    """Whether they fit into memory or not: 24 orders of 4 rows, each 100 times in the mean."""
    monkeypatch.setattr(segments, "BUCKET_BYTES", 2 if buckets else 2**20)
    rows = np.arange(4, dtype=np.uint8).reshape(4, 1)
    counts = Counter(
        tuple(int(value) for block in ShuffledRows([rows[:3], rows[3:]], rows=4, record_size=1)
              for value in block.ravel())
        for _ in range(2400)
    )  # fmt: skip
    assert len(counts) == 24
    statistic = sum((count - 100) ** 2 / 100 for count in counts.values())
    assert statistic < 90  # chi-squared with 23 degrees of freedom exceeds it once in 10^9


def test_rows_are_mixed_across_segments_and_buckets(monkeypatch):
    """Each quarter of the input is as likely in each quarter of the output."""
    monkeypatch.setattr(segments, "BUCKET_BYTES", 1000)
    n = 40_000
    rows = np.arange(n, dtype="<u4").view(np.uint8).reshape(n, 4)
    mixed = ShuffledRows(np.array_split(rows, 7), rows=n, record_size=4)
    out = np.concatenate([block.copy() for block in mixed]).view("<u4").ravel()
    assert sorted(out.tolist()) == list(range(n))
    table = np.zeros((4, 4))
    np.add.at(table, (np.arange(n) * 4 // n, out * 4 // n), 1)
    statistic = ((table - n / 16) ** 2 / (n / 16)).sum()
    assert statistic < 65  # chi-squared with 9 degrees of freedom exceeds it once in 10^10


def test_mixing_takes_memory_of_a_few_buckets_and_leaves_no_file(monkeypatch, tmp_path):
    monkeypatch.setattr(segments, "BUCKET_BYTES", 2**18)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    n, size = 500_000, 32  # 16 MB

    def blocks():
        for _ in range(100):
            yield np.zeros((n // 100, size), np.uint8)

    tracemalloc.start()
    try:
        total = sum(len(block) for block in ShuffledRows(blocks(), rows=n, record_size=size))
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert total == n
    assert peak < 4 * 2**20
    assert list(tmp_path.iterdir()) == []
