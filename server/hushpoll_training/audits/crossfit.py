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

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.auditing.predictions import AuditPredictions
from hushpoll_analysis.records.decode import check_records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.audits.audit_inputs import AuditInputs
from hushpoll_training.data.target import Target
from hushpoll_training.encodings.encoding import check_encoding, priors_for
from hushpoll_training.learners.lightgbm_learner import check_seed, fit
from hushpoll_training.learners.parameters import check_parameters
from hushpoll_training.models.model import OnRound, reported_labels

FOLDS = 5

_DEALING = 0x666F6C64
"""Keeps the stream that deals folds apart from every other stream of the same seed."""


def cross_fit(
    published: Published,
    records: npt.NDArray[np.uint8],
    parameters: Mapping[str, Any],
    *,
    seed: int,
    folds: int = FOLDS,
    protected_input: str = "dropped",
    threads: int = 1,
    on_round: OnRound | None = None,
    encoding: str = "indicator",
) -> AuditPredictions:
    """Predict every record by a model of the other folds.

    Parameters
    ----------
    published : Published
        The survey that the records belong to.
    records : uint8[n, L]
        Well-formed records.
    parameters, threads
        See :func:`hushpoll_training.learners.lightgbm_learner.fit`.
    seed : int
        In [0, 2^31); deals the folds, and is the learner's in each of them.
    folds : int
        In [2, n].
    protected_input : {"dropped", "each-value"}
        See :mod:`hushpoll_training.audits.audit_inputs`.
    on_round : callable, optional
        Called with (boosting rounds done, rounds in all), over all folds.
    encoding : {"indicator", "posterior"}
        How records become features; the posterior's prior is estimated from each model's own
        training records, so that it knows nothing of the audited ones either.

    Raises
    ------
    InvalidParameter
        For a bad argument, a survey without target or protected attribute, a target that gives no
        labels, or a fold without which the others hold one class only.
    MalformedRecord
        If a record is malformed.
    """
    check_records(published, records)
    target = Target.of(published)
    inputs = AuditInputs.of(published, protected_input)
    fold = deal(len(records), folds, seed)
    label, answered = reported_labels(published, records)
    check_encoding(encoding)
    rows = inputs.features.from_records(records) if encoding == "indicator" else None
    rounds = int(check_parameters(parameters)["n_estimators"])
    parts = []
    for number in range(folds):

        def report(done: int, _: int, before: int = number * rounds) -> None:
            if on_round is not None:
                on_round(before + done, folds * rounds)

        inside, outside = answered & (fold != number), fold == number
        if rows is None:
            priors = priors_for(published, records[inside], encoding)
            features = replace(inputs.features, priors=priors)
            fitted, audited = (features.from_records(records[part]) for part in (inside, outside))
        else:
            fitted, audited = rows[inside], rows[outside]
        booster = fit(
            fitted,
            label[inside],
            inputs.features.safe_names,
            parameters,
            seed=seed,
            threads=threads,
            on_round=report,
        )
        parts.append(inputs.predict(booster, target, audited, threads=threads))
    predicted = np.empty((len(records), *parts[0].shape[1:]), dtype=np.int8)
    for number, part in enumerate(parts):
        predicted[fold == number] = part
    return AuditPredictions(predicted, inputs.features.attributes, "cross-fitted")


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
