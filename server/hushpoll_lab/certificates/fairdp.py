"""FairDP's certificates: how fair its network is on average over the noise of the last step.

Tran et al., Theorem 3.2, Proposition 3.3 and appendix H. With everything but the noise of the last
layer fixed, the output for a row is a normal variable, so the chance that it is positive is known.

:func:`worst_case` needs the training plan alone. :func:`empirical` needs weights and gradients
without noise and the training rows: publishing its result is not private.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import numpy as np
import numpy.typing as npt
from scipy.special import ndtr

from hushpoll_lab.central.fairdp import LastStep
from hushpoll_lab.central.logistic import Vector
from hushpoll_protocols.errors import InvalidParameter

EVENTS = {
    "demographic_parity": (None,),
    "equal_opportunity": (1,),
    "equalized_odds": (1, 0),
}
"""The notions, each with the labels that its rates are conditioned on; None is no condition."""


def worst_case(step: LastStep) -> float:
    """Return tau of Theorem 3.2, equation (8): a bound for every population and event.

    erf((M K + eta m C) sqrt(K) / (K eta sigma C sqrt(2))), with m the rows of the last batches. A
    value near 1 says nothing. It depends on the rows by their number in the last batches alone.
    """
    length = step.last_layer_norm + step.learning_rate * step.batch_rows * step.clip / step.groups
    return _erf(length, step)


def positive_chances(step: LastStep, hidden: npt.NDArray[np.float64]) -> Vector:
    """Return Pr(prediction is positive) of each row over the last layer's noise, equation (5).

    `hidden` is f64[n, width], what the last layer is given for the rows, z_{L-1}.
    """
    mean = hidden @ (step.before - step.learning_rate * step.gradient)
    spread = np.linalg.norm(hidden, axis=1) * _deviation(step)
    # Without noise, or with a hidden layer of zeros, the output is certain; 0 is no positive one.
    certain = np.where(mean > 0, np.inf, -np.inf)
    ratio = np.divide(mean, spread, out=certain, where=spread > 0)
    return np.asarray(ndtr(ratio))


def empirical(
    chances: Vector, label: npt.NDArray[np.int64], group: npt.NDArray[np.int64]
) -> Mapping[str, float]:
    """Return tau_emp of Proposition 3.3 for each notion in `EVENTS`, on these rows.

    It is the largest difference between two groups; of equalised odds, over both labels; ``nan``
    where a group has no row of a label. Chances, f64[n], are those of :func:`positive_chances`, or
    predictions of {0, 1} for the notions' measured values.
    """
    groups = int(group.max()) + 1
    result = {}
    for name, labels in EVENTS.items():
        widest = 0.0
        for wanted in labels:
            rates = []
            for number in range(groups):
                chosen = group == number
                if wanted is not None:
                    chosen = chosen & (label == wanted)
                rates.append(float(chances[chosen].mean()) if chosen.any() else math.nan)
            widest = (
                max(widest, max(rates) - min(rates))
                if not any(map(math.isnan, rates))
                else math.nan
            )
            if math.isnan(widest):
                break
        result[name] = widest
    return result


def parity_error(chances: Vector, group: npt.NDArray[np.int64]) -> float:
    """Return the standard error of tau_emp for demographic parity, as rows vary.

    It is that of the widest pair of groups: sqrt(s_u^2 / n_u + s_v^2 / n_v), with the variances of
    the chances. Other rows of the same population have another tau; Proposition 3.3 takes the rows
    as they are.
    """
    groups = range(int(group.max()) + 1)
    means = [float(chances[group == number].mean()) for number in groups]
    return math.hypot(
        *(
            float(chances[group == number].std()) / math.sqrt(int((group == number).sum()))
            for number in (int(np.argmin(means)), int(np.argmax(means)))
        )
    )


def monte_carlo_error(sizes: Sequence[int], models: int) -> float:
    """Return the error that equation (32) adds for finite rows of each group and N models.

    max over pairs of groups of 1 / (2 sqrt(N n_u)) + 1 / (2 sqrt(N n_v)): the standard errors of
    the groups' rates at most. The paper calls the sum a bound; it is one standard error of each.
    Refuses fewer than two groups, an empty one, and fewer than one model.
    """
    if len(sizes) < 2 or min(sizes) < 1 or models < 1:
        raise InvalidParameter(
            f"the groups have {list(sizes)} rows and there are {models} models; give two groups or "
            "more with a row each, and a model",
            field="sizes",
        )
    first, second = sorted(sizes)[:2]
    return 1 / (2 * math.sqrt(models * first)) + 1 / (2 * math.sqrt(models * second))


def _erf(length: float, step: LastStep) -> float:
    deviation = _deviation(step)
    return math.erf(length / (deviation * math.sqrt(2))) if deviation > 0 else 1.0


def _deviation(step: LastStep) -> float:
    """Return the standard deviation of each weight of the last layer, eta sigma C / sqrt(K)."""
    return step.learning_rate * step.noise_multiplier * step.clip / math.sqrt(step.groups)
