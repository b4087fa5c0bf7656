"""A fitted model together with what is needed to use it on rows in the manifest's terms."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import lightgbm
import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.decode import check_records, indicator_matrix
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.encodings.encoding import priors_for
from hushpoll_training.encodings.features import Features
from hushpoll_training.learners.lightgbm_learner import fit, scores

Codes: TypeAlias = Mapping[str, npt.NDArray[np.int64]]
"""Clear rows: per attribute, codes in [0, k), int64[n]."""

OnRound: TypeAlias = Callable[[int, int], None]
"""Called with (boosting rounds done, rounds in all)."""


@dataclass(frozen=True, slots=True)
class Model:
    """A binary classifier of clear rows.

    Attributes
    ----------
    features : Features
        Its columns.
    target : Target
        What it predicts, and how its scores relate to the truth.
    booster : lightgbm.Booster
        The trees.
    rows : int
        Rows it was fitted to: those that have a label.
    """

    features: Features
    target: Target
    booster: lightgbm.Booster
    rows: int

    @property
    def published(self) -> Published:
        """The survey."""
        return self.features.published

    def raw_scores(self, codes: Codes, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the trees' own chance of a positive label, f64[n]."""
        return scores(self.booster, self.features.from_codes(codes), threads=threads)

    def scores(self, codes: Codes, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the chance that the truth is positive, f64[n] in [0, 1]."""
        return self.target.correct(self.raw_scores(codes, threads=threads))

    def predict(self, codes: Codes, *, threads: int = 1) -> npt.NDArray[np.int64]:
        """Return 1 where the score is above one half, else 0."""
        return (self.scores(codes, threads=threads) > THRESHOLD).astype(np.int64)


def fit_records(
    published: Published,
    records: npt.NDArray[np.uint8],
    parameters: Mapping[str, Any],
    *,
    seed: int,
    threads: int = 1,
    on_round: OnRound | None = None,
    encoding: str = "indicator",
    prior: str = "shrinkage",
) -> Model:
    """Fit to collected records: D_z = (X, Z_s, Y).

    Parameters
    ----------
    published : Published
        The survey that the records belong to; its target needs a positive category.
    records : uint8[n, L]
        Well-formed records. Those whose target is the missing category are left out.
    parameters, seed, threads, on_round
        See :func:`hushpoll_training.learners.lightgbm_learner.fit`.
    encoding : {"indicator", "posterior"}
        How records become features; see :mod:`hushpoll_training.encodings.encoding`.
    prior : {"shrinkage", "projection", "likelihood"}
        How the posterior's prior is estimated from the records that are fitted to.

    Raises
    ------
    InvalidParameter
        If the target gives no labels, or for a bad argument.
    MalformedRecord
        If a record is malformed.
    """
    target = Target.of(published)
    label, answered = reported_labels(published, records)
    kept = records if answered.all() else records[answered]
    features = Features.of(published, priors_for(published, kept, encoding, prior))
    booster = fit(
        features.from_records(kept),
        label[answered],
        features.safe_names,
        parameters,
        seed=seed,
        threads=threads,
        on_round=on_round,
    )
    return Model(features, target, booster, len(kept))


def reported_labels(
    published: Published, records: npt.NDArray[np.uint8]
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the labels that records report, int64[n] (1 positive), and which have one, bool[n].

    Raises
    ------
    InvalidParameter
        If the target gives no labels, or the records are not the survey's.
    MalformedRecord
        If a record is malformed.
    """
    check_records(published, records)
    target = Target.of(published)
    attribute = published.attribute(target.name)
    # Target.of admits only reports of exactly one category, whose indicator is one-hot
    reported = indicator_matrix(published, records, attribute).argmax(axis=1)
    return target.labels(reported)


def fit_clear(
    published: Published,
    codes: Codes,
    parameters: Mapping[str, Any],
    *,
    seed: int,
    threads: int = 1,
    on_round: OnRound | None = None,
) -> Model:
    """Fit to rows in clear: the NonDP baseline, D = (X, A_s, Y); see :func:`fit_records`."""
    target = Target.clear(published)
    label, answered = target.labels(codes[target.name])
    features = Features.of(published)
    kept = codes if answered.all() else take(codes, answered)
    booster = fit(
        features.from_codes(kept),
        label[answered],
        features.safe_names,
        parameters,
        seed=seed,
        threads=threads,
        on_round=on_round,
    )
    return Model(features, target, booster, int(answered.sum()))


def take(codes: Codes, rows: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.int64]]:
    """Return some of the rows, by index or by mask."""
    return {name: values[rows] for name, values in codes.items()}


def count_rows(codes: Codes) -> int:
    """Return the number of rows.

    Raises
    ------
    InvalidParameter
        If the columns differ in length, or there is none.
    """
    lengths = {len(values) for values in codes.values()}
    if len(lengths) != 1:
        raise InvalidParameter(
            f"the columns have {sorted(lengths)} rows; give one code per row and attribute",
            field="codes",
        )
    return lengths.pop()
