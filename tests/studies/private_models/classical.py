"""What the paper of the certificates adds as noise, and how far it lets the noise reach."""

from __future__ import annotations

import math


def classical_sigma(epsilon: float, delta: float, sensitivity: float) -> float:
    """Return sensitivity sqrt(2 ln(1.25 / delta)) / epsilon (Dwork and Roth 2014, Theorem A.1).

    The theorem holds for epsilon in (0, 1].
    """
    return sensitivity * math.sqrt(2 * math.log(1.25 / delta)) / epsilon


def noise_norm_bound(sigma: float, dimension: int, failure: float) -> float:
    """Return Mangold et al.'s bound on the same quantile, 2 sigma sqrt(p ln(2 / failure)).

    From the proof of their Lemma 4.1; ``noise_norm`` is the exact value.
    """
    return 2 * sigma * math.sqrt(dimension * math.log(2 / failure))
