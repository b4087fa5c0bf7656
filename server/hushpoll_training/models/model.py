"""A fitted model together with what is needed to use it on rows in the manifest's terms."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from hushpoll_analysis.records.numbers import numbers
from hushpoll_analysis.records.records import Records
from hushpoll_protocols.errors import InvalidParameter
from hushpoll_shared.survey.published import Published
from hushpoll_training.data.target import THRESHOLD, Target
from hushpoll_training.encodings.encoding import Features
from hushpoll_training.encodings.indicator import one_hot_features
from hushpoll_training.learners.design import Design, Table
from hushpoll_training.learners.learner import FitOptions, Fitted, Learner
from hushpoll_training.mitigation.records import evidence_of_records
from hushpoll_training.models.recipe import Recipe

Codes: TypeAlias = Mapping[str, npt.NDArray[np.int64]]
"""Clear rows: per attribute, codes in [0, k), int64[n]."""


@dataclass(frozen=True, slots=True)
class Model:
    """A binary classifier of clear rows.

    Attributes
    ----------
    features : Features
        Its columns.
    target : Target
        What it predicts, and how its scores relate to the truth.
    fitted : Fitted
        What the learner has learned.
    rows : int
        Rows it was fitted to: those that have a label.
    """

    features: Features
    target: Target
    fitted: Fitted
    rows: int

    @property
    def published(self) -> Published:
        """The survey."""
        return self.features.published

    @property
    def recipe(self) -> Recipe:
        """The learner and the encoding."""
        return Recipe(self.fitted.learner, self.features.encoding)

    def raw_scores(self, codes: Codes, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the learner's own chance of a positive label, f64[n]."""
        return self.fitted.scores(self.features.from_codes(codes), threads=threads)

    def scores(self, codes: Codes, *, threads: int = 1) -> npt.NDArray[np.float64]:
        """Return the chance that the truth is positive, f64[n] in [0, 1]."""
        return self.target.correct(self.raw_scores(codes, threads=threads))

    def predict(self, codes: Codes, *, threads: int = 1) -> npt.NDArray[np.int64]:
        """Return 1 where the score is above one half, else 0."""
        return (self.scores(codes, threads=threads) > THRESHOLD).astype(np.int64)


def design(
    features: Features,
    table: Table,
    label: npt.NDArray[np.int64],
    *,
    records: Records | None = None,
    skipped: Records | None = None,
) -> Design:
    """Return what a learner is fitted to: rows in the columns of `features`, and their labels.

    With `records`, these are the rows. Then they do not tell their groups where the protected
    attribute was perturbed, not even if its records look like answers, as those of GRR do; they
    are evidence of them. The same holds for other attributes. `skipped` are the records of the same
    people's survey that report no label.
    """
    clear = {
        name: features.columns_of(name)
        for name in features.attributes
        if records is None or records.published.attribute(name).oracle is None
    }
    groups = features.published.protected
    if groups is None:
        return Design(table, label, features.names, attributes=clear)
    columns = None
    if groups.attribute in features.attributes:
        columns = features.columns_of(groups.attribute)
    hidden = records is not None and records.published.attribute(groups.attribute).oracle
    evidence = None if records is None else partial(evidence_of_records, records, skipped)
    return Design(
        table,
        label,
        features.names,
        None if hidden else columns,
        attributes=clear,
        places={name: features.columns_of(name) for name in features.attributes},
        columns=columns,
        evidence=evidence,
        skipped=None if skipped is None else partial(features.from_records, skipped),
    )


def records_design(features: Features, records: Records, table: Table | None = None) -> Design:
    """Return what a learner is fitted to of collected records: those that report a label.

    The table has the same records, encoded; by default those with a label are encoded.
    """
    label, answered = reported_labels(records)
    kept, skipped = records, None
    if not answered.all():
        kept = records.take(answered)
        # in clear, who gave no answer is known, and nobody else is among them
        target = Target.of(records.published)
        asked = records.answer([target.name])  # of a target in a draw others tell nothing
        skipped = records.take(asked & ~answered) if target.skippable else None
    rows = features.from_records(kept) if table is None else table[answered]
    return design(features, rows, label[answered], records=kept, skipped=skipped)


def fit_records(
    records: Records, recipe: Recipe, options: FitOptions, *, clear: Codes | None = None
) -> Model:
    """Fit to collected records: D_z = (X, Z_s, Y).

    Parameters
    ----------
    records : Records
        Records of a survey whose target has a positive category. Those whose target is the
        missing category are left out.
    recipe : Recipe
        Learner and encoding; a prior is estimated from the records that are fitted to.
    options : FitOptions
        Seed, threads and progress.
    clear : mapping of str to int64[m], optional
        Rows in clear of other people. A learner with parity measures its rates on them, and needs
        them; others do not read them.

    Raises
    ------
    InvalidParameter
        If the target gives no labels, the rows are of a single class, or a learner with parity
        gets no rows in clear or a perturbed target.
    """
    target = Target.of(records.published)
    recipe.refuse_missing(records.published)
    if recipe.learner.measures_in_clear:
        if clear is None:
            raise recipe.learner.without_clear_rows()
        if target.perturbed:
            raise InvalidParameter(
                f"the learner {recipe.learner.name} flips predictions, but the target "
                f"{target.name} was perturbed, so scores are corrected after that; collect the "
                "target in clear, or use a learner without parity",
                field="target",
            )
        behind = fit_records(records, replace(recipe, learner=recipe.learner.behind), options)
        rates_rows = design(
            behind.features, behind.features.from_codes(clear), target.labels(clear[target.name])[0]
        )
        fitted = recipe.learner.post_process(behind.fitted, rates_rows, options)
        return replace(behind, fitted=fitted)
    answered = reported_labels(records)[1]
    features = recipe.encoding.fit(records if answered.all() else records.take(answered))
    rows = records_design(features, records)
    return Model(features, target, recipe.learner.fit(rows, options), rows.label.size)


def reported_labels(
    records: Records,
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.bool_]]:
    """Return the labels that records report, int64[n] (1 positive), and which have one, bool[n]."""
    target = Target.of(records.published)
    # Target.of admits only reports of exactly one category, whose indicator is one-hot
    of_answers = numbers(records.answering([target.name]), [target.name]).argmax(axis=1)
    asked = records.answer([target.name])
    if asked.all():
        return target.labels(of_answers)
    label, answered = np.zeros(len(records), np.int64), np.zeros(len(records), np.bool_)
    label[asked], answered[asked] = target.labels(of_answers)
    return label, answered


def fit_clear(published: Published, codes: Codes, learner: Learner, options: FitOptions) -> Model:
    """Fit to rows in clear, one-hot: the NonDP baseline, D = (X, A_s, Y)."""
    target = Target.clear(published)
    label, answered = target.labels(codes[target.name])
    features = one_hot_features(published)
    kept = codes if answered.all() else take(codes, answered)
    rows = design(features, features.from_codes(kept), label[answered])
    return Model(features, target, learner.fit(rows, options), int(answered.sum()))


def take(codes: Codes, rows: npt.NDArray[Any]) -> dict[str, npt.NDArray[np.int64]]:
    """Return some of the rows, by index or by mask."""
    return {name: values[rows] for name, values in codes.items()}


def count_rows(codes: Codes) -> int:
    """Return the number of rows; refuses columns that differ in length, and none."""
    lengths = {len(values) for values in codes.values()}
    if len(lengths) != 1:
        raise InvalidParameter(
            f"the columns have {sorted(lengths)} rows; give one code per row and attribute",
            field="codes",
        )
    return lengths.pop()
