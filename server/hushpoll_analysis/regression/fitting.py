"""The maximum of a likelihood: EM to start, Newton's method to finish, several starts.

EM finds the shares of the perturbed predictors before anything depends on anything, and again given
the slopes that a climb has found (:mod:`hushpoll_analysis.regression.starts`). Newton's method
climbs from there, by steps no longer than the observed information can be trusted for; of many
rows a quasi-Newton method first comes near, as ten of its gradients cost one information's time.
Where the likelihood has no finite maximum, because the outcome is separated or its noise is larger
than what it says, the coefficient that grows is named.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt
from scipy.linalg import LinAlgError, cho_factor, cho_solve, cholesky, eigh, solve_triangular
from scipy.optimize import minimize

from hushpoll_analysis.regression.likelihood import Likelihood, required_sums
from hushpoll_analysis.regression.starts import with_shares, with_shares_of_groups
from hushpoll_analysis.regression.sums import Slopes

Array = npt.NDArray[np.float64]
Flags = npt.NDArray[np.bool_]

CONVERGED: Final = 2e-8
"""Squared length of the step left, in standard errors: a rise of 1e-8 is foreseen."""
_STEPS: Final = 2_000
_SHORTER: Final = 0.1
"""Share of what is left that a step may leave, for the information to be used again."""
_STUCK: Final = 1e-6
"""What may be left where no step goes up any more, because of rounding."""
_TRUST: Final = 0.3
"""Length of the first step where the likelihood is not concave, per root of a respondent."""
_SHORTEST: Final = 1e-9
"""Length at which a step that leads nowhere ends the climb."""
_TRIALS: Final = 60
"""Dampings that are tried for one step."""
_SOME: Final = 1e-4
"""Share of the respondents as which a combination counts at least in the metric."""
_STARTS: Final = 3
"""Starts where the likelihood may have several maxima."""
LARGE: Final = 2e9
"""Products of an information above which there is one start, and averages are of a sample."""
_NEAR: Final = 0.02
"""Largest slope, per standard error of complete data, from which Newton's method takes over."""
_GRADIENTS: Final = 400
"""Gradients of the quasi-Newton method."""
_REMEMBERED: Final = 50
"""Its steps of which it takes the curvature."""
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
class Climbed:
    """Where one start, or the best of several, has led."""

    parameters: Array
    """f64[q], the outcome's, then the mixing's."""
    slopes: Slopes
    """There, with both kinds of information."""
    steps: int
    """Steps of all starts."""
    converged: bool
    """Whether the step that is left is small enough."""


@dataclass(frozen=True, eq=False)
class Maximum(Climbed):
    """Where the likelihood is largest."""

    starts: int
    agreed: int
    """Starts that led to this maximum."""
    flat: int | None
    """A parameter that has no finite maximum, or of which the rows say nothing."""
    infinite: bool
    """Whether it has grown beyond bounds."""
    complete: Array
    """f64[q, q], information of complete data at the start."""
    origin: Array
    """f64[q], the start, without slopes."""


def maximise(
    likelihood: Likelihood,
    start: Array,
    *,
    enough: float = CONVERGED,
) -> Maximum:
    """Return the maximum of the likelihood.

    `start` has the parameters without slopes; the climb begins at the shares that EM finds from
    there, and again at those that it finds given the slopes. `enough` is the squared length, in
    standard errors, of the step that may be left.
    """
    work = float(len(likelihood.rows.group)) * likelihood.size**2
    begin = with_shares(likelihood, start)
    if work > LARGE and not likelihood.convex:
        begin = _near(likelihood, begin)
    first = climb(likelihood, begin, enough=enough)
    best, steps, agreed = first, first.steps, 1
    starts = 1 if likelihood.convex or work > LARGE else _STARTS
    rng = np.random.default_rng(20_260)
    complete = _information(likelihood, start)
    scale = np.sqrt(np.maximum(np.diag(complete), 1e-300))
    unit = np.sqrt(likelihood.total) / 2 / scale
    for number in range(1, starts):
        moved = begin + _SPREAD * unit * rng.standard_normal(len(start))
        if number == 1 and likelihood.c > 1:
            again = with_shares_of_groups(likelihood, best.parameters)
            moved = with_shares(likelihood, best.parameters) if again is None else again
        if not np.isfinite(likelihood.value(moved)):
            moved = begin
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


