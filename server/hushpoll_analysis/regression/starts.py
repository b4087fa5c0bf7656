"""Where climbs start: perturbed predictors as frequent as steps of EM find them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.regression.likelihood import Likelihood

Array = npt.NDArray[np.float64]

_EM: Final = 25
"""Steps of EM for the shares of the perturbed predictors, before anything depends on anything."""
_RARE: Final = 1e-3
"""Share, of an even one, below which EM lets no combination fall."""
_ROUGH: Final = 0.1
"""Rise of the log-likelihood below which EM has done its part."""
_OWN: Final = 0.1
"""Respondents that each combination has beside those of EM, where a climb is to go on."""


def with_shares(likelihood: Likelihood, start: Array) -> Array:
    """Return a start at which the combinations of perturbed predictors are as frequent as EM says.

    Beside the slopes of the start nothing depends on anything: each constant of their model has one
    share, and the gradient by it is what the rows are expected to have, less that.
    """
    z, c = likelihood.design.z, likelihood.c
    constant = np.flatnonzero(np.isin(z, (0.0, 1.0)).all(axis=0) & (z.sum(axis=0) > 0))
    whole = [one for one in constant if z[:, one].all()]
    if whole:
        constant = np.array(whole[:1])
    elif z.shape[1] == 0 or len(constant) != z.shape[1] or not (z.sum(axis=1) == 1).all():
        return start
    people = (z[:, constant] * likelihood.group_sizes[:, None]).sum(axis=0)

    def at_shares(shares: Array) -> Array:
        mixing = np.zeros((c - 1, z.shape[1]))
        mixing[:, constant] = np.log(shares[1:] / shares[0])
        tried = np.array(start)
        tried[likelihood.outcome_size :] = mixing.ravel()
        return tried

    def risen(gradient: Array) -> Array:
        return gradient.reshape(c - 1, -1)[:, constant]

    return _by_em(likelihood, at_shares, risen, people)


def with_shares_of_groups(likelihood: Likelihood, start: Array) -> Array | None:
    """Return a start at which each group in clear has the shares that EM finds given the slopes.

    A climb may end where a combination has no share and would have one: its logit is far away, and
    nothing calls it back. Given the slopes, shares have one maximum, and EM goes there from any
    start. Each combination then has `_OWN` respondents more, so that a climb goes on from where no
    logit is far. None where groups have no shares of their own.
    """
    z, c = likelihood.design.z, likelihood.c
    if c == 1 or z.shape[0] != z.shape[1] or np.linalg.cond(z) > 1e6:
        return None
    people = likelihood.group_sizes
    back = np.linalg.inv(z)

    def at_shares(shares: Array) -> Array:
        tried = np.array(start)
        tried[likelihood.outcome_size :] = (np.log(shares[1:] / shares[0]) @ back.T).ravel()
        return tried

    def risen(gradient: Array) -> Array:
        return np.asarray(gradient.reshape(c - 1, -1) @ back)

    return _by_em(likelihood, at_shares, risen, people, own=_OWN)


def _by_em(
    likelihood: Likelihood,
    at_shares: Callable[[Array], Array],
    risen: Callable[[Array], Array],
    people: Array,
    own: float = 0.0,
) -> Array:
    """Return the parameters to which steps of EM for shares f64[c, groups] lead from even ones.

    `risen` returns, of the gradient by the mixing, that by the logits of each group's shares;
    `people` f64[groups] is the sum of weights of each; `own` are the respondents that each
    combination of a group has at the end beside those of the shares.
    """
    c = likelihood.c
    shares = np.full((c, len(people)), 1 / c)
    found, best = shares, -np.inf
    for _ in range(_EM):
        slopes = likelihood.at(at_shares(shares), derivatives=1)
        if not slopes.value > best + _ROUGH:
            break
        found, best = shares.copy(), slopes.value
        shares[1:] += risen(slopes.gradient[likelihood.outcome_size :]) / people
        shares = np.maximum(shares, _RARE / c)
        shares[0] = 0
        shares[0] = np.maximum(1 - shares.sum(axis=0), _RARE / c)
        shares /= shares.sum(axis=0)
    return at_shares((found * people + own) / (people + c * own))
