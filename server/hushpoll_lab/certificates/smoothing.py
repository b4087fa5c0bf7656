"""How fair a linear model with Gaussian noise on its weights is, on average over the noise.

Jin et al. (ICML 2022) smooth a model by Gaussian noise on its parameters; Tran et al. compare with
that. For a linear model the chance of a positive prediction is known exactly. It needs nothing but
the weights, so for the weights of a private model it is as public as they are.
"""

from __future__ import annotations

import math

import numpy as np
from scipy.special import ndtr

from hushpoll_lab.central.logistic import Matrix, Vector
from hushpoll_lab.central.rows import l2_norms


def positive_chances(rows: Matrix, weights: Vector, deviation: float) -> Vector:
    """Return Pr((w + nu).x > 0) of each row, nu normal: Phi(w.x / (deviation ||x||)).

    Rows are [n, p] with the 1 of the intercept; the deviation is that of each coordinate of nu.
    """
    return np.asarray(ndtr(np.asarray(rows @ weights) / (deviation * l2_norms(rows))))


def worst_case(weights: Vector, deviation: float) -> float:
    """Return a bound on the difference of two groups' shares of positive predictions.

    erf(||w|| / (deviation sqrt 2)): by the inequality of Cauchy and Schwarz each row's chance lies
    in [Phi(-r), Phi(r)] with r = ||w|| / deviation, whatever the rows, the groups and the event.
    The shares are means over the noise, or over the coins of a smoothed learner.
    """
    return math.erf(float(np.linalg.norm(weights)) / (deviation * math.sqrt(2)))
