"""Pinned per protocol: its law, simulated records, indicators, counts, and every named estimate."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from pinned.entry_points import (
    PROTOCOLS,
    create,
    indicators,
    named_estimates,
    perturb,
    support_counts,
)
from pinned.summaries import digest, numbers

DOMAINS = ((2, "1"), (5, "0.5"), (16, "2"), (74, "1"), (300, "4"))
"""Domain size and epsilon."""

ROWS = 2000


def parts() -> dict[str, Callable[[], dict[str, Any]]]:
    """Return what computes the values of each protocol."""
    return {name: partial(_protocol, name) for name in PROTOCOLS}


def _protocol(name: str) -> dict[str, Any]:
    return {f"k {k}, epsilon {epsilon}": _domain(name, k, epsilon) for k, epsilon in DOMAINS}


def _domain(name: str, k: int, epsilon: str) -> dict[str, Any]:
    oracle = create(name, k=k, epsilon=epsilon)
    rng = np.random.default_rng([k, 17])
    values = np.minimum(rng.geometric(3 / (k + 3), ROWS) - 1, k - 1)
    records = perturb(oracle, values, rng)
    found = named_estimates(oracle, records)
    return {
        "p": str(oracle.p),
        "q": str(oracle.q),
        "realized_epsilon": str(oracle.realized_epsilon),
        "record_size": oracle.record_size,
        "records": digest(records),
        # one more draw: how much randomness a simulation takes is pinned as well
        "next_word": int(rng.integers(0, 1 << 62)),
        "indicators": digest(indicators(oracle, records)),
        "support_counts": digest(support_counts(oracle, records)),
        "estimates": {
            estimator: {column: numbers(values) for column, values in columns.items()}
            for estimator, columns in found.items()
        },
    }
