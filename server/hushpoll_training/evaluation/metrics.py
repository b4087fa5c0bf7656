"""Utility and group fairness of a binary classifier on clear rows.

The definitions are those of Arcolezi, Makhlouf and Palamidessi (DBSec 2023, section 3.1), group 1
being the privileged and group 0 the unprivileged one: DI = P0/P1, SPD = P1-P0, EOD = TPR1-TPR0 and
OAD = ACC1-ACC0. ``roc_auc`` ranks the scores; ``balanced_acc`` is the number that the paper's code
calls auc, since it ranked predicted labels.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.evaluation.metric import Metric

UTILITY = ("accuracy", "f1", "roc_auc", "balanced_acc", "recall")
FAIRNESS = ("DI", "SPD", "EOD", "OAD")
GROUP_RATES = ("P1", "P0", "TPR1", "TPR0", "FPR1", "FPR0", "ACC1", "ACC0")
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
    everyone = _rates(truth, guess, "")
    found = {
        "accuracy": everyone["ACC"],
        "f1": f1(truth, guess),
        "roc_auc": roc_auc(truth, scores),
        "balanced_acc": _balanced(everyone),
        "recall": everyone["TPR"],
        **_fairness(truth, guess, group),
    }
    return {name: found[name] for name in METRICS}


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
    found: dict[str, Metric] = {}
    for code, name in ((1, "privileged"), (0, "unprivileged")):
        inside = side == code
        rates = _rates(truth[inside], guess[inside], f" in the {name} group")
        found.update({f"{rate}{code}": value for rate, value in rates.items()})
    found["DI"] = found["P0"].over(
        found["P1"], "no row of the privileged group is predicted positive"
    )
    found["SPD"] = found["P1"].minus(found["P0"])
    found["EOD"] = found["TPR1"].minus(found["TPR0"])
    found["OAD"] = found["ACC1"].minus(found["ACC0"])
    return found


def _rates(
    truth: npt.NDArray[np.int64], guess: npt.NDArray[np.int64], where: str
) -> dict[str, Metric]:
    n = truth.size
    positives = int(truth.sum())
    hits = int(np.sum(truth & guess))
    chosen = int(guess.sum())
    nobody = f"there is no row{where}"
    return {
        "P": Metric.ratio(chosen, n, nobody),
        "TPR": Metric.ratio(hits, positives, f"there is no positive row{where}"),
        "FPR": Metric.ratio(chosen - hits, n - positives, f"there is no negative row{where}"),
        "ACC": Metric.ratio(int(np.sum(truth == guess)), n, nobody),
    }


def _balanced(rates: Mapping[str, Metric]) -> Metric:
    recall, fallout = rates["TPR"], rates["FPR"]
    difference = recall.minus(fallout)
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
