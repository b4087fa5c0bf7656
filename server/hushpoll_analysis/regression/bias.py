"""The bias that maximum likelihood has in finite samples, estimated and taken off.

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

from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.likelihood import Likelihood

Array = npt.NDArray[np.float64]

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
