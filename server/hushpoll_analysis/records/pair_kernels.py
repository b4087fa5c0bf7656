"""Compiled loops of ``counts.count_pairs``: a category is a string of bits, one per record."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.kernels.compilation import njit

Cells = npt.NDArray[np.int64]
Bits = npt.NDArray[np.uint64]


@njit
def set_codes(codes: Cells, bits: Bits) -> None:
    """Set bit i of row v of `bits` where ``codes[i]`` is v."""
    for i in range(codes.shape[0]):
        bits[codes[i], i >> 6] |= np.uint64(1) << np.uint64(i & 63)


@njit
def set_indicators(supported: npt.NDArray[np.uint8], bits: Bits) -> None:
    """Set bit i of row v of `bits` where ``supported[i, v]`` is 1."""
    n, k = supported.shape
    word = np.empty(k, np.uint64)
    for group in range(bits.shape[1]):
        word[:] = 0
        for i in range(64 * group, min(n, 64 * group + 64)):
            place = np.uint64(i & 63)
            for v in range(k):
                word[v] |= np.uint64(supported[i, v]) << place
        bits[:, group] = word


@njit
def _popcount(x: np.uint64) -> np.uint64:
    # The compiler knows this form and replaces it by the processor's instructions.
    x = x - ((x >> np.uint64(1)) & np.uint64(0x5555555555555555))
    x = (x & np.uint64(0x3333333333333333)) + ((x >> np.uint64(2)) & np.uint64(0x3333333333333333))
    x = (x + (x >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    return (x * np.uint64(0x0101010101010101)) >> np.uint64(56)


@njit
def count_bits(bits: Bits, later: Cells, support: Cells, both: Cells) -> None:
    """Count each row's bits, and those it shares with the rows of later attributes."""
    width, words = bits.shape
    for u in range(width):
        ones = np.uint64(0)
        for j in range(words):
            ones += _popcount(bits[u, j])
        support[u] = ones
        if ones == np.uint64(0):
            continue
        for v in range(later[u], width):
            shared = np.uint64(0)
            for j in range(words):
                shared += _popcount(bits[u, j] & bits[v, j])
            both[u, v] = shared
