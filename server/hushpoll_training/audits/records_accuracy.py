"""How often a learner's predictions on perturbed records are right, estimated from records alone.

A record's reported label is positive with probability p where the truth is, and q where it is not
(:class:`hushpoll_training.data.target.Target`). So (R - q)/(p - q), R being 1 for a reported
positive, has the mean 1 where the truth is positive and 0 where it is not, and so has the chance
that a prediction is right. The prediction must not know the label's own noise: it comes from a
model that was fitted to other records.

It is the accuracy of the model as deployed on perturbed records. On answers in clear, which a
record does not tell, a model behaves otherwise; a panel in clear measures that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.metrics.intervals import rate_limits
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.group_metrics import CONFIDENCE, FOLDS
from hushpoll_training.audits.predictions import deal
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import fit_records, reported_labels
from hushpoll_training.models.recipe import Recipe

READING: Final = (
    "Accuracy is that of predictions on perturbed records, by models that did not see them. On "
    "answers in clear a model does otherwise; hushpoll train --panel measures that. Intervals are "
    "about other respondents, and do not tell how another training would have come out."
)


@dataclass(frozen=True, slots=True)
class Share:
    """An estimated share with its interval, whose ends may lie outside [0, 1]."""

    value: float
    standard_error: float
    lower: float
    upper: float


@dataclass(frozen=True, slots=True)
class RecordsAccuracy:
    """What records alone tell of a recipe's predictions.

    Attributes
    ----------
    accuracy : Share
        Of the respondents who answered the target, those whose class is predicted.
    constant : Share
        The same of always predicting the more frequent class.
    n, folds : int
        Records with a label, and parts that they were cross-fitted in.
    confidence : float
        Of each interval by itself, in (0, 1).
    """

    accuracy: Share
    constant: Share
    n: int
    folds: int
    confidence: float

    def to_dict(self) -> dict[str, Any]:
        """Return it as JSON."""
        return {**asdict(self), "reading": READING}


def accuracy_of_records(
    records: Records,
    recipe: Recipe,
    options: FitOptions,
    *,
    folds: int = FOLDS,
    confidence: float = CONFIDENCE,
) -> RecordsAccuracy:
    """Estimate a recipe's accuracy on perturbed records, cross-fitted.

    Parameters
    ----------
    records : Records
        Of a survey with a target that gives labels.
    recipe : Recipe
        Learner and encoding.
    options : FitOptions
        The seed deals the folds, and is the learner's in each. Progress is over all folds.
    folds : int
        In [2, n].
    confidence : float
        In (0, 1).

    Raises
    ------
    InvalidParameter
        For a bad argument, a target that gives no labels, a fold without which the others hold one
        class only, or a learner that is private itself or needs rows or groups in clear.
    """
    recipe.refuse_repeated_fits("cross-fitting")
    recipe.refuse_clear_rows("a measurement from records")
    recipe.refuse_group_at_prediction("a measurement from records")
    Target.of(records.published).refuse_skipped("an accuracy from records alone")
    parts = [
        right_of_fold(records, inside, outside, recipe, options.part(number, folds))
        for number, (inside, outside) in enumerate(folds_of(len(records), folds, options.seed))
    ]
    values = np.concatenate(parts)
    label, answered = reported_labels(records)
    target = Target.of(records.published)
    positive = _chance(label[answered], target)
    share = _share(positive, target, confidence)
    constant = share
    if share.value < 0.5:
        constant = Share(1 - share.value, share.standard_error, 1 - share.upper, 1 - share.lower)
    return RecordsAccuracy(
        _share(values, target, confidence), constant, len(values), folds, confidence
    )


def right_of_fold(
    records: Records,
    inside: npt.NDArray[np.bool_],
    outside: npt.NDArray[np.bool_],
    recipe: Recipe,
    options: FitOptions,
) -> npt.NDArray[np.float64]:
    """Return numbers whose mean is the accuracy on some records of a model fitted to others.

    Parameters
    ----------
    records : Records
        Of a survey with a target that gives labels.
    inside, outside : bool[n]
        Records to fit to, and to predict; no record is both.
    recipe, options
        See :func:`accuracy_of_records`.

    Returns
    -------
    f64[m]
        For each record of `outside` with a label: 0 or 1 where the target is in clear.

    Raises
    ------
    InvalidParameter
        See :func:`accuracy_of_records`.
    """
    model = fit_records(records.take(inside), recipe, options)
    predicted_records = records.take(outside)
    label, answered = reported_labels(predicted_records)
    if not answered.any():
        raise InvalidParameter(
            "a fold has no record with a label; use fewer folds, or collect more", field="folds"
        )
    rows = model.features.from_records(predicted_records.take(answered))
    chance = model.target.correct(model.fitted.scores(rows, threads=options.threads))
    return right(chance > THRESHOLD, label[answered], model.target)


def right(
    predicted: npt.NDArray[np.bool_], reported: npt.NDArray[np.int64], target: Target
) -> npt.NDArray[np.float64]:
    """Return numbers, f64[n], each with the mean 1 where a prediction is right and else 0."""
    positive = _chance(reported, target)
    return np.asarray(np.where(predicted, positive, 1 - positive), np.float64)


def folds_of(n: int, folds: int, seed: int) -> Iterator[tuple[Any, Any]]:
    """Yield which records to fit to and which to predict, bool[n] each, for each fold.

    Raises
    ------
    InvalidParameter
        If folds is not in [2, n], or for a bad seed.
    """
    fold = deal(n, folds, seed)
    for number in range(folds):
        yield fold != number, fold == number


def _chance(reported: npt.NDArray[np.int64], target: Target) -> npt.NDArray[np.float64]:
    return np.asarray((reported - target.q) / (target.p - target.q), np.float64)


def _share(values: npt.NDArray[np.float64], target: Target, confidence: float) -> Share:
    n, mean = len(values), float(values.mean())
    z = normal_quantile(confidence)
    error = float(values.std(ddof=1)) / math.sqrt(n) if n > 1 else math.inf
    if math.isclose(target.p + target.q, 1.0):
        # Two values alone: a proportion, mapped.
        width = target.p - target.q
        hits = np.array(round(n * (mean * width + target.q)))
        limits = rate_limits(hits, np.array(n), z)
        lower, upper = ((float(end) - target.q) / width for end in limits)
    else:
        lower, upper = mean - z * error, mean + z * error
    return Share(mean, error, lower, upper)
