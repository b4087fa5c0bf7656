"""Epsilon audited from outside: records are counted, nothing of the oracle's law is believed.

For two answers v and w, the event "supports v and not w" happens with probabilities whose ratio is
the whole likelihood ratio. Clopper-Pearson bounds on both give a lower bound on epsilon that a
healthy sampler exceeds realized epsilon with a chance below 1e-9, and an overspending one shows.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from decimal import Decimal
from itertools import permutations

import numpy as np
import pytest
from planted_faults import EVERYWHERE
from scipy import stats

from hushpoll_protocols import PROTOCOLS, FrequencyOracle, SecureBits, create
from hushpoll_protocols.kernels import indicators, perturb

DRAWS = 200_000
LEVEL = 1e-9 / 4


def _lower_bound(hits_v: int, hits_w: int, n: int, level: float = LEVEL) -> float:
    """Lower confidence bound on ln(P/Q) from hits under P and under Q."""
    low = stats.beta.ppf(level, hits_v, n - hits_v + 1) if hits_v else 0.0
    high = stats.beta.ppf(1 - level, hits_w + 1, n - hits_w) if hits_w < n else 1.0
    return math.log(low / high) if low else -math.inf


Sampler = Callable[[int, int], np.ndarray]


def _audit(k: int, n: int, sample: Sampler, level: float = LEVEL) -> float:
    """Largest lower bound over pairs of answers; `sample(value, n)` gives indicators (n, k)."""
    drawn = [sample(value, n) for value in range(k)]
    bounds = []
    for v, w in permutations(range(k), 2):
        hits = [int(((rows[:, v] == 1) & (rows[:, w] == 0)).sum()) for rows in (drawn[v], drawn[w])]
        bounds.append(_lower_bound(*hits, n, level / (k * (k - 1))))
    return max(bounds)


def _kernel_sampler(oracle: FrequencyOracle) -> Sampler:
    def sample(value: int, n: int) -> np.ndarray:
        rng = np.random.default_rng([11, value])
        return indicators(oracle, perturb(oracle, np.full(n, value), rng))

    return sample


@pytest.mark.parametrize("epsilon", ["0.5", "2"])
@pytest.mark.parametrize("name", PROTOCOLS)
def test_perturb_spends_what_it_realizes_and_no_more(name: str, epsilon: str) -> None:
    oracle = create(name, k=3, epsilon=epsilon)
    bound = _audit(3, DRAWS, _kernel_sampler(oracle))
    assert bound <= float(oracle.realized_epsilon)
    # The audit has teeth: it accounts for nearly all that is spent.
    assert bound > 0.9 * float(oracle.realized_epsilon) - 0.05


@pytest.mark.parametrize("name", PROTOCOLS)
def test_randomize_spends_what_it_realizes_and_no_more(name: str) -> None:
    oracle, bits = create(name, k=3, epsilon="2"), SecureBits()

    def sample(value: int, n: int) -> np.ndarray:
        records = b"".join(oracle.randomize(value, bits) for _ in range(n))
        return indicators(oracle, np.frombuffer(records, np.uint8).reshape(n, -1))

    bound = _audit(3, 12_000, sample)
    assert 0.6 * float(oracle.realized_epsilon) < bound <= float(oracle.realized_epsilon)


@pytest.mark.parametrize("name", PROTOCOLS)
def test_ten_percent_overspent_is_detected(name: str) -> None:
    oracle = create(name, k=3, epsilon="2")
    plant, _ = EVERYWHERE["10 % overspent"]
    spent = plant(oracle)
    assert spent.epsilon == oracle.epsilon == Decimal(2)
    assert _audit(3, DRAWS, _kernel_sampler(spent)) > float(oracle.epsilon)


@pytest.mark.parametrize("name", ["RAPPOR", "OUE", "THE"])
def test_a_true_bit_that_is_never_cleared_is_detected(name: str) -> None:
    oracle = create(name, k=3, epsilon="2")
    healthy = _kernel_sampler(oracle)

    def sample(value: int, n: int) -> np.ndarray:
        rows = healthy(value, n)
        rows[:, value] = 1
        return rows

    # The event turned round, "not v but w", never happens under v: the ratio has no bound.
    rows = [sample(value, DRAWS) for value in (0, 1)]
    hits = [int(((r[:, 0] == 0) & (r[:, 1] == 1)).sum()) for r in rows]
    assert hits[0] == 0
    assert _lower_bound(hits[1], hits[0], DRAWS) > float(oracle.epsilon) + 2
