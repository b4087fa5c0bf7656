"""Array side of the protocol that `test_adding.py` adds; a kernel need not be compiled."""

from __future__ import annotations

import numpy as np

from hushpoll_protocols.kernels.unary import indicators, support_counts

__all__ = ["indicators", "perturb", "support_counts", "words_per_record"]


def words_per_record(oracle):
    return 1 + oracle.support_size


def perturb(oracle, values, words, records):
    size, n = oracle.support_size, len(values)
    keep = words[:, 0] < np.uint64(oracle.P)
    others = oracle.k - 1
    first = (words[:, 1] % np.uint64(others)).astype(np.int64)
    members = [first, first]
    refused = np.zeros(n, bool)
    for place in range(size):
        left = others - place
        refused |= words[:, 1 + place] > np.uint64(2**64 - 1 - 2**64 % left)
    if size == 2:
        second = (words[:, 2] % np.uint64(others - 1)).astype(np.int64)
        members[1] = second + (second >= first)
    rows = np.arange(n)
    supported = np.zeros((n, oracle.k), bool)
    # The i-th of the other values is i, or i + 1 from the truth on.
    taken = [other + (other >= values) for other in members]
    supported[rows[keep], values[keep]] = True
    if size == 2:
        supported[rows[keep], taken[0][keep]] = True
    for member in taken:
        supported[rows[~keep], member[~keep]] = True
    records[:] = np.packbits(supported, axis=1, bitorder="little")
    return [int(row) for row in np.flatnonzero(refused)]
