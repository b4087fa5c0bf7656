"""Scoring a model on clear rows that it has not seen."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import StratifiedKFold

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.spelling.json_values import JsonMembers
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.evaluation.fairness.partition import sides_of
from hushpoll_training.evaluation.metrics import NEITHER, Metric, measure
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.model import Codes, Model, fit_clear, take

FOLDS = 5


@dataclass(frozen=True, slots=True)
class ScoredRows:
    """The rows that were scored: those with a target."""

    label: npt.NDArray[np.int64]
    """int64[n] of {0, 1}, 1 positive."""
    predicted: npt.NDArray[np.int64]
    """int64[n] of {0, 1}."""
    raw: npt.NDArray[np.float64]
    """f64[n]; larger means more likely positive."""
    codes: Codes
    """The rows in clear."""


@dataclass(frozen=True, slots=True)
class Evaluation:
    """Metrics and the rows behind them.

    Attributes
    ----------
    metrics : mapping of str to Metric
        In the order of :data:`hushpoll_training.evaluation.metrics.METRICS`.
    rows : mapping of str to int
        ``tested``; ``unanswered`` (no target, so left out); ``privileged``, ``unprivileged`` and
        ``neither``, where a protected attribute is declared.
    scored : ScoredRows
        What the metrics were computed from, for intervals and for other groups.
    """

    metrics: Mapping[str, Metric]
    rows: Mapping[str, int]
    scored: ScoredRows = field(repr=False, compare=False)

    def to_json(self) -> JsonMembers:
        """Return metrics and rows as JSON."""
        return {
            "metrics": {name: metric.to_json() for name, metric in self.metrics.items()},
            "rows": dict(self.rows),
        }


def evaluate(model: Model, codes: Codes, *, threads: int = 1) -> Evaluation:
    """Score a model on clear rows.

    Parameters
    ----------
    model : Model
        Fitted to other rows.
    codes : mapping of str to int64[n]
        Every attribute of the survey, the target included, in clear.
    threads : int
        For scoring.

    Raises
    ------
    InvalidParameter
        If no row has a target.
    """
    raw = model.raw_scores(codes, threads=threads)
    # ranked before correction: clipping would tie scores that the model tells apart
    predicted = model.target.correct(raw) > THRESHOLD
    return evaluate_scores(model.published, codes, raw, predicted.astype(np.int64))


def cross_validate(
    published: Published,
    codes: Codes,
    learner: Learner,
    options: FitOptions,
    *,
    folds: int = FOLDS,
) -> Evaluation:
    """Score the baseline on every row by models that were fitted to the other folds.

    The folds' predictions are pooled and scored once, so that a small panel's groups are not cut
    into folds without positives. Progress begins anew with each fold's model.

    Raises
    ------
    InvalidParameter
        If a class has fewer rows than there are folds.
    """
    label, answered = Target.clear(published).labels(codes[Target.clear(published).name])
    rare = min(int(label[answered].sum()), int((1 - label[answered]).sum()))
    if rare < folds:
        raise InvalidParameter(
            f"the panel has {rare} rows of its rarer class; cross-validation in {folds} folds "
            f"needs at least {folds}: give a larger panel, or --baseline",
            field="panel",
        )
    known = take(codes, answered)
    raw = np.zeros(len(label[answered]))
    cutter = StratifiedKFold(folds, shuffle=True, random_state=options.seed)
    for inside, outside in cutter.split(raw, label[answered]):
        model = fit_clear(published, take(known, inside), learner.without_privacy(), options)
        raw[outside] = model.raw_scores(take(known, outside), threads=options.threads)
    evaluation = evaluate_scores(published, known, raw, (raw > THRESHOLD).astype(np.int64))
    return replace(evaluation, rows={**evaluation.rows, "unanswered": int((~answered).sum())})


def evaluate_scores(
    published: Published,
    codes: Codes,
    raw: npt.NDArray[np.float64],
    predicted: npt.NDArray[np.int64],
) -> Evaluation:
    """Score predictions for clear rows, whatever made them; refuses rows without any target.

    Of the raw scores, f64[n], only the order matters: larger means more likely positive. Predicted
    classes are int64[n] of {0, 1}.
    """
    target = Target.clear(published)
    label, answered = target.labels(codes[target.name])
    if not answered.any():
        raise InvalidParameter(
            f"no row to test on has an answer to the target {target.name}; give rows that do",
            field=target.name,
        )
    side = sides_of(published, codes)
    rows = {"tested": int(answered.sum()), "unanswered": int((~answered).sum())}
    if side is not None:
        side = side[answered]
        for code, name in ((1, "privileged"), (0, "unprivileged"), (NEITHER, "neither")):
            rows[name] = int((side == code).sum())
    known = codes if answered.all() else take(codes, answered)
    scored = ScoredRows(label[answered], predicted[answered], raw[answered], known)
    return Evaluation(measure(scored.label, scored.predicted, scored.raw, side), rows, scored)
