"""How far the weights of a private linear model are from those that no noise has moved.

Mangold et al., Lemmas 4.1 and 4.2, with constants instead of their order: the exact quantile of the
noise for output perturbation, and a bound on the moments of the distance for DP-SGD. Both need
settings of the training alone, no rows.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from hushpoll_lab.central.gaussian import noise_norm
from hushpoll_lab.central.logistic import MOST_OFF_BY
from hushpoll_protocols.errors import InvalidParameter

ROUNDING = 1e-6
"""Relative error of weights that are kept as float32, and of steps that are taken in it."""


def check_failure(failure: float) -> None:
    """Refuse a chance of failure outside (0, 1)."""
    if not 0 < failure < 1:
        raise InvalidParameter(
            f"failure is {failure}; it must lie in (0, 1), such as 0.01 for a bound that holds "
            "with 99 % probability",
            field="failure",
        )


def perturbed_distance(sigma: float, dimension: int, failure: float) -> float:
    """Return the l2 distance that output perturbation exceeds with at most a chance in (0, 1)."""
    check_failure(failure)
    return noise_norm(sigma, dimension, failure) + MOST_OFF_BY


@dataclass(frozen=True, slots=True)
class Descent:
    """The steps of DP-SGD for logistic regression with an l2 penalty, as the bound needs them."""

    penalty: float
    """mu, positive."""
    radius: float
    """The l2 norm that no row exceeds, its constant included.

    No gradient is longer, so none is clipped.
    """
    learning_rate: float
    """Of every step, at most 2 / (mu + beta), where beta = radius^2 / 4 + mu."""
    rows: int
    """n."""
    sample_rate: float
    """q in (0, 1]: each row's chance to be in a step's batch; sums are divided by q n."""
    steps: int
    """At least 1."""
    noise: float
    """Standard deviation of the noise in a step's sum of gradients, by coordinate."""
    dimension: int
    """Weights, the intercept included."""
    start: float
    """The l2 norm of the first weights, at most."""

    def __post_init__(self) -> None:
        fastest = 2 / (2 * self.penalty + self.radius**2 / 4)
        if not 0 < self.learning_rate <= fastest:
            raise InvalidParameter(
                f"learning_rate is {self.learning_rate:g}; a step brings the weights nearer to the "
                f"minimiser only up to {fastest:.4g}, for this penalty and radius",
                field="learning_rate",
            )

    def distance(self, failure: float) -> float:
        """Return the distance to the minimiser that the last weights exceed with at most `failure`.

        A step without noise brings the weights nearer by the factor 1 - learning_rate mu. The noise
        is normal, and that of the sampling is sub-Gaussian: a centred Bernoulli variable has the
        variance proxy (1 - 2 q) / (2 ln((1 - q) / q)) (Kearns and Saul 1998). So for small enough
        l_T, E exp(l_T d_T^2) <= exp(a + l_0 d_0^2), where l_(t-1) = l_t (1 - rate mu)^2 / (1 - 2
        l_t rate^2 k), k is the largest variance in a direction, and a sums the logarithms of the
        normal integrals. Chernoff's inequality then gives the distance, least over l_T. It grows
        with sqrt(log(1 / failure)); Lemma 4.2's Markov inequality gives sqrt(1 / failure).
        """
        check_failure(failure)
        batch = self.sample_rate * self.rows
        noise = (self.noise / batch) ** 2
        sampling = sampling_proxy(self.sample_rate) * self.rows * (self.radius / batch) ** 2
        factor = (1 - self.learning_rate * self.penalty) ** 2
        squared = self.learning_rate**2
        # |h*| is at most |gradient at 0| / mu, and mu / 2 |h*|^2 at most the value at 0, log 2.
        least = min(self.radius / 2 / self.penalty, math.sqrt(2 * math.log(2) / self.penalty))
        first = (self.start + least) ** 2
        if noise + sampling == 0:
            return math.sqrt(first * factor**self.steps)
        most = (1 - factor) / (2 * squared * (noise + sampling))
        moment = most * np.linspace(0, 1, 402)[1:-1]
        current, integrals = moment.copy(), np.zeros_like(moment)
        for _ in range(self.steps):
            widest = 1 - 2 * current * squared * (noise + sampling)
            others = 1 - 2 * current * squared * noise
            integrals -= (np.log(widest) + (self.dimension - 1) * np.log(others)) / 2
            current = current * factor / widest
        bound = (integrals + current * first - math.log(failure)) / moment
        return math.sqrt(float(bound.min()))


def sampling_proxy(rate: float) -> float:
    """Return the variance proxy of a Bernoulli variable; 0 where every row is drawn."""
    if rate in (0.0, 1.0):
        return 0.0
    if math.isclose(rate, 0.5, abs_tol=1e-6):
        return 0.25
    return (1 - 2 * rate) / (2 * math.log((1 - rate) / rate))
