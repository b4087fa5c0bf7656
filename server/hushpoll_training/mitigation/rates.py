"""Rates of positive predictions at each of several thresholds, in groups known through records.

For each group a, label y and threshold t the share of the people of a and y whose score is above t
is a ratio of two means: of W_a V_y 1[score > t] and of W_a V_y, with the weights of
:mod:`hushpoll_training.learners.evidence` (the inverse channel of Mozannar et al., ICML 2020).
Both are unbiased where the score depends neither on the record of the protected attribute nor on
the reported label. Where the target may be skipped, the rows that report no answer are among them:
both means are then of the people who answered. A score that takes the protected attribute is
computed for each category in turn, in clear, and weighed by the row's weight in that category.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from sklearn.isotonic import isotonic_regression

from hushpoll_training.learners.evidence import Array, GroupEvidence, require_members

NEVER = np.inf
ALWAYS = -np.inf


@dataclass(frozen=True, slots=True)
class ThresholdRates:
    """Rates of the predictions at thresholds, estimated from n rows."""

    thresholds: Array
    """f64[t], ascending; the first is -inf and the last inf."""
    cells: Array
    """f64[groups, 2], shares of the rows by group and label (0 negative, 1 positive), each
    positive."""
    above: Array
    """f64[groups, 2, t], share of the rows of a group and label whose score is above a threshold: 1
    for the first, 0 for the last, never rising in between."""

    @property
    def positive(self) -> Array:
        """Share of a group's rows above each threshold, whatever their label: f64[groups, t]."""
        shares = self.cells / self.cells.sum(axis=1, keepdims=True)
        positive: Array = np.einsum("gy,gyt->gt", shares, self.above)
        return positive


Scores = Sequence[Mapping[int, Array]]
"""Per group: by a category's code, the scores of all rows f64[n] if that were the answer."""


def estimate_rates(
    evidence: GroupEvidence,
    label: npt.NDArray[np.int64],
    scores: Scores,
    *,
    grid: int,
    always: float,
) -> ThresholdRates:
    """Estimate the rates from the evidence of rows that the scores' model was not fitted to.

    Labels are int64[n] of {0, 1}, or `SKIPPED`, as reported; `grid` is the number of thresholds,
    quantiles of the scores, beside the threshold `always`. Refuses estimated shares of a group, or
    of one of its labels, that are not positive.
    """
    own, classes = evidence.category_weights(), evidence.label_weights(label, 2)
    thresholds = _grid(scores, grid, always)
    cells = np.zeros((len(evidence.groups), 2))
    above = np.zeros((len(evidence.groups), 2, thresholds.size))
    for group, by_code in enumerate(scores):
        for code, score in by_code.items():
            weighed = own[:, code, None] * classes / label.size
            cells[group] += weighed.sum(axis=0)
            # row i is above the first `below[i]` thresholds
            below = np.searchsorted(thresholds, score, side="left")
            for y in (0, 1):
                at = np.bincount(below, weights=weighed[:, y], minlength=thresholds.size + 1)
                above[group, y] += at[::-1].cumsum()[::-1][1:]
    require_members(cells, "group and label")
    above /= cells[:, :, None]
    for group in range(len(above)):
        for y in (0, 1):
            above[group, y, 1:-1] = isotonic_regression(
                above[group, y, 1:-1], y_min=0.0, y_max=1.0, increasing=False
            )
    above[..., 0], above[..., -1] = 1.0, 0.0
    return ThresholdRates(thresholds, cells, above)


def _grid(scores: Scores, grid: int, always: float) -> Array:
    pooled = np.concatenate([score for by_code in scores for score in by_code.values()])
    inner = np.quantile(pooled, np.arange(1, grid + 1) / (grid + 1))
    return np.concatenate([[ALWAYS], np.unique(np.append(inner, always)), [NEVER]])
