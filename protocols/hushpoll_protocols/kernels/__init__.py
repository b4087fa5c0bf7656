"""Array kernels: many records at once, bit for bit what the scalar side does (extra ``kernels``).

Each protocol's kernel module (named by the registry, imported when first used) works on one block
of rows; this module checks the arguments, cuts the rows into blocks and runs the blocks on threads.
"""

from __future__ import annotations

import importlib
import importlib.util
from collections.abc import Callable, Iterator
from functools import partial
from threading import Lock
from typing import cast

from hushpoll_protocols.errors import InvalidParameter, MalformedRecord, MissingExtra, refusal_of
from hushpoll_protocols.oracle import FrequencyOracle
from hushpoll_protocols.record_forms import CodeForm, RecordForm
from hushpoll_protocols.registry import PROTOCOLS

try:
    import numpy as np
    import numpy.typing as npt
except ImportError as error:
    raise MissingExtra("kernels", "the array side of the protocols") from error
# numba is slow to import, so it is looked for here and loaded with the first kernel.
if importlib.util.find_spec("numba") is None:
    raise MissingExtra("kernels", "the array side of the protocols")

from hushpoll_protocols.kernels.blocks import CELLS_PER_BLOCK, read_only, run, spans
from hushpoll_protocols.kernels.interface import (
    MALFORMED_REASONS,
    PADDING,
    POPCOUNT,
    RANGE,
    Bytes,
    Kernel,
)
from hushpoll_protocols.kernels.words import WORDS_PER_BLOCK, GeneratorBits, draw

__all__ = [
    "MALFORMED_REASONS",
    "indicators",
    "malformed",
    "perturb",
    "support_counts",
]


