"""The bias that maximum likelihood has in finite samples: estimated, taken off, and told.

The maximum misses by a term of order 1 / n: with the noise of records it may be a fifth of a
standard error, and logits are drawn away from 0. Kosmidis and Lunardon ("Empirical bias-reducing
adjustments to estimating functions", JRSS B 2024) remove it by maximising

    l(b) - tr{ j(b)^-1 e(b) } / 2

in place of l, with j the observed information and e the sum of the products of the scores, of rows
or of clusters of rows. Nothing is asked of the model but that it is right, so it holds with weights
and for whatever a record hides. One step of Newton's method from the maximum does it up to a term
that is smaller by another 1 / n: j^-1 times the gradient of the second term there.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.fitting import Maximum
from hushpoll_analysis.regression.inference import NOISY, Covariance
from hushpoll_analysis.regression.likelihood import Likelihood
from hushpoll_analysis.regression.specification import Model

Array = npt.NDArray[np.float64]

REDUCED: Final = "reduced"
LIKELIHOOD: Final = "likelihood"
ESTIMATORS: Final = (REDUCED, LIKELIHOOD)
_MOST_BIAS: Final = 1.0
"""Standard errors above which a first-order bias is no small correction, and is not taken off."""
_BIAS_WORK: Final = 1e10
"""Products of two informations for each of the outcome's parameters, above which a bias is
estimated from fewer rows, and standard errors are taken as the same whatever is tested."""
_FEWEST: Final = 4_000
"""Rows of which it is estimated, at least."""
_STEP: Final = 0.05
"""Standard errors by which parameters are moved to both sides for a derivative."""


def first_order_bias(
    likelihood: Likelihood, parameters: Array, inverse: Array, *, times: float = 1.0
) -> Array:
    """Return the bias of the outcome's parameters at the maximum, f64[outcome_size].

    The component of j^-1 g of a parameter is the derivative along a row of j^-1, so it takes two
    informations for each of the outcome's parameters, and none for those of the mixing. j^-1 is
    held at the maximum's, and the derivative of the trace follows from those of e and of j; so they
    may be of a sample of the rows.

    The likelihood is of all rows, or of a sample of them with `times` their weight; the maximum and
    the inverse f64[q, q] of the observed information there are of all rows.
    """
    outer = inverse @ likelihood.crossed(parameters) @ inverse * times
    found = np.zeros(likelihood.outcome_size)
    for place in range(likelihood.outcome_size):
        error = np.sqrt(inverse[place, place])
        if not error > 0:
            continue
        direction, ends = inverse[place] / error, []
        for side in (-1, 1):
            moved = parameters + side * _STEP * direction
            observed, crossed = likelihood.observed_and_crossed(moved)
            ends.append((outer * observed).sum() - (inverse * crossed).sum())
        # minus the gradient of the term: what the maximum has too much
        found[place] = -times * error * (ends[1] - ends[0]) / (4 * _STEP)
    return found


def too_large(name: str) -> str:
    """Return that the bias of a coefficient is not taken off."""
    return (
        f"the first-order bias of {name} is above {_MOST_BIAS:g} standard error, too large "
        "for a correction, and the estimates are those of maximum likelihood; give more rows, "
        "or leave terms out"
    )


def _work_of_each(likelihood: Likelihood) -> float:
    """Return the products of two informations for each of the outcome's parameters."""
    rows = float(len(likelihood.rows.group))
    return float(2 * likelihood.outcome_size * rows * likelihood.size**2)


def is_cheap(likelihood: Likelihood) -> bool:
    """Return whether informations for each of the outcome's parameters take no long time."""
    return _work_of_each(likelihood) <= _BIAS_WORK


def bias_of(
    model: Model,
    maximum: Maximum,
    known: Covariance,
    sample: Likelihood,
    expected: Mapping[int, float],
    estimator: str | None,
) -> tuple[Array | None, list[str]]:
    """Return the bias of the outcome's estimates, None where slopes have sets, and words for it."""
    likelihood = model.likelihood
    size = likelihood.outcome_size
    if estimator is None and any(unit.patterns.of_protocol for unit in likelihood.units):
        estimator = REDUCED
    noisy = any(one > NOISY for one in expected.values()) or known.flat[:size].any()
    if estimator != REDUCED or noisy or not size:
        return None, []
    work = _work_of_each(likelihood)
    if work > _BIAS_WORK and likelihood.rows.cluster is not None:
        return None, [
            "the estimates keep their first-order bias, which takes too long to compute of so many "
            "rows in clusters"
        ]
    if work > _BIAS_WORK:
        rows = max(_FEWEST, int(model.answers.n * _BIAS_WORK / work))
        if rows < model.answers.n:
            rng = np.random.default_rng(20_263)
            sample = model.taken(np.sort(rng.choice(model.answers.n, rows, replace=False)))
            sample.prior = likelihood.prior
    else:
        sample = likelihood
    times = likelihood.total / sample.total
    bias = first_order_bias(sample, maximum.parameters, known.inverse, times=times)
    worst = np.abs(bias) / np.sqrt(np.diag(known.matrix)[:size])
    place = int(np.argmax(worst))
    name, much = likelihood.family.coefficients[place].name, float(worst[place])
    if not np.isfinite(bias).all() or much > _MOST_BIAS:
        return None, [too_large(name)]
    return bias, [
        f"the estimates are less the first-order bias of maximum likelihood (Kosmidis and "
        f"Lunardon 2024), at most {much:.2g} of a standard error ({name})"
    ]
