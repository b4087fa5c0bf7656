"""Coins of rows: random decisions that stay the same for the same row."""

from __future__ import annotations

import hashlib

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hushpoll_training.learners.design import Table

KEY_BYTES = 16


def row_coins(table: Table, key: bytes) -> npt.NDArray[np.float64]:
    """Return the coin of each row, f64[n] in [0, 1): a keyed hash of its features.

    Dense and sparse rows of the same values have the same coins, which are uniform over the choice
    of the key.
    """
    rows = csr_matrix(table, dtype=np.float64)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    coins = np.empty(rows.shape[0])
    for row in range(rows.shape[0]):
        start, stop = rows.indptr[row], rows.indptr[row + 1]
        digest = hashlib.blake2b(key=key, digest_size=8)
        digest.update(rows.indices[start:stop].astype("<i8").tobytes())
        digest.update(rows.data[start:stop].astype("<f8").tobytes())
        coins[row] = int.from_bytes(digest.digest(), "little") >> 11
    return coins / 2.0**53