def perturb(
    oracle: FrequencyOracle, values: npt.ArrayLike, rng: np.random.Generator
) -> npt.NDArray[np.uint8]:
    """Perturb many values. For simulation: a device draws from :class:`SecureBits` instead.

    Parameters
    ----------
    oracle : FrequencyOracle
        Protocol and thresholds.
    values : int array, shape (n,)
        Codes in [0, k); any integer dtype.
    rng : numpy.random.Generator
        Source of the words. Row i takes the i-th group of consecutive words, in the scalar side's
        order, so the same seed gives the same records however the rows are cut into blocks.

    Returns
    -------
    uint8 array, shape (n, record_size)

    Raises
    ------
    InvalidParameter
        `values` is not a 1-D integer array of codes of the domain (the first index at fault is
        named, never the value: it is an answer), or `rng` is no Generator.
    """
    codes = checked_values(oracle, values)
    if not isinstance(rng, np.random.Generator):
        raise refusal_of("rng")(
            f"is of type {type(rng).__name__}, not a numpy.random.Generator; give "
            "numpy.random.default_rng(seed)"
        )
    kernel = _kernel(oracle)
    width = kernel.words_per_record(oracle)
    records = np.zeros((len(codes), oracle.record_size), np.uint8)
    refused: list[tuple[int, list[int]]] = []

    def block(rows: slice, words: npt.NDArray[np.uint64]) -> None:
        for row in kernel.perturb(oracle, codes[rows], words, records[rows]):
            refused.append((rows.start + row, words[row].tolist()))

    def blocks() -> Iterator[Callable[[], None]]:
        # A generator: the words of a block are drawn, here in the caller's thread and in order,
        # when a thread is free to take it, so few blocks of words exist at any time.
        for rows in spans(len(codes), WORDS_PER_BLOCK // width):
            yield partial(block, rows, draw(rng, rows.stop - rows.start, width))

    run(blocks())
    # Last, and in order of rows, so that the words they take do not depend on the blocks.
    for row, words in sorted(refused):
        record = oracle.randomize(int(codes[row]), GeneratorBits(rng, words))
        records[row] = np.frombuffer(record, np.uint8)
    return records


def indicators(oracle: FrequencyOracle, records: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Return the indicator vector of each record's support, the homogeneous encoding.

    Parameters
    ----------
    oracle : FrequencyOracle
        Protocol and thresholds.
    records : uint8 array, shape (n, record_size)
        Well-formed records; need not be contiguous.

    Returns
    -------
    uint8 array, shape (n, k)
        1 where the record supports the value, else 0.

    Raises
    ------
    InvalidParameter
        `records` has another shape or dtype.
    MalformedRecord
        A record is malformed; the first such row is named.
    """
    rows_of = checked_records(oracle, records)
    kernel = _kernel(oracle)
    supported = np.zeros((len(rows_of), oracle.k), np.uint8)

    def block(rows: slice) -> None:
        held = read_only(rows_of[rows])
        _refuse_malformed(oracle, held, rows.start)
        kernel.indicators(oracle, held, supported[rows])

    run(partial(block, rows) for rows in spans(len(rows_of), CELLS_PER_BLOCK // oracle.k))
    return supported


def support_counts(
    oracle: FrequencyOracle, records: npt.NDArray[np.uint8]
) -> npt.NDArray[np.int64]:
    """Count the records that support each value, without materialising indicators.

    Parameters
    ----------
    oracle : FrequencyOracle
        Protocol and thresholds.
    records : uint8 array, shape (n, record_size)
        Well-formed records; need not be contiguous.

    Returns
    -------
    int64 array, shape (k,)
        Each in [0, n]; equal to ``indicators(oracle, records).sum(0)``.

    Raises
    ------
    InvalidParameter
        `records` has another shape or dtype.
    MalformedRecord
        A record is malformed; the first such row is named.
    """
    rows_of = checked_records(oracle, records)
    kernel = _kernel(oracle)
    total = np.zeros(oracle.k, np.int64)
    adding = Lock()

    def block(rows: slice) -> None:
        held = read_only(rows_of[rows])
        _refuse_malformed(oracle, held, rows.start)
        counts = np.zeros(oracle.k, np.int64)
        kernel.support_counts(oracle, held, counts)
        with adding:
            np.add(total, counts, out=total)

    run(partial(block, rows) for rows in spans(len(rows_of), CELLS_PER_BLOCK // oracle.k))
    return total


def malformed(oracle: FrequencyOracle, records: npt.NDArray[np.uint8]) -> npt.NDArray[np.uint8]:
    """Say which records no device following the protocol could have produced, and why.

    It does not load numba, so that a process which only stores records does without it.

    Parameters
    ----------
    oracle : FrequencyOracle
        Protocol and thresholds.
    records : uint8 array, shape (n, record_size)
        Anything of the right size; need not be contiguous.

    Returns
    -------
    uint8 array, shape (n,)
        0 where well formed, else an index into :data:`MALFORMED_REASONS`: the reason that the
        scalar ``oracle.check`` gives.

    Raises
    ------
    InvalidParameter
        `records` has another shape or dtype. A wrong length is the whole array's, so it is never a
        row's reason.
    """
    rows_of = checked_records(oracle, records)
    reasons = np.zeros(len(rows_of), np.uint8)
    for rows in spans(len(rows_of), CELLS_PER_BLOCK // oracle.record_size):
        mark_malformed(oracle.form, rows_of[rows], reasons[rows])
    return reasons


def _kernel(oracle: FrequencyOracle) -> Kernel:
    return cast(Kernel, importlib.import_module(PROTOCOLS[oracle.name].kernel))


def _refuse_malformed(oracle: FrequencyOracle, records: npt.NDArray[np.uint8], first: int) -> None:
    reasons = np.zeros(len(records), np.uint8)
    mark_malformed(oracle.form, records, reasons)
    if reasons.any():
        row = int((reasons != 0).argmax())
        reason = MALFORMED_REASONS[reasons[row]]
        raise MalformedRecord(
            f"records[{first + row}] is no {oracle.name} record ({reason}); "
            "drop the rows that kernels.malformed names",
            reason=reason,
        )


Numbers = npt.NDArray[np.int32]

_WORD_BYTES = 8


def checked_values(oracle: FrequencyOracle, values: npt.ArrayLike) -> npt.NDArray[np.int64]:
    """Return the values as contiguous codes of the domain, or say which is none by its index."""
    codes = np.asarray(values)
    if codes.ndim != 1 or codes.dtype.kind not in "iu":
        raise refusal_of("values")(
            f"has dtype {codes.dtype} and shape {codes.shape}; give a one-dimensional integer "
            "array of codes"
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
        raise refusal_of("records")(
            f"has {got}; give a uint8 array of shape (n, {oracle.record_size}), the size of a "
            f"{oracle.name} record over {oracle.k} values"
        )
    return records


def mark_malformed(form: RecordForm, records: Bytes, reasons: Bytes) -> None:
    """Set `reasons` (n), which starts at zero, to an index into ``MALFORMED_REASONS``.

    The records, uint8[n, record_size], need not be contiguous. Where one is malformed in two ways,
    it gets the reason that the check of one record gives.
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
