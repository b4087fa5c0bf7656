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
CLOSE: Final = 1e-5
"""The same where each step takes long: within .003 standard errors of the maximum."""
_STEPS: Final = 200
_SHORTER: Final = 0.1
"""Share of what is left that a step may leave, for the information to be used again."""
_STUCK: Final = 1e-6
"""What may be left where no step goes up any more, because of rounding."""
_EM: Final = 4
"""Steps of EM before Newton's method is tried."""
_STARTS: Final = 3
"""Starts where the likelihood may have several maxima."""
LARGE: Final = 2e9
"""Products of an information above which a sample of the rows says where to start."""
_REACH: Final = 20.0
"""Logits up to which a profile is followed."""
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
    complete : f64[q, q]
        Information of complete data at the start.
    origin : f64[q]
        The start, without slopes.
    """

    parameters: Array
    slopes: Slopes
    steps: int
    converged: bool
    starts: int
    agreed: int
    flat: int | None
    infinite: bool
    complete: Array
    origin: Array


def maximise(
    likelihood: Likelihood,
    start: Array,
    *,
    near: Climbed | None = None,
    known: Array | None = None,
    enough: float | None = None,
) -> Maximum:
    """Return the maximum of the likelihood.

    Parameters
    ----------
    likelihood : Likelihood
        Of the rows.
    start : f64[q]
        Where to begin.
    near : Climbed, optional
        The maximum of a sample of many rows, from which one start is made.
    known : f64[q, q], optional
        About the information there.
    enough : float, optional
        Squared length, in standard errors, of the step that may be left; by default `CONVERGED`, or
        `CLOSE` where there are so many rows and parameters that each step takes long.
    """
    work = float(len(likelihood.rows.group)) * likelihood.size**2
    if enough is None:
        enough = CLOSE if work > LARGE else CONVERGED
    if near is None:
        first = climb(likelihood, start, enough=enough)
    else:
        first = climb(likelihood, near.parameters, close=True, known=known, enough=enough)
    best, steps, agreed = first, first.steps, 1
    starts = 1 if likelihood.convex or near is not None or work > LARGE else _STARTS
    rng = np.random.default_rng(20_260)
    complete = _information(likelihood, start)
    scale = np.sqrt(np.maximum(np.diag(complete), 1e-300))
    unit = np.sqrt(likelihood.total) / 2 / scale
    for _ in range(starts - 1):
        moved = start + _SPREAD * unit * rng.standard_normal(len(start))
        if not np.isfinite(likelihood.value(moved)):
            moved = start
        other = climb(likelihood, moved, enough=enough)
        steps += other.steps
        if other.slopes.value > best.slopes.value + _SAME:
            best, agreed = other, 1
        elif other.slopes.value > best.slopes.value - _SAME:
            agreed += 1
    flat, infinite = _flat(likelihood, best, complete)
    return Maximum(
        best.parameters,
        best.slopes,
        steps,
        best.converged,
        starts,
        agreed,
        flat,
        infinite,
        complete,
        start,
    )


@dataclass(frozen=True, eq=False)
class Climbed:
    """Where one start has led."""

    parameters: Array
    slopes: Slopes
    steps: int
    converged: bool


def climb(
    likelihood: Likelihood,
    start: Array,
    *,
    fixed: Flags | None = None,
    close: bool = False,
    known: Array | None = None,
    enough: float = CONVERGED,
) -> Climbed:
    """Climb from a start to a maximum.

    An information is used again for the next steps as long as they shorten what is left tenfold;
    the first one may be that of a sample.

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
    known : f64[q, q], optional
        About the information at the start.
    enough : float
        Squared length, in standard errors, of the step that may be left.
    """
    free: Flags = np.ones(len(start), np.bool_) if fixed is None else ~fixed
    at, steps = np.array(start, np.float64), 0
    expectation = 0 if close or likelihood.convex or known is not None else _EM
    slopes = likelihood.at(at, derivatives=1)
    solver = None if known is None else _solver(known, free)
    fresh = False
    while steps < _STEPS:
        if solver is None:
            observed = steps >= expectation
            slopes, fresh = likelihood.at(at, observed=observed), observed
            solver = _solver(slopes.observed, free) or _solver(slopes.complete, free)
            if solver is None:
                break
        gradient = slopes.gradient[free]
        step = solver(gradient)
        left = float(gradient @ step)
        if left < enough:
            if slopes.observed is not None:
                return _polished(likelihood, Climbed(at, slopes, steps, True), step, free)
            solver, expectation = None, 0
            continue
        steps += 1
        found = _upwards(likelihood, at, slopes.value, step, left, free)
        if found is None:
            if fresh and slopes.observed is not None:
                return Climbed(at, slopes, steps, left < _STUCK)
            solver, expectation = None, 0
            continue
        at, slopes = found
        gradient = slopes.gradient[free]
        slow = float(gradient @ solver(gradient)) > _SHORTER * left
        if slow or (not fresh and steps == expectation):
            solver = None
    return Climbed(at, likelihood.at(at), steps, False)


def _polished(likelihood: Likelihood, found: Climbed, step: Array, free: Flags) -> Climbed:
    """Return where one more step leads, which makes many digits right where it costs little."""
    if not likelihood.convex:
        return found
    at = found.parameters.copy()
    at[free] += step
    slopes = likelihood.at(at)
    if slopes.value < found.slopes.value - 1e-9 * abs(found.slopes.value):
        return found
    return Climbed(at, slopes, found.steps + 1, True)


def _upwards(
    likelihood: Likelihood, at: Array, value: float, step: Array, left: float, free: Flags
) -> tuple[Array, Slopes] | None:
    """Return the first point on a step, halved again and again, that is higher; None: none is."""
    length = 1.0
    while length > 1e-6:
        tried = at.copy()
        tried[free] += length * step
        slopes = likelihood.at(tried, derivatives=1)
        if slopes.value > value + 1e-4 * length * left - 1e-12 * abs(value):
            return tried, slopes
        length /= 2
    return None


def _information(likelihood: Likelihood, at: Array) -> Array:
    complete = likelihood.at(at, observed=False).complete
    assert complete is not None  # noqa: S101  (two derivatives were asked for)
    return complete


def _solver(matrix: Array | None, free: Flags) -> Callable[[Array], Array] | None:
    """Return what solves, scaled to a unit diagonal; None if it is not positive definite."""
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
    return lambda gradient: np.asarray(scale * cho_solve(factor, gradient * scale))


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


def _flat(likelihood: Likelihood, found: Climbed, complete: Array) -> tuple[int | None, bool]:
    """Return a parameter along which the likelihood is flat, and whether it went to infinity."""
    observed = found.slopes.observed
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
    complete = maximum.complete
    scale = np.sqrt(likelihood.total / np.maximum(complete[place, place], 1e-300)) / 2
    fixed = np.zeros(likelihood.size, bool)
    fixed[place] = True
    top, center = maximum.slopes.value, float(maximum.parameters[place])
    known: list[Array] = [maximum.parameters.copy()]

    def outside(value: float) -> bool:
        if tell is not None:
            tell()
        best = -np.inf
        # a start with no other slope finds what a start from the last point may miss
        for start in (known[0].copy(), np.where(fixed, value, 0.0) + maximum.origin * ~fixed):
            start[place] = value
            if not np.isfinite(likelihood.value(start)):
                continue
            found = climb(likelihood, start, fixed=fixed, enough=1e-6)
            if found.slopes.value > best:
                best, known[0] = found.slopes.value, found.parameters
        return bool(best < top - fall)

    end = side * _REACH * scale
    points = [center, *np.arange(-_REACH, _REACH + 1, 2.0) * scale]
    covariance = None if maximum.slopes.observed is None else covariance_of(maximum.slopes.observed)
    if covariance is not None:
        width = float(np.sqrt(covariance[place, place] * 2 * fall))
        points += [center + side * width * times for times in (0.5, 1.0, 1.5, 2.5, 4.0)]
    # the outermost point that the data allow counts, wherever the set has holes
    beyond = sorted(
        (one for one in points if side * (one - center) >= 0), key=lambda one: -side * one
    )
    last = None
    for value in beyond:
        if value == center or not outside(value):
            break
        last = value
    if last is None or (value == beyond[0] and side * (value - end) >= 0):
        return None
    low, high = float(value), float(last)
    while abs(high - low) > 1e-3 * scale:
        middle = (low + high) / 2
        low, high = (low, middle) if outside(middle) else (middle, high)
    return high
