"""Anchors that are chosen, and how the mean's variance compares with other mechanisms'."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hushpoll_protocols import MalformedRecord, create
from hushpoll_shared.survey.questions.anchors import (
    unit_anchors,
    variance,
    variance_at,
    worst_variance,
)
from hushpoll_shared.survey.questions.number import LARGEST_NUMBER
from studies.gains import GRID, OTHERS, anchors_of, populations

EPSILONS = {"0.5": 2, "1": 2, "2": 3, "4": 5}
"""By epsilon, the anchors that GRR gets for the mean."""


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_worst_variance_of_the_mean_is_at_most_a_tenth_above_the_best_other(epsilon: str) -> None:
    anchors = anchors_of(epsilon)
    assert len(anchors) == EPSILONS[epsilon]
    oracle = create("GRR", k=len(anchors), epsilon=epsilon)
    scaled = [anchor / LARGEST_NUMBER for anchor in anchors]
    worst = worst_variance(oracle, scaled)
    assert worst == pytest.approx(max(variance_at(oracle, scaled, t) for t in GRID), rel=1e-4)
    best = min(max(other(float(epsilon), t) for t in GRID) for other in OTHERS)
    assert worst / best <= 1.10
    reached = {"0.5": 1.00, "1": 1.09, "2": 0.96, "4": 0.81}[epsilon]
    assert worst / best == pytest.approx(reached, abs=0.006)


@pytest.mark.parametrize("epsilon", EPSILONS)
def test_total_variance_on_named_populations_is_at_most_8_percent_above_the_best_other(
    epsilon: str, data_dir: Path
) -> None:
    anchors = unit_anchors(EPSILONS[epsilon])
    oracle = create("GRR", k=len(anchors), epsilon=epsilon)
    ours = np.array([variance_at(oracle, anchors, t) for t in GRID])
    for name, values in populations(data_dir).items():
        total = np.interp(values, GRID, ours).mean() + values.var()
        best = min(
            np.mean([other(float(epsilon), t) for t in values[:4000]]) + values[:4000].var()
            for other in OTHERS
        )
        assert total / best <= 1.08, name


@pytest.mark.parametrize("protocol", ["GRR", "SS", "OUE"])
def test_variance_of_a_score_is_that_of_the_enumerated_law(protocol: str) -> None:
    oracle = create(protocol, k=5, epsilon="1.5")
    scores = [-1.0, 0.25, 3.0, 0.5, 0.0]
    p, q = float(oracle.p), float(oracle.q)
    for code in range(5):
        mean = square = 0.0
        for byte in range(256):
            record = bytes([byte])
            try:
                oracle.check(record)
            except MalformedRecord:
                continue
            chance = float(oracle.probability(record, code))
            held = set(oracle.support(record))
            score = sum(s * ((v in held) - q) for v, s in enumerate(scores)) / (p - q)
            mean += chance * score
            square += chance * score * score
        assert mean == pytest.approx(scores[code])
        assert variance(oracle, scores, code) == pytest.approx(square - mean * mean)
