"""The functional mechanism: the objective of logistic regression gets noise, not its minimiser.

Zhang et al., "Functional Mechanism: Regression Analysis under Differential Privacy", VLDB 2012,
section 5. The loss of a row is replaced by its Taylor polynomial of order two about weights of 0,

    log 2 + (1/2 - y) x.w + (x.w)^2 / 8,

whose sum over the rows is a polynomial in w. Laplace noise on its coefficients makes it private,
and so is everything that is computed from them: the minimiser, however it is found.

Coefficients are sums of integers here, and their noise is discrete Laplace: features are rounded
towards zero to a grid. So the privacy is exact, and the low bits of floating-point noise leak
nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix, hstack

from hushpoll_lab.central.discrete_laplace import discrete_laplace, exact_epsilon
from hushpoll_lab.central.logistic import Matrix, Vector
from hushpoll_lab.central.rows import shortened
from hushpoll_protocols.bits import Bits
from hushpoll_protocols.errors import InvalidParameter

GRID = 2**14
"""A row's l1 norm in steps of the grid, at most."""

EXACT_ROWS = 2**24
"""Sums of products on the grid are exact in floating point up to this many rows."""

LEAST_ROWS = 10.0
"""A group counts if its noisy number of rows is above this many deviations of the noise."""

NEGLIGIBLE = 1e-9
"""An eigenvalue below this share of the largest is taken for zero."""


@dataclass(frozen=True, slots=True)
class Coefficients:
    """The coefficients of the sum of the rows' polynomials, as integers. They are not private."""

    linear: npt.NDArray[np.int64]
    """int64[p], the coefficients of w_j, in units of step / (2 linear_weight)."""
    quadratic: npt.NDArray[np.int64]
    """int64[p, p], symmetric: the sums of x_j x_l on the grid, in units of step^2 / 8."""
    rows: int
    radius: float
    """What the l1 norm of a row, the constant included, does not exceed."""


@dataclass(frozen=True, slots=True)
class Objective:
    """A polynomial with noise, w.Q.w + l.w. It may be published."""

    quadratic: npt.NDArray[np.float64]
    """f64[p, p], Q, symmetric; with the noise it need not be positive definite."""
    linear: Vector
    """f64[p], l."""
    rows: float | None
    """The number of rows with noise, where it was asked for."""
    deviation: float
    """Standard deviation of the noise of each coefficient."""


def within(table: Matrix, radius: float) -> Matrix:
    """Scale the rows whose l1 norm exceeds `radius` down to it; f64."""
    if isinstance(table, csr_matrix):
        norms = np.asarray(abs(table).sum(axis=1), np.float64).ravel()
    else:
        norms = np.abs(np.asarray(table, np.float64)).sum(axis=1)
    return shortened(table, norms, radius)


def coefficients(table: Matrix, label: npt.NDArray[np.int64], radius: float) -> Coefficients:
    """Return the coefficients of the rows' polynomials; a constant 1 is the last column.

    Rows [n, m] whose l1 norm exceeds radius - 1 are scaled down to it; labels are int64[n] of {0,
    1}. The radius R must not be taken from the rows; refuses one that is not above 1.
    """
    if not 1 < radius < math.inf:
        raise InvalidParameter(f"radius is {radius}; it must be above 1 and finite", field="radius")
    size = table.shape[1] + 1
    linear, quadratic = np.zeros(size, np.int64), np.zeros((size, size), np.int64)
    for start in range(0, table.shape[0], EXACT_ROWS):
        part = slice(start, start + EXACT_ROWS)
        grid = _on_grid(table[part], radius)
        products = (grid.T @ grid).toarray() if isinstance(grid, csr_matrix) else grid.T @ grid
        linear += np.asarray(grid.T @ (1.0 - 2.0 * label[part])).ravel().astype(np.int64)
        quadratic += products.astype(np.int64)
    return Coefficients(linear, quadratic, table.shape[0], radius)


def sensitivity(radius: float, *, counted: bool = False) -> float:
    """Return how far one added or removed row moves the coefficients, at most, in l1 norm.

    A row x with the constant has ||x||_1 <= R and adds its own polynomial. Its linear coefficients
    (1/2 - y) x_j sum to ||x||_1 / 2 at most. Its quadratic ones are x_j^2 / 8 for w_j^2, and, both
    orders together, 2 x_j x_l / 8 for w_j w_l with j < l; their absolute values sum to
    (sum_j |x_j|)^2 / 8. So all of them move by R / 2 + R^2 / 8, whatever the number of columns.
    A row that is replaced is one removed and one added: twice as much. (Zhang et al. bound each
    entry of x instead, and get d^2 / 4 + 3 d for a replaced row.) The constant log 2 moves no
    minimiser; where it is published, too, which tells the number of rows, log 2 comes on top.

    On the grid, with S = 2^14 steps and weights that are whole numbers, the same sum is exact.
    """
    steps = _grid_sensitivity(radius, counted=counted)
    return steps * (radius / GRID) ** 2 / 8


