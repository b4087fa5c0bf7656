"""Short forms of arrays and documents, for files that people read in a diff."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np
import numpy.typing as npt

WHOLE = 12
"""Numbers up to which an array is written in full."""

LONGEST_TERM = 30
"""Characters of the longest text that is a term of ours, such as a conclusion, and no sentence."""


def digest(array: npt.NDArray[Any]) -> dict[str, Any]:
    """Return shape, type and SHA-256 of the bytes: for what must agree bit for bit."""
    content = np.ascontiguousarray(array)
    return {
        "shape": list(content.shape),
        "dtype": content.dtype.newbyteorder("<").str,
        "sha256": hashlib.sha256(content.tobytes()).hexdigest(),
    }


def digest_of_bytes(content: bytes) -> dict[str, Any]:
    """Return length and SHA-256."""
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def numbers(array: npt.ArrayLike) -> Any:
    """Return numbers: all, or both ends and two sums that each element is part of."""
    values = np.asarray(array, dtype=np.float64)
    flat = values.ravel()
    if len(flat) <= WHOLE:
        return [_number(one) for one in flat]
    # Weights that no two elements share, so that an exchange of two is seen as well.
    weights = 0.5 + (np.arange(len(flat)) * 0.6180339887498949) % 1
    return {
        "shape": list(values.shape),
        "first": [_number(one) for one in flat[:4]],
        "last": [_number(one) for one in flat[-2:]],
        "sum": _number(flat.sum()),
        "weighted": _number((weights * flat).sum()),
    }


def scores(array: npt.NDArray[np.float64]) -> dict[str, Any]:
    """Return scores: their bytes, and a few numbers for processors that round differently."""
    tenths = np.quantile(array, np.linspace(0, 1, 11), method="lower")
    return {**digest(array), "mean": float(array.mean()), "tenths": tenths.tolist()}


def facts(document: Any) -> Any:
    """Return a document without its sentences, which may be worded better at any time."""
    if isinstance(document, dict):
        kept = {str(key): facts(value) for key, value in document.items()}
        return {key: value for key, value in kept.items() if not _sentence(value)}
    if isinstance(document, list | tuple):
        return [facts(value) for value in document if not _sentence(value)]
    return _number(document) if isinstance(document, float) else document


def _sentence(value: Any) -> bool:
    return isinstance(value, str) and " " in value and len(value) > LONGEST_TERM


def _number(value: float) -> Any:
    # JSON knows no infinity and no nan.
    return float(value) if np.isfinite(value) else repr(float(value))
