"""Intervals of the utility metrics, over the rows that were scored.

Respondents are what varies, not the training: these are intervals of this model. Accuracy and
recall are proportions (Wilson, 1927). Balanced accuracy is (1 + TPR - FPR)/2, a difference of two
independent ones (Newcombe, 1998). F1 is 2J/(1 + J), J = TP/(TP + FP + FN) being a proportion of the
rows that are positive or predicted positive. ROC AUC has the variance of DeLong, DeLong and
Clarke-Pearson (Biometrics 44, 1988), on the logit scale, so that it stays within 0 and 1.
"""

from __future__ import annotations

import math

import numpy as np
import numpy.typing as npt
from scipy.stats import rankdata

from hushpoll_analysis.metrics import GroupCounts, difference_limits, rate_limits
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.group_metrics import RATES
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.evaluation.evaluation import ScoredRows
from hushpoll_training.evaluation.metrics import UTILITY


def utility_intervals(scored: ScoredRows, *, confidence: float = 0.95) -> JsonMembers:
    """Return per utility metric ``{"lower", "upper"}``, or None where the metric is undefined."""
    z = normal_quantile(confidence)
    everyone = np.zeros(len(scored.label), dtype=np.int64)
    counts = GroupCounts.of(scored.label, scored.predicted, everyone, 1)
    negative, false, missed, hits = (int(cell) for cell in counts.cells[0])
    tpr, fpr = (_proportion(counts, rate, z) for rate in ("TPR", "FPR"))
    intervals: dict[str, tuple[float, float] | None] = {
        "accuracy": _proportion(counts, "ACC", z),
        "f1": None,
        "roc_auc": _auc(scored, z),
        "balanced_acc": None,
        "recall": tpr,
    }
    if hits + false + missed:
        limits = _limits(hits, hits + false + missed, z)
        intervals["f1"] = (2 * limits[0] / (1 + limits[0]), 2 * limits[1] / (1 + limits[1]))
    if tpr is not None and fpr is not None:
        recall, alarms = np.array(hits / (hits + missed)), np.array(false / (false + negative))
        low, high = difference_limits(recall, _arrays(tpr), alarms, _arrays(fpr))
        intervals["balanced_acc"] = ((1 + float(low)) / 2, (1 + float(high)) / 2)
    return {name: _as_json(intervals[name]) for name in UTILITY}


def _proportion(counts: GroupCounts, rate: str, z: float) -> tuple[float, float] | None:
    rows = int(counts.rows(RATES[rate])[0])
    return _limits(int(counts.hits(RATES[rate])[0]), rows, z) if rows else None


def _limits(hits: int, rows: int, z: float) -> tuple[float, float]:
    lower, upper = rate_limits(np.array(hits), np.array(rows), z)
    return float(lower), float(upper)


def _auc(scored: ScoredRows, z: float) -> tuple[float, float] | None:
    """Return DeLong's limits; those of Wilson's form for the few rows where nothing varies."""
    positive, negative = (scored.raw[scored.label == code] for code in (1, 0))
    m, n = len(positive), len(negative)
    if min(m, n) < 2:
        return None
    ranks = rankdata(np.concatenate([positive, negative]))
    # chance that each row is on the right side of a row of the other class
    above = (ranks[:m] - rankdata(positive)) / n
    below = 1 - (ranks[m:] - rankdata(negative)) / m
    area = float(above.mean())
    variance = float(above.var(ddof=1) / m + below.var(ddof=1) / n)
    if not 0 < area < 1 or variance == 0:
        # a perfect ranking of few rows is no certainty: as a proportion of the smaller class
        return _limits(round(area * min(m, n)), min(m, n), z)
    middle = math.log(area / (1 - area))
    half = z * math.sqrt(variance) / (area * (1 - area))
    return _expit(middle - half), _expit(middle + half)


def _expit(value: float) -> float:
    return 1 / (1 + math.exp(-value))


def _arrays(
    limits: tuple[float, float],
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]:
    return np.array(limits[0]), np.array(limits[1])


def _as_json(limits: tuple[float, float] | None) -> dict[str, float] | None:
    return None if limits is None else {"lower": limits[0], "upper": limits[1]}
