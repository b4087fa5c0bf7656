"""Indicators and support counts of many bit records, the same for every such protocol."""

from __future__ import annotations

import numpy as np

from hushpoll_protocols.kernels.blocks import read_only
from hushpoll_protocols.kernels.compilation import njit
from hushpoll_protocols.kernels.interface import Bytes, Counts, Words
from hushpoll_protocols.oracle import FrequencyOracle

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
