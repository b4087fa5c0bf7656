"""The maximum of a likelihood: EM to start, Newton's method to finish, several starts.

A step of EM with one Newton step for its maximisation (Lange, JRSS B 1995) uses the information of
complete data, which is always positive, so it goes uphill from anywhere; near the maximum the
observed information takes over. Where the likelihood has no finite maximum, because the outcome is
separated or its noise is larger than what it says, the coefficient that grows is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve, eigh

from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.sums import Slopes

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CONVERGED: Final = 1e-10
"""Squared length of the step left, in standard errors."""
_STEPS: Final = 200
_EM: Final = 4
"""Steps of EM before Newton's method is tried."""
_STARTS: Final = 3
"""Starts where the likelihood may have several maxima."""
LARGE: Final = 1 << 23
"""Rows times combinations above which a sample of rows says where to start."""
_SPREAD: Final = 0.5
"""Standard deviation, in logits, of other starts."""
_SAME: Final = 1e-3
"""Log-likelihood by which two maxima may differ and count as one."""
FLAT: Final = 1e-8
"""Observed information, relative to that of complete data at the start: below it, none."""
_FAR: Final = 12.0
"""Logits beyond which chances are 0 or 1, and a coefficient has left for infinity."""


@dataclass(frozen=True, eq=False)
class Maximum:
    """Where the likelihood is largest.

    Attributes
    ----------
    parameters : f64[q]
        The outcome's, then the mixing's.
    slopes : Slopes
        There, with both kinds of information.
    steps : int
        Of all starts.
    converged : bool
        Whether the step that is left is below `CONVERGED`.
    starts, agreed : int
        Starts, and those that led to this maximum.
    flat : int or None
        A parameter that has no finite maximum, or of which the rows say nothing.
    infinite : bool
        Whether it has grown beyond bounds.
    """

    parameters: Array
    slopes: Slopes
    steps: int
    converged: bool
    starts: int
    agreed: int
    flat: int | None
    infinite: bool


