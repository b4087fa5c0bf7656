"""Many bit records at once: unary encoding (RAPPOR, OUE, THE), and what bit protocols share."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushpoll_protocols.kernels.blocks import read_only
from hushpoll_protocols.kernels.compilation import njit
from hushpoll_protocols.kernels.interface import Bytes, Codes, Counts, Words
from hushpoll_protocols.oracle import FrequencyOracle
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


_LANES = 255
"""Additions of 0 or 1 that an 8-bit lane holds without a carry into its neighbour."""

_BYTE = np.uint64(0xFF)

_SPREAD = read_only(
    np.array([sum((b >> i & 1) << 8 * i for i in range(8)) for b in range(256)], np.uint64)
)
"""The 8 bits of a byte, each in a byte of its own."""


@njit
def _indicators(records: Bytes, supported: Bytes) -> None:
    """Unpack the bits, least significant first."""
    k = supported.shape[1]
    for i in range(records.shape[0]):
        for v in range(k):
            supported[i, v] = (records[i, v >> 3] >> (v & 7)) & 1


@njit
def _support_counts(records: Bytes, spread: Words, counts: Counts) -> None:
    """Add each column's set bits to `counts`, eight columns per 64-bit addition."""
    n, width = records.shape
    k = counts.shape[0]
    lanes = np.empty(width, np.uint64)
    for start in range(0, n, _LANES):
        lanes[:] = 0
        for i in range(start, min(start + _LANES, n)):
            for j in range(width):
                lanes[j] += spread[records[i, j]]
        for v in range(k):
            counts[v] += (lanes[v >> 3] >> np.uint64(8 * (v & 7))) & _BYTE


def indicators(
    oracle: FrequencyOracle,  # noqa: ARG001 (the interface's signature)
    records: Bytes,
    supported: Bytes,
) -> None:
    """Unpack the bits; see :class:`Kernel`."""
    _indicators(records, supported)


def support_counts(
    oracle: FrequencyOracle,  # noqa: ARG001 (the interface's signature)
    records: Bytes,
    counts: Counts,
) -> None:
    """Count the bits set in each column; see :class:`Kernel`."""
    _support_counts(records, _SPREAD, counts)
