"""How often a learner's predictions on perturbed records are right, estimated from records alone.

A record's reported label is positive with probability p where the truth is, and q where it is not
(:class:`hushpoll_training.data.target.Target`). So (R - q)/(p - q), R being 1 for a reported
positive, has the mean 1 where the truth is positive and 0 where it is not, and so has the chance
that a prediction is right. The prediction must not know the label's own noise: it comes from a
model that was fitted to other records.

Where the target may be skipped, and its report of that is perturbed as well, a report of an answer
may be of a person who gave none. The accuracy is then that of the people who answered, a ratio of
two means over all records, also over those that report no answer:

    mean(D_+ yhat + (A - D_+)(1 - yhat))/mean(A),  A = 1 - D_missing,

D being the debiased indicators of the target's categories, whose expectation is the one-hot truth
(:meth:`hushpoll_training.data.target.Target.answered_weights`) and yhat 1 for a predicted positive.
Its interval is that of a group's rate in an audit, Fieller's with the same corrections
(:mod:`hushpoll_analysis.auditing.group_rate`), the group being all people. It is [0, 1], all that a
share can be, where the mean of A is not above 0 by z of its standard errors.

It is the accuracy of the model as deployed on perturbed records. On answers in clear, which a
record does not tell, a model behaves otherwise; a panel in clear measures that.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Final

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.group_rate import GroupRate, set_of_rate
from hushpoll_analysis.auditing.moments import Moments, row_terms
from hushpoll_analysis.estimates.interval import Interval
from hushpoll_analysis.metrics import rate_limits
from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_protocols.estimation.frequencies import normal_quantile
from hushpoll_shared.group_metrics import CONFIDENCE, FOLDS
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_training.audits.dealing import folds_in_order, in_order
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.learners.learner import FitOptions
from hushpoll_training.models.model import fit_records, reported_labels
from hushpoll_training.models.recipe import Recipe

READING: Final = (
    "Accuracy is that of predictions on perturbed records, by models that did not see them. On "
    "answers in clear a model does otherwise; hushpoll train --panel measures that. Intervals are "
    "about other respondents, and do not tell how another training would have come out."
)


VERDICTS: Final = (
    "better than always the more frequent class",
    "not shown to be better than always the more frequent class",
    "worse than always the more frequent class",
)
"""By the interval of the gain: all of it is above 0, it holds 0, or all of it is below 0."""


@dataclass(frozen=True, slots=True)
class RecordsAccuracy:
    """What records alone tell of a recipe's predictions."""

    accuracy: Interval
    """Share of the respondents who answered the target whose class is predicted."""
    constant: Interval
    """The same of always predicting the more frequent class."""
    gain: Interval
    """Accuracy less that of the constant prediction, of the same records, in [-1, 1]. Its interval
    is that of matched proportions with half a person more of each kind (Agresti and Min, Statistics
    in Medicine 24, 2005), and no narrower than the score interval of a difference for which no more
    people than must be are predicted differently: where the predictions hardly differ, a plain
    normal interval misses too often."""
    n: int
    """Records with a label, or all of them where a perturbed target may be skipped."""
    folds: int
    """Parts that they were cross-fitted in."""
    confidence: float
    """Level of each interval by itself, in (0, 1)."""

    @property
    def verdict(self) -> str:
        """Whether it predicts better than a constant, in words: one of `VERDICTS`."""
        if self.gain.lower > 0:
            return VERDICTS[0]
        return VERDICTS[2] if self.gain.upper < 0 else VERDICTS[1]

    def to_dict(self) -> JsonMembers:
        """Return it as JSON."""
        return {**asdict(self), "verdict": self.verdict, "reading": READING}


def accuracy_of_records(
    records: Records,
    recipe: Recipe,
    options: FitOptions,
    *,
    folds: int = FOLDS,
    confidence: float = CONFIDENCE,
) -> RecordsAccuracy:
    """Estimate a recipe's accuracy on perturbed records, cross-fitted.

    The seed deals the folds, [2, n] of them, and is the learner's in each; progress is over all
    folds. Refuses a target that gives no labels, a fold without which the others hold one class
    only, and a learner that is private itself or needs rows or groups in clear.
    """
    recipe.refuse_repeated_fits("cross-fitting")
    recipe.refuse_clear_rows("a measurement from records")
    recipe.refuse_group_at_prediction("a measurement from records")
    records = in_order(records, options.seed)
    parts = [
        predicted_fold(records, inside, outside, recipe, options.part(number, folds))
        for number, (inside, outside) in enumerate(folds_of(len(records), folds))
    ]
    judged = JudgedPredictions.joined(parts)
    share = judged.share_positive(confidence)
    constant, often = share, share.value >= 0.5
    if not often:
        constant = Interval(1 - share.value, share.standard_error, 1 - share.upper, 1 - share.lower)
    return RecordsAccuracy(
        judged.accuracy(confidence),
        constant,
        judged.gain(often, confidence),
        judged.predicted.size,
        folds,
        confidence,
    )