def maximise(likelihood: Likelihood, start: Array, *, starts: int | None = None) -> Maximum:
    """Return the maximum of the likelihood.

    Parameters
    ----------
    likelihood : Likelihood
        Of the rows.
    start : f64[q]
        Where to begin.
    starts : int, optional
        Number of starts; by default one where there is one maximum, else 3.
    """
    first = climb(likelihood, start)
    best, steps, agreed = first, first.steps, 1
    if starts is None:
        cells = len(likelihood.rows.group) * likelihood.c
        starts = 1 if likelihood.convex or cells > LARGE else _STARTS
    rng = np.random.default_rng(20_260)
    scale = np.sqrt(np.maximum(np.diag(_information(likelihood, start)), 1e-300))
    unit = np.sqrt(likelihood.total) / 2 / scale
    for _ in range(starts - 1):
        moved = start + _SPREAD * unit * rng.standard_normal(len(start))
        if not np.isfinite(likelihood.value(moved)):
            moved = start
        other = climb(likelihood, moved)
        steps += other.steps
        if other.slopes.value > best.slopes.value + _SAME:
            best, agreed = other, 1
        elif other.slopes.value > best.slopes.value - _SAME:
            agreed += 1
    flat, infinite = _flat(likelihood, best, start)
    return Maximum(
        best.parameters,
        best.slopes,
        steps,
        best.converged,
        starts,
        agreed,
        flat,
        infinite,
    )


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where one start has led."""

    parameters: Array
    slopes: Slopes
    steps: int
    converged: bool


def climb(
    likelihood: Likelihood, start: Array, *, fixed: Flags | None = None, close: bool = False
) -> Climbed:
    """Climb from a start to a maximum.

    Parameters
    ----------
    likelihood : Likelihood
        Of the rows.
    start : f64[q]
        Its likelihood must not be 0.
    fixed : bool[q], optional
        Parameters that stay where they are.
    close : bool
        Whether the start is near the maximum, so that EM is not needed.
    """
    free: Flags = np.ones(len(start), np.bool_) if fixed is None else ~fixed
    at, steps = np.array(start, np.float64), 0
    expectation = 0 if close or likelihood.convex else _EM
    slopes = likelihood.at(at, observed=steps >= expectation)
    while steps < _STEPS:
        known = slopes.complete if slopes.observed is None else slopes.observed
        gradient = slopes.gradient[free]
        step = _solved(known, gradient, free)
        if step is None and slopes.complete is not None:
            step = _solved(slopes.complete, gradient, free)
        if step is None:
            return Climbed(at, slopes, steps, False)
        left = float(gradient @ step)
        if left < CONVERGED and slopes.observed is not None:
            return Climbed(at, slopes, steps, True)
        steps += 1
        length, found = 1.0, None
        while length > 1e-6:
            tried = at.copy()
            tried[free] += length * step
            reached = likelihood.value(tried)
            if reached > slopes.value + 1e-4 * length * left - 1e-9 * abs(slopes.value):
                found = tried
                break
            length /= 2
        if found is None:
            return Climbed(at, _whole(likelihood, at, slopes), steps, left < 1e-6)
        at = found
        observed = steps >= expectation or left < 1e-3
        slopes = likelihood.at(at, observed=observed)
    return Climbed(at, _whole(likelihood, at, slopes), steps, False)


def _whole(likelihood: Likelihood, at: Array, slopes: Slopes) -> Slopes:
    return slopes if slopes.observed is not None else likelihood.at(at)


def _information(likelihood: Likelihood, at: Array) -> Array:
    complete = likelihood.at(at, observed=False).complete
    assert complete is not None  # noqa: S101  (two derivatives were asked for)
    return complete


def _solved(matrix: Array | None, gradient: Array, free: Flags) -> Array | None:
    """Solve, scaled to a unit diagonal; None if the matrix is not positive definite."""
    if matrix is None:
        return None
    matrix = matrix[np.ix_(free, free)]
    diagonal = np.diag(matrix)
    if not (diagonal > 0).all():
        return None
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = cho_factor(matrix * np.outer(scale, scale), check_finite=False)
    except LinAlgError:
        return None
    return np.asarray(scale * cho_solve(factor, gradient * scale))


def covariance_of(information: Array) -> Array | None:
    """Return the inverse of an information; None if it is not positive definite."""
    diagonal = np.diag(information)
    if not (diagonal > 0).all():
        return None
    scale = 1 / np.sqrt(diagonal)
    try:
        factor = cho_factor(information * np.outer(scale, scale), check_finite=False)
    except LinAlgError:
        return None
    return np.asarray(np.outer(scale, scale) * cho_solve(factor, np.eye(len(scale))))


def _flat(likelihood: Likelihood, found: Climbed, start: Array) -> tuple[int | None, bool]:
    """Return a parameter along which the likelihood is flat, and whether it went to infinity."""
    observed, complete = found.slopes.observed, _information(likelihood, start)
    assert observed is not None  # noqa: S101  (climb ends with both)
    sizes, directions = eigh(observed, complete)
    if sizes[0] > FLAT:
        return None, False
    weighed = np.abs(directions[:, 0]) * np.sqrt(np.diag(complete))
    b, mixing = likelihood.split(found.parameters)
    far = float(np.abs(likelihood.linear(b, likelihood.design.u)).max())
    if mixing.size:
        far = max(far, float(np.abs(likelihood.design.z @ mixing.T).max()))
    return int(np.argmax(weighed)), far > _FAR


def profile(
    likelihood: Likelihood,
    maximum: Maximum,
    place: int,
    fall: float,
    side: int,
    tell: Callable[[], object] | None = None,
) -> float | None:
    """Return where the profile likelihood of a parameter has fallen by so much; None: nowhere.

    Parameters
    ----------
    likelihood : Likelihood
        Of the rows.
    maximum : Maximum
        Its maximum.
    place : int
        The parameter.
    fall : float
        Nats below the maximum.
    side : int
        -1 for below the estimate, 1 for above.
    tell : callable, optional
        Called at each point.
    """
    from scipy.optimize import brentq

    scale = np.sqrt(np.maximum(np.diag(_information(likelihood, maximum.parameters)), 1e-300))
    start_scale = np.sqrt(likelihood.total) / 2 / scale[place]
    fixed = np.zeros(likelihood.size, bool)
    fixed[place] = True
    top, at = maximum.slopes.value, [maximum.parameters.copy()]

    def gap(value: float) -> float:
        if tell is not None:
            tell()
        start = at[0].copy()
        start[place] = value
        found = climb(likelihood, start, fixed=fixed, close=True)
        at[0] = found.parameters
        return top - fall - found.slopes.value

    center = float(maximum.parameters[place])
    observed = maximum.slopes.observed
    covariance = None if observed is None else covariance_of(observed)
    width = 2 * start_scale
    if covariance is not None:
        width = min(float(np.sqrt(covariance[place, place] * 2 * fall)), 8 * start_scale)
    low, low_gap, reach = center, -fall, width
    far = _FAR * 3 * start_scale
    while True:
        high = center + side * reach
        high_gap = gap(high)
        if high_gap >= 0:
            break
        low, low_gap = high, high_gap
        if reach > far:
            return None
        reach *= 1.6
    if high_gap == 0 or low_gap >= 0:
        return float(high)
    return float(brentq(gap, low, high, xtol=1e-4 * start_scale, rtol=1e-6))
