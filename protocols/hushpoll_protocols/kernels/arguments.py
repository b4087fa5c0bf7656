"""Arguments of the array interface, checked once for all kernels."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.kernels.blocks import read_only
from hushpoll_protocols.oracle import FrequencyOracle


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
