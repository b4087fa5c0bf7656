"""Checks of arguments and of many records with numpy alone, so that checking loads no numba."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels.blocks import read_only
from hushpoll_protocols.kernels.interface import PADDING, POPCOUNT, RANGE, Bytes
from hushpoll_protocols.oracle import FrequencyOracle
from hushpoll_protocols.record_forms import CodeForm, RecordForm

Numbers = npt.NDArray[np.int32]

_WORD_BYTES = 8


def checked_values(oracle: FrequencyOracle, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the values as contiguous codes of the domain, or say which is none by its index."""
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise InvalidParameter(
            f"values has dtype {codes.dtype} and shape {codes.shape}; "
            "give a one-dimensional integer array of codes",
            field="values",
        )
    outside = (codes < 0) | (codes >= oracle.k)
    if outside.any():
        raise InvalidParameter(
            f"values[{int(outside.argmax())}] is not a code in [0, {oracle.k - 1}]; "
            "give the index of the answer's category (the value itself is not shown)",
            field="values",
        )
    return read_only(codes.astype(np.int64))


def checked_records(
    oracle: FrequencyOracle, records: npt.NDArray[np.uint8]
) -> npt.NDArray[np.uint8]:
    """Return the records if they have the protocol's dtype and shape."""
    if (
        not isinstance(records, np.ndarray)
        or records.dtype != np.uint8
        or records.ndim != 2
        or records.shape[1] != oracle.record_size
    ):
        got = (
            f"dtype {records.dtype} and shape {records.shape}"
            if isinstance(records, np.ndarray)
            else f"type {type(records).__name__}"
        )
        raise InvalidParameter(
            f"records has {got}; give a uint8 array of shape (n, {oracle.record_size}), the size "
            f"of a {oracle.name} record over {oracle.k} values",
            field="records",
        )
    return records


def mark_malformed(form: RecordForm, records: Bytes, reasons: Bytes) -> None:
    """Set `reasons` (n), which starts at zero, to an index into ``MALFORMED_REASONS``.

    Parameters
    ----------
    form : RecordForm
        Form of the protocol's records.
    records : uint8[n, record_size]
        Need not be contiguous.
    reasons : uint8[n]
        Written in place; where a record is malformed in two ways, the reason that one record's
        check gives.
    """
    if isinstance(form, CodeForm):
        reasons[_codes(records[:, form.seed_size :]) >= form.below] = RANGE
        return
    if form.omega is not None:
        reasons[_popcounts(records) != form.omega] = POPCOUNT
    used = form.k & 7
    if used:
        reasons[records[:, -1] >= 1 << used] = PADDING


def _codes(part: Bytes) -> Numbers:
    codes: Numbers = part[:, 0].astype(np.int32)
    if part.shape[1] == 2:
        codes |= part[:, 1].astype(np.int32) << 8
    return codes


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
