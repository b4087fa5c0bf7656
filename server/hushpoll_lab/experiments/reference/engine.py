"""The reference engine: a cell the way the paper's code runs it, row by row.

The same rows, the same parameters and the same metrics as :mod:`hushpoll_training.runs.cell`;
perturbed by multi-freq-ldpy's clients one respondent at a time (:mod:`.clients`), encoded
as one vector per respondent and attribute, joined as dense tables, and fitted by the learner's own
scikit-learn classifier. Not copied are: a domain taken from the data's distinct values (it is the
survey's), columns in the order of a set (they are in the survey's), and AUC of predicted labels
(``roc_auc`` ranks scores; ``balanced_acc`` is that number under its name).
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pandas as pd

from hushpoll_lab.experiments.reference.clients import (
    check_clients,
    encoder,
    one_hot_encoder,
    seeded,
)
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.evaluation.evaluation import Evaluation, evaluate_scores
from hushpoll_training.learners.learner import FitOptions, Learner
from hushpoll_training.models.model import Codes, take
from hushpoll_training.runs.cell import TEST_SIZE, Stopwatch, split_rows


def reference_cell(
    published: Published,
    codes: Codes,
    learner: Learner,
    options: FitOptions,
    *,
    perturbed: bool = True,
    test_size: float = TEST_SIZE,
) -> tuple[Evaluation, Mapping[str, float]]:
    """Run a cell, or its baseline, the paper's way; see :func:`hushpoll_training.runs.cell.cell`.

    Parameters
    ----------
    published, codes, options, test_size
        As there. The records differ from ours at the same seed, being other draws.
    learner : Learner
        One that has a scikit-learn classifier of its own.
    perturbed : bool
        Whether the training part is; False gives the NonDP baseline.

    Returns
    -------
    (Evaluation, mapping of str to float)
        On the clear test rows; and seconds for ``perturb`` (encoding included: the two are one step
        here), ``fit`` and ``score``.

    Raises
    ------
    InvalidParameter
        For a bad argument, or a target that is itself perturbed, which this engine has no way for.
    HushpollError
        For a version of a library that would give wrong results.
    MissingExtra
        If multi-freq-ldpy is not installed.
    """
    check_clients()
    target = Target.clear(published)
    if published.attribute(target.name).oracle is not None:
        raise InvalidParameter(
            f"the target {target.name} is perturbed, which the engine reference cannot learn from; "
            "use the engine hushpoll, or a target in clear",
            field="engine",
        )
    train, test = split_rows(published, codes, options.seed, test_size)
    fitted, tested = take(codes, train), take(codes, test)
    label, answered = target.labels(fitted[target.name])
    clock = Stopwatch()
    with seeded([options.seed, int(published.digest, 16)]):
        features = _table(published, take(fitted, answered), perturbed=perturbed)
    clock.lap("perturb")
    model = learner.reference_classifier(options)
    model.fit(features, label[answered])
    clock.lap("fit")
    raw = np.asarray(model.predict_proba(_table(published, tested, perturbed=False)))[:, 1]
    evaluation = evaluate_scores(published, tested, raw, (raw > THRESHOLD).astype(np.int64))
    clock.lap("score")
    return evaluation, clock.laps


def _table(published: Published, codes: Codes, *, perturbed: bool) -> pd.DataFrame:
    parts = []
    for attribute in published.attributes:
        if attribute.role == "target":
            continue
        encode = one_hot_encoder(attribute.k)
        if perturbed and attribute.oracle is not None:
            oracle = attribute.oracle
            encode = encoder(oracle.name, attribute.k, float(oracle.epsilon))
        rows = [encode(value) for value in codes[attribute.name].tolist()]
        names = [f"{attribute.name}_{value}" for value in range(attribute.k)]
        parts.append(pd.DataFrame(rows, columns=names))
    return pd.concat(parts, axis=1)