def _near(likelihood: Likelihood, start: Array) -> Array:
    """Return a point near a maximum, by a quasi-Newton method from a start.

    Parameters are measured by complete data's information there, in which the likelihood bends
    nearly alike in all directions that the rows tell.
    """
    root = cholesky(_metric(likelihood, _information(likelihood, start)), lower=True)

    def at(moved: Array) -> Array:
        return np.asarray(start + solve_triangular(root, moved, trans=1, lower=True))

    def fallen(moved: Array) -> tuple[float, Array]:
        slopes = likelihood.at(at(moved), derivatives=1)
        if not np.isfinite(slopes.value):
            return 1e300, np.zeros(len(moved))
        return -slopes.value, -solve_triangular(root, slopes.gradient, lower=True)

    found = minimize(
        fallen,
        np.zeros(len(start)),
        jac=True,
        method="L-BFGS-B",
        options={
            "maxcor": _REMEMBERED,
            "maxiter": _GRADIENTS,
            "maxfun": _GRADIENTS,
            "gtol": _NEAR,
            "ftol": 1e-11,
        },
    )
    return at(np.asarray(found.x, np.float64))


def climb(
    likelihood: Likelihood,
    start: Array,
    *,
    fixed: Flags | None = None,
    enough: float = CONVERGED,
    most: int = _STEPS,
) -> Climbed:
    """Climb from a start to a maximum.

    Each step is Newton's where the observed information is positive and the step is within the
    length that is trusted; elsewhere it is the best one of that length, which the information and a
    multiple of the metric give together (More and Sorensen, SIAM J. Sci. Stat. Comput. 1983). So
    directions in which the likelihood bends the wrong way are left in a few steps. The length that
    is trusted follows from how well the last rise was foreseen. Newton's step is used again as long
    as it shortens what is left tenfold, since a gradient costs a twentieth of an information.

    The likelihood at the start must not be 0, and `fixed` parameters stay where they are. `enough`
    is the squared length, in standard errors, of the step that may be left: twice the rise of the
    log-likelihood that the information foresees (half of it is Newton's decrement). After `most`
    steps no other begins.
    """
    free: Flags = np.ones(len(start), np.bool_) if fixed is None else ~fixed
    at, trusted = np.array(start, np.float64), _TRUST * float(np.sqrt(likelihood.total))
    slopes, steps = likelihood.at(at), 0
    while steps < most:
        gradient, metric, left = slopes.gradient[free], None, np.inf
        if not likelihood.convex:
            metric = _metric(likelihood, required_sums(slopes.complete))
        newton = _solver(slopes.observed, free, metric)
        steps += 1
        if newton is not None:
            step = newton(gradient)
            left = float(gradient @ step)
            if left < enough:
                return _polished(likelihood, Climbed(at, slopes, steps, True), step, free)
            if metric is None or _length(step, metric, free) <= trusted:
                found = _upwards(likelihood, at, slopes.value, step, left, free)
                if found is not None:
                    at, slopes = _again(likelihood, found, newton, left, enough, free)
                    slopes = likelihood.at(at)
                    continue
        reached = None
        if metric is not None:
            reached, trusted = _trusted_step(likelihood, at, slopes, metric, trusted, free)
        if reached is None:
            return Climbed(at, slopes, steps, left < _STUCK)
        at, slopes = reached, likelihood.at(reached)
    return Climbed(at, slopes, steps, False)


def _length(step: Array, metric: Array, free: Flags) -> float:
    return float(np.sqrt(step @ metric[np.ix_(free, free)] @ step))


def _trusted_step(
    likelihood: Likelihood,
    at: Array,
    slopes: Slopes,
    metric: Array,
    trusted: float,
    free: Flags,
) -> tuple[Array | None, float]:
    """Return where a step of a length that is trusted leads, None if nowhere, and the length."""
    gradient, known = slopes.gradient[free], required_sums(slopes.observed)[np.ix_(free, free)]
    while trusted > _SHORTEST:
        step = _damped(known, metric[np.ix_(free, free)], gradient, trusted)
        if step is None:
            return None, trusted
        foreseen = float(gradient @ step - step @ known @ step / 2)
        tried = at.copy()
        tried[free] += step
        rise = likelihood.value(tried) - slopes.value
        told, length = foreseen > 1e-9 * abs(slopes.value), _length(step, metric, free)
        if not rise > 0.25 * foreseen and told:
            trusted = length / 4
        elif rise > 0.75 * foreseen and length > 0.5 * trusted:
            trusted = 3 * trusted
        if rise > 1e-4 * foreseen - 1e-12 * abs(slopes.value):
            return tried, trusted
        if not told:
            return None, trusted
    return None, trusted


