"""Perturbing many values at once by subset selection."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.kernels.compilation import njit
from hushpoll_protocols.kernels.interface import Bytes, Codes, Words
from hushpoll_protocols.kernels.unary import indicators, support_counts
from hushpoll_protocols.oracles.ss import SS

__all__ = ["indicators", "perturb", "support_counts", "words_per_record"]

_ONE = np.uint64(1)
_LAST = np.uint64(2**64 - 1)


@njit
def _perturb(
    values: Codes,
    words: Words,
    k: int,
    omega: int,
    keep_below: np.uint64,
    records: Bytes,
    refused: npt.NDArray[np.bool_],
) -> None:
    others = k - 1
    for i in range(values.shape[0]):
        value = values[i]
        keep = words[i, 0] < keep_below
        size = omega - 1 if keep else omega
        # Floyd's set of chosen values is the record itself: the truth's bit is set last.
        for step in range(size):
            last = np.int64(others - size + step)
            m = np.uint64(last + 1)
            word = words[i, 1 + step]
            # word >= floor(2^64/m)*m; 2^64 mod m is one more than (2^64 - 1) mod m, modulo m.
            if word > _LAST - (_LAST % m + _ONE) % m:
                refused[i] = True
                break
            index = np.int64(word % m)
            member = index if index < value else index + 1
            if records[i, member >> 3] >> (member & 7) & 1:
                member = last if last < value else last + 1
            records[i, member >> 3] |= 1 << (member & 7)
        if keep:
            records[i, value >> 3] |= 1 << (value & 7)


def words_per_record(oracle: SS) -> int:
    """One word for keeping the truth, and one per member of the larger subset."""
    return 1 + oracle.omega


def perturb(oracle: SS, values: Codes, words: Words, records: Bytes) -> Sequence[int]:
    """Fill `records`; return the rows in which a word was refused (< 2^-47 per word)."""
    refused = np.zeros(len(values), np.bool_)
    _perturb(values, words, oracle.k, oracle.omega, np.uint64(oracle.P), records, refused)
    return [int(row) for row in np.flatnonzero(refused)]
