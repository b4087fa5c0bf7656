"""Many records of generalized randomized response at once: perturb, indicators, counts."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from hushpoll_protocols.kernels.compilation import njit
from hushpoll_protocols.kernels.interface import Bytes, Codes, Counts, Words
from hushpoll_protocols.oracles.grr import GRR

_ONE = np.uint64(1)


@njit
def respond(value: np.uint64, word: np.uint64, limit: np.uint64, lie: np.uint64) -> np.uint64:
    """Apply randomized response with one word; `limit` is others * lie, below 2^64.

    Local hashing's kernel calls this too, and numba's cache on disk watches the caller's file only:
    after a change here, touch that file as well.
    """
    if word < limit:
        other = word // lie
        return other if other < value else other + _ONE
    return value


@njit
def _perturb(values: Codes, words: Words, limit: np.uint64, lie: np.uint64, records: Bytes) -> None:
    for i in range(values.shape[0]):
        code = respond(np.uint64(values[i]), words[i, 0], limit, lie)
        for j in range(records.shape[1]):
            records[i, j] = (code >> np.uint64(8 * j)) & np.uint64(0xFF)


@njit
def _code(records: Bytes, i: int) -> np.int64:
    code = np.int64(records[i, 0])
    if records.shape[1] == 2:
        code |= np.int64(records[i, 1]) << 8
    return code


@njit
def _indicators(records: Bytes, supported: Bytes) -> None:
    for i in range(records.shape[0]):
        supported[i, _code(records, i)] = 1


@njit
def _support_counts(records: Bytes, counts: Counts) -> None:
    for i in range(records.shape[0]):
        counts[_code(records, i)] += 1


def words_per_record(oracle: GRR) -> int:  # noqa: ARG001 (the interface's signature)
    """One word."""
    return 1


def perturb(oracle: GRR, values: Codes, words: Words, records: Bytes) -> Sequence[int]:
    """Fill `records`; no word is ever refused."""
    limit = np.uint64((oracle.k - 1) * oracle.R)
    _perturb(values, words, limit, np.uint64(oracle.R), records)
    return ()


def indicators(
    oracle: GRR,  # noqa: ARG001 (the interface's signature)
    records: Bytes,
    supported: Bytes,
) -> None:
    """Set the one value that each record names."""
    _indicators(records, supported)


def support_counts(
    oracle: GRR,  # noqa: ARG001 (the interface's signature)
    records: Bytes,
    counts: Counts,
) -> None:
    """Count the values named."""
    _support_counts(records, counts)
