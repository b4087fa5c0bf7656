"""Rows of features, dense or sparse: their lengths, and what shortens them."""

from __future__ import annotations

import numpy as np
from scipy.sparse import csr_matrix, diags

from hushpoll_lab.central.logistic import Matrix, Vector


def l2_norms(rows: Matrix) -> Vector:
    """Return the l2 norm of each row, f64[n]."""
    if isinstance(rows, csr_matrix):
        return np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1), np.float64).ravel())
    return np.asarray(np.linalg.norm(np.asarray(rows, np.float64), axis=1))


def shortened(rows: Matrix, norms: Vector, radius: float) -> Matrix:
    """Return rows of these norms, those that are longer scaled down to the radius; f64."""
    factors = np.minimum(1.0, radius / np.maximum(norms, 1e-300))
    if isinstance(rows, csr_matrix):
        return csr_matrix(diags(factors) @ rows, dtype=np.float64)
    return np.asarray(rows, np.float64) * factors[:, None]