@dataclass(frozen=True, slots=True, eq=False)
class JudgedPredictions:
    """Predictions beside what their records tell of the truth."""

    target: Target
    predicted: npt.NDArray[np.bool_]
    """bool[n], whether the positive class is predicted."""
    positive: npt.NDArray[np.float64]
    """f64[n], what stands for a positive label; see :meth:`Target.answered_weights`."""
    answered: npt.NDArray[np.float64]
    """f64[n], what stands for any label. Without a missing category that reports perturb, every
    record here has one."""

    @classmethod
    def joined(cls, parts: Sequence[JudgedPredictions]) -> JudgedPredictions:
        """Return the records of several parts."""
        arrays = (
            np.concatenate([getattr(part, name) for part in parts])
            for name in ("predicted", "positive", "answered")
        )
        return cls(parts[0].target, *arrays)

    @property
    def right(self) -> npt.NDArray[np.float64]:
        """Numbers whose mean is the share of the people who answered and are predicted right."""
        return np.asarray(np.where(self.predicted, self.positive, self.answered - self.positive))

    def value(self) -> float:
        """Return the accuracy; refuses records that estimate that nobody answered."""
        answered = float(self.answered.mean())
        if not answered > 0:
            raise InvalidParameter(
                f"the records estimate the share of people who answered {self.target.name} at "
                f"{answered:.4g}, and it must be positive: they are too few, or their epsilon is "
                "too small, to tell who answered; collect more records, or use fewer folds",
                field="target",
            )
        return float(self.right.mean()) / answered

    def accuracy(self, confidence: float) -> Interval:
        """Return the accuracy with its interval; refuses what :meth:`value` does."""
        if not self.target.skippable:
            return _share(self.right, self.target, confidence)
        value, z = self.value(), normal_quantile(confidence)
        zeros = np.zeros(self.answered.size)
        terms = row_terms(
            np.stack([zeros + 1.0, zeros], axis=1),
            self.predicted.astype(np.int8),
            ((0,), (1,)),
            self.positive,
            self.answered - self.positive,
        )
        found = set_of_rate(GroupRate.of(Moments.of(terms), "ACC", 0, z))
        if not np.isfinite(found.lower):
            error = float((self.right - value * self.answered).std() / self.answered.mean())
            return Interval(value, error / math.sqrt(zeros.size), 0.0, 1.0)
        return Interval(value, *map(float, (found.standard_error, found.lower, found.upper)))

    def share_positive(self, confidence: float) -> Interval:
        """Return the share of positive labels among the people who answered, with its interval."""
        return replace(self, predicted=np.ones_like(self.predicted)).accuracy(confidence)

    def gain(self, positive: bool, confidence: float) -> Interval:
        """Return the accuracy less that of always predicting one class, on the same records."""
        always = self.positive if positive else self.answered - self.positive
        apart, z, n = self.right - always, normal_quantile(confidence), self.answered.size
        if self.target.skippable:
            self.value()  # it refuses where nobody seems to have answered
        scale = float(self.answered.mean())
        value = float(apart.mean()) / scale
        error = math.inf
        if n > 1:
            error = float((apart - value * self.answered).std(ddof=1)) / scale / math.sqrt(n)
        if n == 1 or scale <= z * float(self.answered.std()) / math.sqrt(n):
            return Interval(value, error, -1.0, 1.0)
        # half a person of each kind: both wrong, both right, only one of them right
        people = float(self.answered.sum()) + 2.0
        middle = float(apart.sum()) / people
        spread = float(np.square(apart - middle * self.answered).sum()) + 1.0 + 2.0 * middle**2
        width = z * math.sqrt(spread) / people
        ends = (middle - width, middle + width, *_least_apart(value, z**2 / (people - 2.0)))
        return Interval(value, error, min(ends), max(ends))


def predicted_fold(
    records: Records,
    inside: npt.NDArray[np.bool_],
    outside: npt.NDArray[np.bool_],
    recipe: Recipe,
    options: FitOptions,
) -> JudgedPredictions:
    """Return predictions on some records, `outside`, by a model fitted to others, `inside`.

    Bool[n] each.

    They are of each record of `outside` with a label; all of them where the target's report that it
    was skipped is perturbed. Refuses what :func:`accuracy_of_records` does.
    """
    model = fit_records(records.take(inside), recipe, options)
    judged = records.take(outside)
    if not model.target.skippable:
        answered = reported_labels(judged)[1]
        if not answered.any():
            raise InvalidParameter(
                "a fold has no record with a label; use fewer folds, or collect more", field="folds"
            )
        judged = judged.take(answered)
    rows = model.features.from_records(judged)
    chance = model.target.correct(model.fitted.scores(rows, threads=options.threads))
    codes = numbers(judged, [model.target.name]).argmax(axis=1)
    return JudgedPredictions(
        model.target, chance > THRESHOLD, *model.target.answered_weights(codes)
    )


def folds_of(n: int, folds: int) -> Iterator[tuple[Any, Any]]:
    """Yield which records to fit to and which to predict, bool[n] each, for each fold.

    The records are in the order of :func:`hushpoll_training.audits.dealing.in_order`. Refuses a
    number of folds that is not in [2, n].
    """
    fold = folds_in_order(n, folds)
    for number in range(folds):
        yield fold != number, fold == number


def _least_apart(value: float, square: float) -> tuple[float, ...]:
    """Return the ends of the score interval of a difference if no more people than must do differ.

    A difference d between two predictions takes a share of at least |d| for whom one of them alone
    is right, so its variance is at least |d|(1 - |d|)/n. Returned are the estimate and the values d
    with (value - d)^2 = square |d|(1 - |d|) that are farthest from 0, `square` being z^2/n.
    """
    ends = [value]
    for sign in (-1, 1):
        slope = 2.0 * sign * value + square
        under = slope**2 - 4.0 * (1.0 + square) * value**2
        if under >= 0 and slope > 0:
            ends.append(sign * (slope + math.sqrt(under)) / (2.0 * (1.0 + square)))
    return tuple(ends)


def _share(values: npt.NDArray[np.float64], target: Target, confidence: float) -> Interval:
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
    return Interval(mean, error, lower, upper)
