"""Many records of local hashing (BLH and OLH) at once: perturb, indicators, counts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.kernels.blocks import read_only
from hushpoll_protocols.kernels.compilation import njit
from hushpoll_protocols.kernels.grr import respond
from hushpoll_protocols.kernels.interface import Bytes, Codes, Counts, Words
from hushpoll_protocols.oracles.local_hashing import LocalHashing, finalise

Multipliers = npt.NDArray[np.uint32]

_ONE = np.uint64(1)
_EIGHT = np.uint64(8)
_HALF = np.uint64(32)
_ZERO = np.uint64(0)
_BYTE = np.uint64(0xFF)
_GROUP = 512
"""Records whose hash seeds are unpacked together: 12 KiB, well inside a first-level cache."""


@lru_cache(maxsize=16)
def multipliers(k: int) -> Multipliers:
    """Return m(v) for v in [0, k), the finalised codes that the hash multiplies."""
    return read_only(np.array([finalise(code) for code in range(k)], np.uint32))


@njit
def _perturb(
    values: Codes,
    words: Words,
    mixed: Multipliers,
    g: np.uint64,
    limit: np.uint64,
    lie: np.uint64,
    records: Bytes,
) -> None:
    for i in range(values.shape[0]):
        a = words[i, 0]
        b = words[i, 1]
        truth = (((a * np.uint64(mixed[values[i]]) + b) >> _HALF) * g) >> _HALF
        y = respond(truth, words[i, 2], limit, lie)
        for j in range(8):
            records[i, j] = a & _BYTE
            records[i, 8 + j] = b & _BYTE
            a >>= _EIGHT
            b >>= _EIGHT
        records[i, 16] = y & _BYTE
        records[i, 17] = y >> _EIGHT


@njit
def _unpack(records: Bytes, i: int, g: np.uint64) -> tuple[np.uint64, np.uint64, np.uint64]:
    """Return a, c, w such that h(v) = y if and only if (a*m(v) + c) mod 2^64 < w.

    h(v) = y says that the upper half of a*m(v) + b lies in [ceil(y 2^32/g), ceil((y+1) 2^32/g)), an
    interval; moved to start at 0, it needs a single unsigned comparison.
    """
    a = _ZERO
    b = _ZERO
    for j in range(8):
        a = (a << _EIGHT) | np.uint64(records[i, 7 - j])
        b = (b << _EIGHT) | np.uint64(records[i, 15 - j])
    y = np.uint64(records[i, 16]) | (np.uint64(records[i, 17]) << _EIGHT)
    low = ((y << _HALF) + (g - _ONE)) // g
    high = (((y + _ONE) << _HALF) + (g - _ONE)) // g
    return a, b - (low << _HALF), (high - low) << _HALF


@njit
def _indicators(records: Bytes, mixed: Multipliers, g: np.uint64, supported: Bytes) -> None:
    for i in range(records.shape[0]):
        a, c, w = _unpack(records, i, g)
        for v in range(mixed.shape[0]):
            supported[i, v] = (a * np.uint64(mixed[v]) + c) < w


@njit
def _support_counts(records: Bytes, mixed: Multipliers, g: np.uint64, counts: Counts) -> None:
    # Values outside, records inside: the inner loop is a reduction over three plain arrays, which
    # vectorises whatever k is.
    n = records.shape[0]
    a = np.empty(_GROUP, np.uint64)
    c = np.empty(_GROUP, np.uint64)
    w = np.empty(_GROUP, np.uint64)
    for start in range(0, n, _GROUP):
        size = min(_GROUP, n - start)
        for r in range(size):
            a[r], c[r], w[r] = _unpack(records, start + r, g)
        for v in range(mixed.shape[0]):
            m = np.uint64(mixed[v])
            hits = 0
            for r in range(size):
                if a[r] * m + c[r] < w[r]:
                    hits += 1
            counts[v] += hits


def words_per_record(oracle: LocalHashing) -> int:  # noqa: ARG001 (the interface's signature)
    """Three words: a, b and randomized response's."""
    return 3


def perturb(oracle: LocalHashing, values: Codes, words: Words, records: Bytes) -> Sequence[int]:
    """Fill `records`; no word is ever refused."""
    limit = np.uint64((oracle.g - 1) * oracle.R)
    mixed, g, lie = multipliers(oracle.k), np.uint64(oracle.g), np.uint64(oracle.R)
    _perturb(values, words, mixed, g, limit, lie, records)
    return ()


def indicators(oracle: LocalHashing, records: Bytes, supported: Bytes) -> None:
    """Set the values whose hash is the record's bucket."""
    _indicators(records, multipliers(oracle.k), np.uint64(oracle.g), supported)


def support_counts(oracle: LocalHashing, records: Bytes, counts: Counts) -> None:
    """Count them."""
    _support_counts(records, multipliers(oracle.k), np.uint64(oracle.g), counts)
