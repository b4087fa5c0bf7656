"""Which records are malformed, by numpy alone: whoever only takes records in never loads numba."""

from __future__ import annotations

from functools import singledispatch

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.kernels.interface import PADDING, POPCOUNT, RANGE, Bytes
from hushpoll_protocols.oracle import FrequencyOracle
from hushpoll_protocols.oracles.grr import GRR
from hushpoll_protocols.oracles.local_hashing import LocalHashing
from hushpoll_protocols.oracles.ss import SS
from hushpoll_protocols.oracles.unary import UnaryEncoding

Numbers = npt.NDArray[np.int32]

_WORD_BYTES = 8


@singledispatch
def mark_malformed(oracle: FrequencyOracle, records: Bytes, reasons: Bytes) -> None:
    """Set `reasons` (n), which starts at zero, to an index into ``MALFORMED_REASONS``.

    A protocol registers its own check here, for its class or its family's.

    Parameters
    ----------
    oracle : FrequencyOracle
        Protocol and thresholds.
    records : uint8[n, record_size]
        Need not be contiguous.
    reasons : uint8[n]
        Written in place.
    """
    raise NotImplementedError(f"{type(oracle).__name__} has no check of many records")


@mark_malformed.register
def _(oracle: GRR, records: Bytes, reasons: Bytes) -> None:
    """Mark codes outside [0, k)."""
    reasons[_code(records) >= oracle.k] = RANGE


@mark_malformed.register
def _(oracle: LocalHashing, records: Bytes, reasons: Bytes) -> None:
    """Mark buckets outside [0, g)."""
    reasons[_code(records[:, 16:]) >= oracle.g] = RANGE


@mark_malformed.register
def _(oracle: UnaryEncoding, records: Bytes, reasons: Bytes) -> None:
    """Mark rows with a pad bit set."""
    _mark_padding(records, oracle.k, reasons)


@mark_malformed.register
def _(oracle: SS, records: Bytes, reasons: Bytes) -> None:
    """Mark rows that do not hold omega values, and rows with a pad bit set, whatever they hold."""
    reasons[_popcounts(records) != oracle.omega] = POPCOUNT
    _mark_padding(records, oracle.k, reasons)


def _code(part: Bytes) -> Numbers:
    code: Numbers = part[:, 0].astype(np.int32)
    if part.shape[1] == 2:
        code |= part[:, 1].astype(np.int32) << 8
    return code


def _mark_padding(records: Bytes, k: int, reasons: Bytes) -> None:
    used = k & 7
    if used:
        reasons[records[:, -1] >= 1 << used] = PADDING


def _popcounts(records: Bytes) -> Numbers:
    n, width = records.shape
    total: Numbers = np.zeros(n, np.int32)
    if width < _WORD_BYTES:
        for place in range(width):
            total += np.bitwise_count(records[:, place])
        return total
    # Whole words are counted at once; the last one is filled up with zeros.
    padded = np.zeros((n, -(-width // _WORD_BYTES) * _WORD_BYTES), np.uint8)
    padded[:, :width] = records
    return np.bitwise_count(padded.view(np.uint64)).sum(axis=1, dtype=np.int32, out=total)
