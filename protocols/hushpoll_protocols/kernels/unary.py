"""Perturbing many values at once by unary encoding (RAPPOR, OUE and THE)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushpoll_protocols.kernels.bit_records import indicators, support_counts
from hushpoll_protocols.kernels.compilation import njit
from hushpoll_protocols.kernels.interface import Bytes, Codes, Words
from hushpoll_protocols.oracles.unary import UnaryEncoding

__all__ = ["indicators", "perturb", "support_counts", "words_per_record"]


@njit
def _perturb(
    values: Codes, words: Words, truth: np.uint64, other: np.uint64, records: Bytes
) -> None:
    k = words.shape[1]
    for i in range(values.shape[0]):
        for j in range(records.shape[1]):
            byte = 0
            for bit in range(min(8, k - 8 * j)):
                byte |= int(words[i, 8 * j + bit] < other) << bit
            records[i, j] = byte
        value = values[i]
        mask = 1 << (value & 7)
        if words[i, value] < truth:
            records[i, value >> 3] |= mask
        else:
            records[i, value >> 3] &= ~mask


def words_per_record(oracle: UnaryEncoding) -> int:
    """One word per category."""
    return oracle.k


def perturb(oracle: UnaryEncoding, values: Codes, words: Words, records: Bytes) -> Sequence[int]:
    """Fill `records`; no word is ever refused."""
    _perturb(values, words, np.uint64(oracle.P), np.uint64(oracle.R), records)
    return ()
