"""The moments of a record's score, against the sum over every support that a record can have."""

from itertools import combinations
from math import comb

import numpy as np
import pytest

from hushpoll_analysis.estimates.score_law import RecordLaw
from hushpoll_protocols import create

K = 4
FREQUENCY = np.array([0.1, 0.4, 0.2, 0.3])
SCORES = np.array([-1.0, 0.3, 2.0, 0.0])


def supports(oracle, truth):
    """Every support of a record and its probability given the truth."""
    p, q = float(oracle.p), float(oracle.q)
    for size in range(K + 1):
        for chosen in combinations(range(K), size):
            inside = truth in chosen
            if oracle.support_size is None:
                chance = np.prod(
                    [
                        (p if v in chosen else 1 - p)
                        if v == truth
                        else (q if v in chosen else 1 - q)
                        for v in range(K)
                    ]
                )
            elif size == oracle.support_size:
                chance = (p if inside else 1 - p) / comb(K - 1, size - inside)
            else:
                continue
            yield list(chosen), chance


@pytest.mark.parametrize(
    ("protocol", "epsilon"),
    [("GRR", "1"), ("SS", "0.5"), ("SS", "3"), ("OUE", "1"), ("RAPPOR", "2"), (None, "")],
)
def test_moments_are_sums_over_all_supports(protocol, epsilon):
    expected = np.zeros((K, 2))
    oracle = None if protocol is None else create(protocol, k=K, epsilon=epsilon)
    law = RecordLaw.of(oracle, K)
    for truth in range(K):
        if oracle is None:
            expected[truth] = SCORES[truth] ** 2, SCORES[truth] ** 3
            continue
        share = law.law.shares_at(FREQUENCY) if law.law.varies else np.zeros(K)
        for chosen, chance in supports(oracle, truth):
            indicators = np.zeros(K)
            indicators[chosen] = 1
            debiased = (indicators - float(oracle.q)) / float(oracle.p - oracle.q)
            value = SCORES @ (debiased - share * (debiased.sum() - 1))
            expected[truth] += chance * value**2, chance * value**3
    sums = tuple(np.asarray((SCORES**power).sum()) for power in (1, 2, 3))
    mean = np.asarray(SCORES @ FREQUENCY)
    points = [tuple(np.asarray(score**power) for power in range(4)) for score in SCORES.tolist()]
    at_each = law.moments(sums, mean, points)
    assert np.array(at_each) == pytest.approx(expected, rel=1e-9, abs=1e-12)
    whole = tuple(np.asarray(SCORES**power @ FREQUENCY) for power in range(4))
    ((second, third),) = law.moments(sums, mean, [whole])
    assert (second, third) == pytest.approx(tuple(FREQUENCY @ expected), rel=1e-9, abs=1e-12)