def perturb(
    exact: Coefficients, epsilon: float | str, bits: Bits, *, counted: bool = False
) -> Objective:
    """Add discrete Laplace noise to each coefficient: epsilon-differentially private.

    Neighbours differ in one row, which is added or removed. Bits are `SecureBits` outside of
    simulations. If `counted`, the constant, and with it the number of rows, is published as well.
    Refuses an epsilon outside (0, 64].
    """
    scale = _grid_sensitivity(exact.radius, counted=counted) / exact_epsilon(epsilon)
    columns = exact.linear.size
    weight = _linear_weight(exact.radius)

    def noisy(values: Iterable[float], factor: int) -> Vector:
        # Whole numbers of Python: a float holds 53 bits, and what it drops would depend on the sum.
        sums = [factor * int(value) + discrete_laplace(scale, bits) for value in values]
        return np.array(sums, np.float64)

    linear = noisy(exact.linear, weight)
    above = np.triu_indices(columns, 1)
    quadratic = np.zeros((columns, columns))
    quadratic[above] = noisy(exact.quadratic[above], 2) / 2
    quadratic = quadratic + quadratic.T
    quadratic[np.diag_indices(columns)] = noisy(np.diag(exact.quadratic), 1)
    rows = None
    if counted:
        heavy = _count_weight(exact.radius)
        rows = float(noisy([exact.rows], heavy)[0]) / heavy
    step = exact.radius / GRID
    unit = step**2 / 8
    return Objective(
        quadratic * unit, linear * (step / (2 * weight)), rows,
        math.sqrt(2) * float(scale) * unit,
    )  # fmt: skip


def without_noise(exact: Coefficients) -> Objective:
    """Return the polynomial itself, for the NonDP baseline. It is not private."""
    step = exact.radius / GRID
    quadratic = np.asarray(exact.quadratic * (step**2 / 8), np.float64)
    linear = np.asarray(exact.linear * (step / 2), np.float64)
    return Objective(quadratic, linear, float(exact.rows), 0.0)


def repair(objective: Objective, strength: float) -> tuple[Vector, npt.NDArray[np.float64]]:
    """Return eigenvalues, f64[r] above 0, and eigenvectors, f64[p, r], of a definite objective.

    Section 6 of the paper. First the regularisation: strength sqrt(p) times the noise's deviation
    is added to each coefficient of w_j^2. Noise alone has eigenvalues of at most about sqrt(p)
    deviations (half of it is off the diagonal, on either side), so a strength of 1 makes up for
    them; the paper adds 4 deviations for every p. Then the spectral trimming: eigenvectors whose
    eigenvalue is still not positive are dropped, perhaps all; along them the polynomial has no
    minimum.
    """
    columns = objective.linear.size
    added = strength * math.sqrt(columns) * objective.deviation
    values, vectors = np.linalg.eigh(objective.quadratic + added * np.eye(columns))
    kept = values > NEGLIGIBLE * np.abs(values).max()
    return values[kept], vectors[:, kept]


def minimise_polynomial(objective: Objective, strength: float) -> Vector:
    """Return the minimiser of the repaired objective, f64[p], in the span of what is left."""
    values, vectors = repair(objective, strength)
    return np.asarray(-0.5 * vectors @ ((vectors.T @ objective.linear) / values))


def descend_together(
    objectives: Sequence[Objective], strength: float, *, steps: int, rate: float, start: Vector
) -> Vector:
    """Minimise the groups' objectives in turn and average, step by step (FairFM); return f64[p].

    Tran et al., Algorithm 2: from the common weights each group takes a gradient step on its own
    noisy mean loss, and the results are averaged. The paper does not say what keeps a polynomial
    that noise has bent downwards from leading the descent away without end; here each group's
    polynomial is repaired first (:func:`repair`), and the step is relative to the longest one that
    cannot lead away: the rate, in (0, 2), is the learning rate times the largest curvature of the
    mean. Groups whose number of rows could be noise alone are left out; refuses to go on if all
    are.
    """
    slopes, curvatures = [], []
    for objective in objectives:
        rows = objective.rows or 0.0
        if rows <= LEAST_ROWS * objective.deviation / math.log(2):
            continue
        values, vectors = repair(objective, strength)
        curvatures.append((vectors * values) @ vectors.T * (2 / rows))
        slopes.append(vectors @ (vectors.T @ objective.linear) / rows)
    if not slopes:
        raise InvalidParameter(
            "no group has so many rows that noise alone could not make them; use a larger epsilon, "
            "a smaller radius, or more rows",
            field="epsilon",
        )
    # The mean of the groups' steps is a step along their mean, since the rate is common.
    curvature, slope = np.mean(curvatures, axis=0), np.mean(slopes, axis=0)
    largest = float(np.linalg.norm(curvature, 2))
    weights = start
    for _ in range(steps if largest > 0 else 0):
        weights = weights - rate / largest * (curvature @ weights + slope)
    return np.asarray(weights)


def _on_grid(table: Matrix, radius: float) -> Matrix:
    """Return rows within the radius, and their 1, in whole steps of the grid; f64."""
    step = radius / GRID
    # The factor makes up for rounding, so that no entry is rounded up across a step.
    scaled = within(table, radius - 1) * ((1 - 1e-12) / step)
    constant = np.full((table.shape[0], 1), float(math.floor(1 / step)))
    if isinstance(scaled, csr_matrix):
        grid = csr_matrix(hstack([scaled, constant]))
        grid.data = np.trunc(grid.data)
        return grid
    return np.hstack([np.trunc(scaled), constant])


def _grid_sensitivity(radius: float, *, counted: bool) -> Fraction:
    steps = _linear_weight(radius) * GRID + GRID**2
    return Fraction(steps + (_count_weight(radius) if counted else 0))


def _linear_weight(radius: float) -> int:
    """Return the whole number nearest to 4 over the grid's step, at least 1."""
    return max(1, round(4 * GRID / radius))


def _count_weight(radius: float) -> int:
    """Return the whole number nearest to 8 log 2 over the grid's step squared."""
    return round(8 * math.log(2) * (GRID / radius) ** 2)
