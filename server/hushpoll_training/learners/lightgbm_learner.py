"""The learner: LightGBM's binary classifier, reproducible from seed, parameters and rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import lightgbm
import numpy as np
import numpy.typing as npt
from scipy.sparse import csr_matrix

from hushpoll_protocols.errors import InvalidParameter
from hushpoll_training.learners.parameters import check_parameters

SETTINGS: Mapping[str, Any] = {
    "objective": "binary",
    "deterministic": True,
    # deterministic asks for one of the two layouts, instead of timing both
    "force_row_wise": True,
    "verbosity": -1,
}
"""What is LightGBM's to know and nobody's to choose."""

PREDICT_ROWS = 65_536
"""Rows that are scored at a time, which bounds the memory of the result."""


def fit(
    features: csr_matrix | npt.NDArray[np.floating[Any]],
    label: npt.NDArray[np.int64],
    names: Sequence[str],
    parameters: Mapping[str, Any],
    *,
    seed: int,
    threads: int = 1,
    on_round: Callable[[int, int], None] | None = None,
    weight: npt.NDArray[np.float64] | None = None,
) -> lightgbm.Booster:
    """Fit LightGBM, equal to its scikit-learn classifier at the same parameters.

    Parameters
    ----------
    features : csr_matrix[n, m] of float32, or float array[n, m]
        Columns, finite.
    label : int array[n] of {0, 1}
        1 is the positive class.
    names : sequence of str, m
        Names that LightGBM accepts (:meth:`Features.safe_names`).
    parameters : mapping
        See :data:`hushpoll_training.learners.parameters.PARAMETERS`.
    seed : int
        In [0, 2^31).
    threads : int
        At least 1.
    on_round : callable, optional
        Called with (rounds done, rounds in all) after each boosting round.
    weight : f64[n], optional
        Of each row, not negative.

    Raises
    ------
    InvalidParameter
        For a bad parameter, seed or number of threads, or labels of a single class.
    """
    values = check_parameters(parameters)
    check_seed(seed)
    if threads < 1:
        raise InvalidParameter(f"threads is {threads}; it must be at least 1", field="threads")
    check_classes(label.size, int(label.sum()))
    rounds = int(values.pop("n_estimators"))
    settings = {**values, **SETTINGS, "seed": seed, "num_threads": threads}
    table = lightgbm.Dataset(
        features, label=label, weight=weight, feature_name=list(names), params=settings
    )

    def report(state: Any) -> None:
        if on_round is not None:
            on_round(state.iteration + 1, rounds)

    return lightgbm.train(settings, table, num_boost_round=rounds, callbacks=[report])


def scores(
    booster: lightgbm.Booster,
    features: csr_matrix | npt.NDArray[np.floating[Any]],
    *,
    threads: int = 1,
) -> npt.NDArray[np.float64]:
    """Return the model's probability of the positive class per row, f64[n] in (0, 1)."""
    parts = [
        np.asarray(booster.predict(features[start : start + PREDICT_ROWS], num_threads=threads))
        for start in range(0, features.shape[0], PREDICT_ROWS)
    ]
    return np.concatenate(parts) if parts else np.empty(0)


def renamed(booster: lightgbm.Booster, names: Sequence[str]) -> lightgbm.Booster:
    """Return the same trees over columns of other names, which LightGBM must accept."""
    text = booster.model_to_string()
    before = f"\nfeature_names={' '.join(booster.feature_name())}\n"
    after = f"\nfeature_names={' '.join(names)}\n"
    return lightgbm.Booster(model_str=text.replace(before, after, 1))


def check_classes(rows: int, positive: int) -> None:
    """Refuse training rows of a single class.

    Raises
    ------
    InvalidParameter
        If there are no rows, or all or none of them are positive.
    """
    if not 0 < positive < rows:
        raise InvalidParameter(
            f"the {rows} training rows are all of one class of the target, so there is nothing to "
            "learn; collect rows of both classes",
            field="target",
        )


def check_seed(seed: int) -> None:
    """Refuse a seed outside [0, 2^31), the range that LightGBM and scikit-learn share."""
    if not 0 <= seed < 2**31:
        raise InvalidParameter(f"seed is {seed}; it must lie in [0, 2147483648)", field="seed")
