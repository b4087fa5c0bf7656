"""Logistic regression with an l2 penalty, and its private version by output perturbation.

Mangold et al., ICML 2023, section 4.1. The minimiser of a strongly convex function moves little
when one row changes, so Gaussian noise on its weights makes it private.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, diags
from scipy.special import expit

from hushpoll_lab.central.gaussian import gaussian_sigma
from hushpoll_protocols.errors import InvalidParameter

Matrix: TypeAlias = csr_matrix | npt.NDArray[np.float64]
Vector: TypeAlias = npt.NDArray[np.float64]

STEPS = 200
"""Newton steps, at most; a well-posed problem takes ten."""

MOST_OFF_BY = 1e-6
"""The error of a minimiser that noise makes up for: a bound that does not depend on the rows."""


@dataclass(frozen=True, slots=True)
class Minimiser:
    """Weights that minimise the penalised loss, nearly."""

    weights: Vector
    """f64[p]."""
    off_by: float
    """The exact minimiser is at most this far away, in l2 norm."""


def minimise(
    rows: Matrix, label: npt.NDArray[np.int64], penalty: float, *, tolerance: float = 1e-10
) -> Minimiser:
    """Minimise mean(log(1 + exp(-s w.x))) + penalty / 2 |w|^2 by Newton's method; s is -1 or 1.

    Rows are [n, p] with a constant column, where an intercept is wanted; labels int64[n] of {0, 1}.
    The penalty is mu, the strong convexity of the function; refuses one that is not positive, or so
    small that the minimiser is not known to the distance `tolerance` nor to `MOST_OFF_BY`.
    """
    if not 0 < penalty < math.inf:
        raise InvalidParameter(
            f"penalty is {penalty}; it must be positive and finite", field="penalty"
        )
    sign = np.where(label == 1, 1.0, -1.0)
    count, columns = rows.shape
    weights = np.zeros(columns)

    def value(candidate: Vector) -> float:
        losses = np.logaddexp(0.0, -sign * (rows @ candidate))
        return float(losses.mean() + penalty / 2 * candidate @ candidate)

    def slope(candidate: Vector) -> Vector:
        pull = rows.T @ (-sign * expit(-sign * (rows @ candidate))) / count
        return np.asarray(pull + penalty * candidate)

    current, gradient = value(weights), slope(weights)
    for _ in range(STEPS):
        if np.linalg.norm(gradient) <= tolerance * penalty:
            break
        score = rows @ weights
        curvature = expit(score) * expit(-score) / count
        weighted = (
            diags(curvature) @ rows if isinstance(rows, csr_matrix) else curvature[:, None] * rows
        )
        hessian = rows.T @ weighted
        dense = hessian.toarray() if isinstance(rows, csr_matrix) else hessian
        step = np.linalg.solve(dense + penalty * np.eye(columns), gradient)
        size, decrease = 1.0, float(gradient @ step)
        while size > 1e-12:
            candidate = weights - size * step
            reached, ahead = value(candidate), slope(candidate)
            # Near the minimum, values differ by rounding alone; gradients still tell.
            halved = np.linalg.norm(ahead) <= np.linalg.norm(gradient) / 2
            if halved or reached <= current - 1e-4 * size * decrease:
                break
            size /= 2
        else:
            break
        weights, current, gradient = candidate, reached, ahead
    # Strong convexity: the distance to the minimiser is at most |gradient| / penalty.
    off_by = float(np.linalg.norm(gradient)) / penalty
    if off_by > max(tolerance, MOST_OFF_BY):
        raise InvalidParameter(
            f"penalty is {penalty:g}; so small that the minimiser is only known to {off_by:.2g}. "
            "Use a larger penalty, or scale the columns",
            field="penalty",
        )
    return Minimiser(weights, off_by)


@dataclass(frozen=True, slots=True)
class PerturbedOutput:
    """Weights with Gaussian noise; both may be published."""

    weights: Vector
    """f64[p]."""
    sigma: float
    """Standard deviation of the noise in each weight."""


def sensitivity(count: int, penalty: float, radius: float) -> float:
    """Return how far one changed row moves the exact minimiser, at most: 2 radius / (penalty n).

    Mangold et al., proof of Lemma 4.1: the gradient of the logistic loss of a row is no longer than
    the row itself, and the penalty does not depend on the rows. Neighbours differ in one row, which
    is replaced; n, `count`, is public. No row's l2 norm exceeds the radius, which must not be taken
    from the rows.
    """
    return 2 * radius / (penalty * count)


def perturb_output(
    minimiser: Minimiser,
    *,
    count: int,
    penalty: float,
    radius: float,
    epsilon: float,
    delta: float,
    rng: np.random.Generator,
) -> PerturbedOutput:
    """Add the noise that (epsilon, delta)-differential privacy needs; see :func:`sensitivity`.

    The minimiser is that of the same rows and penalty. Noise that can be drawn again is no
    protection: do not seed `rng` outside of simulations. Refuses values outside (0, 64] and (0, 1).
    """
    if minimiser.off_by > MOST_OFF_BY:
        raise InvalidParameter(
            f"the minimiser is known to {minimiser.off_by:.2g} only, not to {MOST_OFF_BY:g}; "
            "minimise with a smaller tolerance",
            field="minimiser",
        )
    moved = sensitivity(count, penalty, radius) + 2 * MOST_OFF_BY
    sigma = gaussian_sigma(epsilon, delta, moved)
    noise = rng.normal(0.0, sigma, minimiser.weights.size)
    return PerturbedOutput(minimiser.weights + noise, sigma)