def _damped(known: Array, metric: Array, gradient: Array, most: float) -> Array | None:
    """Return (I + m M)^-1 g with the least m >= 0 that makes it positive and not too long.

    The length is met within a fifth. None if no m does it.
    """
    scale = 1 / np.sqrt(np.diag(metric))
    known, metric = known * np.outer(scale, scale), metric * np.outer(scale, scale)
    slope = gradient * scale
    low, high, best = 0.0, np.inf, None
    damping = max(float(np.linalg.norm(slope)) / most, 1e-12)
    for _ in range(_TRIALS):
        try:
            factor = cho_factor(known + damping * metric, check_finite=False)
        except LinAlgError:
            length = np.inf
        else:
            step = cho_solve(factor, slope, check_finite=False)
            length = float(np.sqrt(step @ metric @ step))
        if length > most:
            low = damping
        else:
            high, best = damping, scale * step
            if length > 0.8 * most:
                break
        if high < np.inf and (high < low * 1.02 or high < 1e-14):
            break
        if high == np.inf:
            damping *= 4
        else:
            damping = np.sqrt(low * high) if low else high / 16
    return best


def _again(
    likelihood: Likelihood,
    found: tuple[Array, Slopes],
    newton: Callable[[Array], Array],
    left: float,
    enough: float,
    free: Flags,
) -> tuple[Array, Slopes]:
    """Return where more steps of one information lead, as long as they shorten what is left."""
    while True:
        at, slopes = found
        step = newton(slopes.gradient[free])
        further = float(slopes.gradient[free] @ step)
        if not enough < further < _SHORTER * left:
            return found
        again = _upwards(likelihood, at, slopes.value, step, further, free, whole=True)
        if again is None:
            return found
        found, left = again, further


def _metric(likelihood: Likelihood, complete: Array) -> Array:
    """Return what measures a step: complete data's information, and a little for rare answers.

    The chances of a rare combination weigh little in the first, and a step may change them by any
    number of logits; so each of its columns counts as if some had it. A coefficient of the outcome
    on its way to infinity counts as if some were undecided.
    """
    found, z, r = complete.copy(), likelihood.design.z, likelihood.r
    size = likelihood.outcome_size
    sizes = likelihood.group_sizes
    if r:
        part = _SOME * (z * sizes[:, None]).T @ z
        for start in range(size, likelihood.size, r):
            found[start : start + r, start : start + r] += part
    u, v = likelihood.design.u, likelihood.design.v
    squares = (np.square(u) * sizes[:, None]).sum(axis=0) * np.square(v).mean(axis=0)
    places = np.arange(size)
    spread = np.square(likelihood.constraint).T @ np.tile(squares, likelihood.family.predictors)
    found[places, places] += _SOME * spread
    return found


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
    likelihood: Likelihood,
    at: Array,
    value: float,
    step: Array,
    left: float,
    free: Flags,
    *,
    whole: bool = False,
) -> tuple[Array, Slopes] | None:
    """Return the first point on a step, halved again and again, that is higher; None: none is."""
    length, share = 1.0, 0.05 if whole else 1e-4
    while length > 1e-6:
        tried = at.copy()
        tried[free] += length * step
        slopes = likelihood.at(tried, derivatives=1)
        if slopes.value > value + share * length * left - 1e-12 * abs(value):
            return tried, slopes
        if whole:
            return None
        length /= 2
    return None


def _information(likelihood: Likelihood, at: Array) -> Array:
    return required_sums(likelihood.at(at, observed=False).complete)


@dataclass(frozen=True, eq=False)
class _Factored:
    """The root of a positive definite matrix, scaled to a unit diagonal."""

    scale: Array
    root: tuple[Array, bool]

    @classmethod
    def of(cls, matrix: Array) -> _Factored | None:
        """Return it; None if the matrix is not positive definite."""
        diagonal = np.diag(matrix)
        if not (diagonal > 0).all():
            return None
        scale = 1 / np.sqrt(diagonal)
        try:
            return cls(scale, cho_factor(matrix * np.outer(scale, scale), check_finite=False))
        except LinAlgError:
            return None

    def solved(self, gradient: Array) -> Array:
        """Return the inverse times a gradient."""
        return np.asarray(self.scale * cho_solve(self.root, gradient * self.scale))


def _solver(
    matrix: Array | None, free: Flags, metric: Array | None = None
) -> Callable[[Array], Array] | None:
    """Return what solves; None if the matrix is not positive definite.

    With `FLAT` of a metric added, no direction in which the likelihood is flat makes it fail.
    """
    if matrix is None:
        return None
    if metric is not None:
        matrix = matrix + FLAT * metric
    found = _Factored.of(matrix[np.ix_(free, free)])
    return None if found is None else found.solved


def covariance_of(information: Array | None) -> Array | None:
    """Return the inverse of an information; None of none, or if it is not positive definite."""
    found = None if information is None else _Factored.of(information)
    if found is None:
        return None
    scale = found.scale
    return np.asarray(np.outer(scale, scale) * cho_solve(found.root, np.eye(len(scale))))


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

    `fall` is in nats below the maximum; `side` is -1 for below the estimate, 1 for above; `tell` is
    called at each point.
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
    covariance = covariance_of(maximum.slopes.observed)
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
