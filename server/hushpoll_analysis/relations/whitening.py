"""The root that makes estimates uncorrelated, and which part of a dependence it still sees."""

from __future__ import annotations

from typing import Final

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

_RANK: Final = 1e-9
"""Eigenvalues below this part of the largest are taken for 0."""


def whitening(covariance: Array, people: Array) -> tuple[Array, tuple[float, float]]:
    """Return a root f64[rank, k] of the pseudo-inverse, and the largest and least part seen.

    The covariance f64[k, k] is that of one record's weights, `people` f64[k, k] that of the truths.
    """
    values, vectors = np.linalg.eigh(covariance)
    kept = values > _RANK * max(float(values[-1]), 1e-300)
    root = (vectors[:, kept] / np.sqrt(values[kept])).T
    shares = np.linalg.eigvalsh(root @ people @ root.T) if kept.any() else np.ones(1)
    seen = shares[shares > _RANK]
    seen = seen if len(seen) else np.full(1, _RANK)
    return root, (float(seen.max()), float(seen.min()))
