"""The peers: the row-by-row way of the paper's code, and pure-LDP where it is installed.

The paper's code perturbs with multi-freq-ldpy's clients one respondent at a time and builds one
indicator vector per respondent in Python. That is reproduced here with the same calls, no slower
and no faster.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import xxhash
from multi_freq_ldpy.pure_frequency_oracles.GRR import GRR_Client
from multi_freq_ldpy.pure_frequency_oracles.HE import HE_Client, find_tresh
from multi_freq_ldpy.pure_frequency_oracles.LH import LH_Client
from multi_freq_ldpy.pure_frequency_oracles.SS import SS_Client
from multi_freq_ldpy.pure_frequency_oracles.UE import UE_Client
from scipy.optimize import minimize_scalar


def _one_hot(value: int, k: int) -> np.ndarray:
    vector = np.zeros(k)
    vector[value] = 1
    return vector


def _subset(values: np.ndarray, k: int) -> np.ndarray:
    vector = np.zeros(k)
    vector[values] = 1
    return vector


def _hashed(report: tuple[int, int], k: int, g: int) -> np.ndarray:
    bucket, seed = report
    return np.array(
        [1 if bucket == (xxhash.xxh32(str(v), seed=seed).intdigest() % g) else 0 for v in range(k)]
    )


def encoder(protocol: str, k: int, epsilon: float) -> Callable[[int], np.ndarray]:
    """Return the function value -> perturbed indicator vector, one respondent at a time."""
    if protocol == "GRR":
        return lambda v: _one_hot(GRR_Client(v, k, epsilon), k)
    if protocol == "BLH":
        return lambda v: _hashed(LH_Client(v, k, epsilon, False), k, 2)
    if protocol == "OLH":
        g = round(float(np.exp(epsilon))) + 1
        return lambda v: _hashed(LH_Client(v, k, epsilon, True), k, g)
    if protocol == "RAPPOR":
        return lambda v: UE_Client(v, k, epsilon, False)
    if protocol == "OUE":
        return lambda v: UE_Client(v, k, epsilon, True)
    if protocol == "SS":
        return lambda v: _subset(SS_Client(v, k, epsilon), k)
    if protocol == "THE":
        theta = minimize_scalar(find_tresh, bounds=[0.5, 1], method="bounded", args=(epsilon,)).x
        return lambda v: (HE_Client(v, k, epsilon) > theta).astype(float)
    raise ValueError(f"no row-by-row peer for {protocol}")
