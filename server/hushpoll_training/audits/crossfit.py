"""Cross-fitting: every record is predicted by a model that was fitted to other records.

A model looks better, and its groups more or less alike, on the rows that it was fitted to. So the
records are dealt into folds, a model is fitted to all folds but one and predicts that one. What is
audited is the average of these models, each fitted to (K-1)/K of the records.

All folds share the seed of the learner: they then differ from the model that `hushpoll train` fits
with that seed by the rows left out and nothing else. Folds are dealt at random, not stratified on
the target: a row's fold must not depend on its label's record, from which its model would then know
a little of it.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.audits.audit_inputs import AuditInputs
from hushpoll_training.data.target import Target
from hushpoll_training.learners.learner import FitOptions, check_seed
from hushpoll_training.models.model import design, reported_labels
from hushpoll_training.models.recipe import Recipe

FOLDS = 5

_DEALING = 0x666F6C64
"""Keeps the stream that deals folds apart from every other stream of the same seed."""


def cross_fit(
    records: Records,
    recipe: Recipe,
    options: FitOptions,
    *,
    folds: int = FOLDS,
    protected_input: str = "dropped",
) -> AuditPredictions:
    """Predict every record by a model of the other folds.

    Parameters
    ----------
    records : Records
        Of a survey with a target and a protected attribute.
    recipe : Recipe
        Learner and encoding. A prior is estimated from each model's own training records, so that
        it knows nothing of the audited ones either.
    options : FitOptions
        The seed deals the folds, and is the learner's in each of them. Progress is over all folds.
    folds : int
        In [2, n].
    protected_input : {"dropped", "each-value"}
        See :mod:`hushpoll_training.audits.audit_inputs`.

    Raises
    ------
    InvalidParameter
        For a bad argument, a survey without target or protected attribute, a target that gives no
        labels, or a fold without which the others hold one class only.
    """
    target = Target.of(records.published)
    inputs = AuditInputs.of(records.published, protected_input)
    fold = deal(len(records), folds, options.seed)
    label, answered = reported_labels(records)
    needs_prior, columns = recipe.encoding.needs_prior, inputs.features.attributes
    features = replace(inputs.features, encoding=recipe.encoding)
    rows = None if needs_prior else features.from_records(records)
    parts = []
    for number in range(folds):
        inside, outside = answered & (fold != number), fold == number
        if rows is None:
            training_records = records.take(inside)
            features = replace(features, priors=recipe.encoding.fit(training_records).priors)
            training = features.from_records(training_records)
            audited = features.from_records(records.take(outside))
        else:
            training, audited = rows[inside], rows[outside]
        fitted = recipe.learner.fit(
            design(features, training, label[inside]), options.part(number, folds)
        )
        predicting = replace(inputs, features=features)
        parts.append(predicting.predict(fitted, target, audited, threads=options.threads))
    predicted = np.empty((len(records), *parts[0].shape[1:]), dtype=np.int8)
    for number, part in enumerate(parts):
        predicted[fold == number] = part
    return AuditPredictions(predicted, columns, "cross-fitted")


def deal(n: int, folds: int, seed: int) -> npt.NDArray[np.int64]:
    """Return each row's fold, int64[n] in [0, folds), whose sizes differ by at most one.

    Raises
    ------
    InvalidParameter
        If folds is not in [2, n], or for a bad seed.
    """
    check_seed(seed)
    if not 2 <= folds <= n:
        raise InvalidParameter(
            f"folds is {folds}; it must lie in [2, {n}], the number of records: use {FOLDS}",
            field="folds",
        )
    return np.random.default_rng([seed, _DEALING]).permutation(np.arange(n) % folds)
