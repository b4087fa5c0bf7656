"""Utility and group fairness of a binary classifier on clear rows: the columns of results.csv.

A group without positives has no true positive rate. A zero or a nan in its place would flow into
means and tables unnoticed, so an undefined value carries its reason and refuses to be a number.

Results have columns of some of the group rates and metrics of
:mod:`hushpoll_shared.group_metrics`; :mod:`hushpoll_training.evaluation.fairness` reports all of
them. ``roc_auc`` ranks the scores. ``balanced_acc`` is the number that the code of Arcolezi,
Makhlouf and Palamidessi (DBSec 2023) calls auc, since it ranked predicted labels.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.metrics import GroupCounts
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.group_metrics import METRICS as GROUP_METRICS
from hushpoll_shared.group_metrics import RATES, GroupMetric


@dataclass(frozen=True, slots=True)
class Metric:
    """A defined value, or an undefined one with its reason; never a silent 0 or nan.

    Attributes
    ----------
    value : float or None
        The finite value, or None where the metric is undefined.
    reason : str
        Why it is undefined, in words; empty where it is defined.

    Raises
    ------
    ValueError
        If both or neither of value and reason are given.
    """

    value: float | None
    reason: str = ""

    def __post_init__(self) -> None:
        if (self.value is None) != bool(self.reason):
            raise ValueError(
                f"a metric has a value or a reason, never both or neither: {self.value!r}, "
                f"{self.reason!r}"
            )

    @classmethod
    def ratio(cls, numerator: float, denominator: float, reason: str) -> Metric:
        """`numerator / denominator`, undefined for `reason` where the denominator is 0."""
        if denominator == 0:
            return cls(None, reason)
        return cls(float(numerator) / float(denominator))

    @property
    def defined(self) -> bool:
        """Whether there is a value."""
        return self.value is not None

    def number(self) -> float:
        """Return the value.

        Raises
        ------
        ValueError
            If the metric is undefined; the message is its reason.
        """
        if self.value is None:
            raise ValueError(f"undefined: {self.reason}")
        return self.value

    def minus(self, other: Metric) -> Metric:
        """Difference of two metrics; undefined, for the first reason, if either is."""
        if self.value is None:
            return self
        if other.value is None:
            return other
        return Metric(self.value - other.value)

    def over(self, other: Metric, reason: str) -> Metric:
        """Ratio of two metrics; undefined if either is, or for `reason` where `other` is 0."""
        if self.value is None:
            return self
        if other.value is None:
            return other
        return Metric.ratio(self.value, other.value, reason)

    def to_json(self) -> Any:
        """Return the number, or ``{"undefined": reason}``."""
        return {"undefined": self.reason} if self.value is None else self.value

    def __str__(self) -> str:
        return "undefined" if self.value is None else f"{self.value:.4f}"


UTILITY = ("accuracy", "f1", "roc_auc", "balanced_acc", "recall")
FAIRNESS = tuple(name for name, metric in GROUP_METRICS.items() if metric.in_results)
GROUP_RATES = tuple(
    f"{name}{group}" for name, rate in RATES.items() if rate.in_results for group in (1, 0)
)
METRICS = UTILITY + FAIRNESS + GROUP_RATES
"""Every metric, in the order of results.csv."""

NEITHER = -1
"""Group code of a row that is in neither the privileged nor the unprivileged group."""


def measure(
    label: npt.ArrayLike,
    predicted: npt.ArrayLike,
    score: npt.ArrayLike,
    group: npt.ArrayLike | None,
) -> Mapping[str, Metric]:
    """Return every metric of `METRICS`, in that order.

    Parameters
    ----------
    label, predicted : array[n] of {0, 1}
        True and predicted class, 1 positive.
    score : array[n], float
        Larger means more likely positive; only its order matters.
    group : array[n] of {-1, 0, 1} or None
        1 privileged, 0 unprivileged, -1 neither (left out of the fairness metrics, not of the
        utility metrics). None: no protected attribute is declared.

    Raises
    ------
    InvalidParameter
        If lengths differ, a code is outside its set or a score is not finite.
    """
    truth = _codes(label, "label", (0, 1))
    guess = _codes(predicted, "predicted", (0, 1), truth.size)
    scores = np.asarray(score, dtype=np.float64)
    if scores.shape != truth.shape or not np.isfinite(scores).all():
        raise InvalidParameter(
            f"score must be {truth.size} finite numbers, one per label; got shape {scores.shape}",
            field="score",
        )
    everyone = GroupCounts.of(truth, guess, np.zeros_like(truth), 1)
    accuracy, recall, false_positive = (_rate(everyone, name, 0) for name in ("ACC", "TPR", "FPR"))
    measured = {
        "accuracy": accuracy,
        "f1": f1(truth, guess),
        "roc_auc": roc_auc(truth, scores),
        "balanced_acc": _balanced(recall, false_positive),
        "recall": recall,
        **_fairness(truth, guess, group),
    }
    return {name: measured[name] for name in METRICS}


def f1(label: npt.NDArray[np.int64], predicted: npt.NDArray[np.int64]) -> Metric:
    """Harmonic mean of precision and recall, 2TP / (2TP + FP + FN)."""
    hits = int(np.sum(label & predicted))
    return Metric.ratio(
        2 * hits, int(label.sum() + predicted.sum()), "no row is positive or predicted positive"
    )


def roc_auc(label: npt.NDArray[np.int64], score: npt.NDArray[np.float64]) -> Metric:
    """Chance that a positive row scores above a negative one, ties counting half (Mann-Whitney)."""
    positives = int(label.sum())
    negatives = label.size - positives
    if not positives or not negatives:
        return Metric(None, "the rows are all of one class")
    _, place, size = np.unique(score, return_inverse=True, return_counts=True)
    last = np.cumsum(size)
    rank = last - (size - 1) / 2
    wins = rank[place][label == 1].sum() - positives * (positives + 1) / 2
    return Metric(float(wins / (positives * negatives)))


def _fairness(
    truth: npt.NDArray[np.int64], guess: npt.NDArray[np.int64], group: npt.ArrayLike | None
) -> dict[str, Metric]:
    if group is None:
        missing = Metric(None, "the manifest declares no protected attribute")
        return dict.fromkeys(FAIRNESS + GROUP_RATES, missing)
    side = _codes(group, "group", (NEITHER, 0, 1), truth.size)
    counts = GroupCounts.of(truth, guess, side, 2)
    rates = {
        f"{name}{code}": _rate(counts, name, code, f" in the {group_name} group")
        for name in RATES
        for code, group_name in ((1, "privileged"), (0, "unprivileged"))
    }
    return rates | {name: _compare(metric, rates) for name, metric in GROUP_METRICS.items()}


def _rate(counts: GroupCounts, name: str, group: int, where: str = "") -> Metric:
    rate = RATES[name]
    hits, rows = int(counts.hits(rate)[group]), int(counts.rows(rate)[group])
    return Metric.ratio(hits, rows, f"{rate.none}{where}")


def _compare(metric: GroupMetric, rates: Mapping[str, Metric]) -> Metric:
    pairs = [(rates[f"{rate.name}0"], rates[f"{rate.name}1"]) for rate in metric.rates]
    if metric.is_ratio:
        low, high = pairs[0]
        rate = metric.rates[0]
        return low.over(high, f"no {rate.row} of the privileged group {rate.hit}")
    differences = [high.minus(low) for low, high in pairs]
    undefined = next((part for part in differences if not part.defined), None)
    if not metric.is_largest or undefined is not None:
        return undefined or differences[0]
    return Metric(max(abs(part.number()) for part in differences))


def _balanced(recall: Metric, false_positive: Metric) -> Metric:
    difference = recall.minus(false_positive)
    return Metric((1 + difference.number()) / 2) if difference.defined else difference


def _codes(
    values: npt.ArrayLike, field: str, allowed: tuple[int, ...], n: int | None = None
) -> npt.NDArray[np.int64]:
    array = np.asarray(values)
    if array.ndim != 1 or (n is not None and array.size != n):
        raise InvalidParameter(
            f"{field} must be one value per row{'' if n is None else f' ({n} rows)'}; "
            f"got shape {array.shape}",
            field=field,
        )
    if not np.isin(array, allowed).all():
        raise InvalidParameter(
            f"{field} must hold only {', '.join(map(str, allowed))}; got "
            f"{sorted(set(np.unique(array).tolist()) - set(allowed))[:3]}",
            field=field,
        )
    return array.astype(np.int64)
